#pragma once
// What was discovered and planned, as text for people and as data. Pure.
#include <string>
#include <vector>

#include "config/options.h"
#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/list.h"
#include "publishers/diff_pool.h"

namespace sliced::cli {

/// What is unknown is left out, and text that is no UTF-8 escaped. Members are an interface (docs/command-line.md).
kube::Json json_of(const hotplug::HostDevice& device);

/// The inventory: DEVICE TYPE INTERFACE DRIVER NUMA PF STATE.
std::string devices_table(const hotplug::Inventory& inventory);

/// A value as yaml or json text with a final newline.
std::string formatted(const kube::Json& value, config::OutputFormat format);

/// The slices after the plan, without what belongs to the server (uid, resourceVersion): ready to apply
/// elsewhere.
std::vector<kube::ResourceSlice> slices_after(const publishers::SliceChanges& plan,
                                              const publishers::ObservedSlices& observed);
/// POOL SLICE GENERATION DEVICES CHANGE, one row a slice.
std::string plan_table(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed);
/// Line by line: "- device", "+ device", "~ device attribute: old -> new", "~ device PATH: old -> new" for
/// what is no attribute, "~ sharedCounters.SET.counters.NAME.value: old -> new".
std::string plan_diff(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed);

}  // namespace sliced::cli
