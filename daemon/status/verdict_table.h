#pragma once
// The verdicts of devices, as text and as data: for `run --show`, `explain`, `/verdicts` and the page. Pure.
#include <string>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "policy/decision.h"
#include "policy/explanation.h"

namespace sliced::status {

/// Members are an interface (docs/command-line.md).
kube::Json json_of(const policy::Explanation& explanation);
/// Returns one explanation in full, rule by rule.
std::string explanation_text(const policy::Explanation& explanation);

/// All devices with their verdicts: DEVICE TYPE INTERFACE DRIVER OFFERED WHY. Explaining all devices takes
/// long.
struct VerdictsTable {
  std::string text;
  size_t offered = 0;  // number of offered ones
};
VerdictsTable verdicts_table(const policy::Decision& decision);
/// Returns the rows of the table `now` that the table `before` lacks, and a row "DEVICE gone" for each device
/// that is only in `before`. Returns all of `now`, with its heading, if `before` is empty. Ignores widths of
/// columns.
std::string changed_rows(const std::string& before, const std::string& now);

/// Returns the device's interface for tables: its name, with " (away)" if it has left the host; "" if there
/// is none.
std::string interface_text(const hotplug::HostDevice& device);

}  // namespace sliced::status
