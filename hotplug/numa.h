#pragma once
// The NUMA nodes of the machine and their neighbors.
#include <map>
#include <vector>

#include "hotplug/host_view.h"

namespace sliced::hotplug {

/// Returns for each NUMA node the other nodes of its processor package at the least distance, ascending. A
/// processor that is divided into several nodes (AMD's NPS, Intel's SNC) has such neighbors. A node has no
/// entry without neighbors, without an online processor, or if one of its files cannot be read.
/// is_complete: set to false if a later reading may return more: a file could not be read, or all processors
/// of a node are offline.
/// Source: Documentation/ABI/stable/sysfs-devices-node (distance: one number for each online node, in order)
/// and sysfs-devices-system-cpu (topology/physical_package_id).
std::map<int, std::vector<int>> read_numa_neighbors(const HostView& host, bool& is_complete);

}  // namespace sliced::hotplug
