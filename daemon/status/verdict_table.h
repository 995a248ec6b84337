#pragma once
// What was decided of each device, as text for people and as data: for `run --show`, `explain`, `/verdicts` and the page. Pure.
#include <string>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::status {

/// Members are an interface (docs/command-line.md).
kube::Json json_of(const policy::Explanation& explanation);
/// One explanation in full, rule by rule.
std::string explanation_text(const policy::Explanation& explanation);

/// Every device with its verdict: DEVICE TYPE INTERFACE DRIVER OFFERED WHY. To explain them all takes time.
struct VerdictsTable {
  std::string text;
  size_t offered = 0;  // how many of them are
};
VerdictsTable verdicts_table(const policy::Decision& decision);
/// The rows of the table `now` that the table `before` does not have, and a row "DEVICE gone" for each device that is in `before`
/// alone. All of `now`, with its heading, where `before` is empty. Widths of columns do not count.
std::string changed_rows(const std::string& before, const std::string& now);

/// The device's interface as tables have it: its name, with " (away)" where it has left the host; "" there is none.
std::string interface_text(const hotplug::HostDevice& device);

}  // namespace sliced::status
