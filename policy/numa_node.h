#pragma once
// The standard attribute resource.kubernetes.io/numaNode (KEP-6072).
#include <cstddef>
#include <optional>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

/// Limit of a list: the device's own node and its neighbors. Present processors show at most four; an entry
/// holds 48 values.
inline constexpr size_t kNumaNodesMax = 8;

/// Returns the device's NUMA node: a number, or with as_list a list of it and its neighbors
/// (HostDevice::numa_neighbors), so that a claim's matchAttribute accepts a device on a neighbor. nullopt if
/// unknown, which differs from node 0.
std::optional<kube::AttributeValue> numa_node_attribute(const hotplug::HostDevice& device, bool as_list);

}  // namespace sliced::policy
