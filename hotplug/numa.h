#pragma once
// The NUMA nodes of the machine and which of them are near each other.
#include <map>
#include <vector>

#include "hotplug/host_view.h"

namespace sliced::hotplug {

/// Returns for each NUMA node the others of its processor package, those at the least distance; ascending. A processor that presents
/// itself as several nodes (AMD's NPS, Intel's SNC) has such neighbors. A node without neighbors, one without an online processor,
/// and one of which a file cannot be read have no entry.
/// Source: Documentation/ABI/stable/sysfs-devices-node (distance: one number for each online node, in their order) and
/// sysfs-devices-system-cpu (topology/physical_package_id).
/// is_complete: set to false where a later reading may report more: a file could not be read, or all processors of a node are offline.
std::map<int, std::vector<int>> read_numa_neighbors(const HostView& host, bool& is_complete);

}  // namespace sliced::hotplug
