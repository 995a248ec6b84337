#pragma once
// What was discovered, decided and planned, as text for people and as data. Pure.
#include <string>
#include <vector>

#include "config/options.h"
#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "policy/decision.h"
#include "policy/explanation.h"
#include "publishers/diff_pool.h"

namespace sliced::cli {

/// What is unknown is left out, and text that is no UTF-8 escaped. Members are an interface (docs/command-line.md).
kube::Json json_of(const hotplug::HostDevice& device);
kube::Json json_of(const policy::Explanation& explanation);

/// The inventory: DEVICE TYPE INTERFACE DRIVER NUMA PF STATE.
std::string devices_table(const hotplug::Inventory& inventory);
/// Every device with its verdict: DEVICE TYPE INTERFACE DRIVER OFFERED WHY. To explain them all takes time.
struct VerdictsTable {
  std::string text;
  size_t offered = 0;  // how many of them are
};
VerdictsTable verdicts_table(const policy::Decision& decision);
/// One explanation in full, rule by rule.
std::string explanation_text(const policy::Explanation& explanation);

/// A value as yaml or json text with a final newline.
std::string formatted(const kube::Json& value, config::OutputFormat format);
kube::Json list_of(std::vector<kube::Json> items);  // {"kind":"List","apiVersion":"v1","items":[...]}

/// The slices after the plan, without what belongs to the server (uid, resourceVersion): ready to apply
/// elsewhere.
std::vector<kube::ResourceSlice> slices_after(const publishers::Plan& plan,
                                              const publishers::ObservedSlices& observed);
/// POOL SLICE GENERATION DEVICES CHANGE, one row a slice.
std::string plan_table(const publishers::Plan& plan, const publishers::ObservedSlices& observed);
/// Line by line: "- device", "+ device", "~ device attribute: old -> new", "~ device PATH: old -> new" for
/// what is no attribute, "~ sharedCounters.SET.counters.NAME.value: old -> new".
std::string plan_diff(const publishers::Plan& plan, const publishers::ObservedSlices& observed);

/// "0000:3b:00.2", "0000-3b-00-2" or an interface name -> the device's id; "" when there is none.
std::string find_device(const hotplug::Inventory& inventory, std::string_view name);

}  // namespace sliced::cli
