#pragma once
// The discovered and planned state, as text and as data. Pure.
#include <string>
#include <vector>

#include "config/options.h"
#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/list.h"
#include "publishers/diff_pool.h"

namespace sliced::cli {

/// Unknown facts are omitted, and text that is not UTF-8 is escaped. Members are an interface
/// (docs/command-line.md).
kube::Json json_of(const hotplug::HostDevice& device);

/// Returns the inventory: DEVICE TYPE INTERFACE DRIVER NUMA PF STATE.
std::string devices_table(const hotplug::Inventory& inventory);

/// Returns a value as yaml or json text with a final newline.
std::string formatted(const kube::Json& value, config::OutputFormat format);

/// Returns the slices after the plan, without the server's fields (uid, resourceVersion), to apply elsewhere.
std::vector<kube::ResourceSlice> slices_after(const publishers::SliceChanges& plan,
                                              const publishers::ObservedSlices& observed);
/// Returns POOL SLICE GENERATION DEVICES CHANGE, one row per slice.
std::string plan_table(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed);
/// Returns lines: "- device", "+ device", "~ device attribute: old -> new", "~ device PATH: old -> new" for
/// other fields, "~ sharedCounters.SET.counters.NAME.value: old -> new".
std::string plan_diff(const publishers::SliceChanges& plan, const publishers::ObservedSlices& observed);

}  // namespace sliced::cli
