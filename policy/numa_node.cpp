#include "policy/numa_node.h"

#include <utility>
#include <vector>

namespace sliced::policy {

std::optional<kube::AttributeValue> numa_node_attribute(const hotplug::HostDevice& device, bool as_list) {
  if (device.numa_node.value_or(-1) < 0) return std::nullopt;
  if (!as_list) return kube::AttributeValue(int64_t{*device.numa_node});
  std::vector<int64_t> nodes{*device.numa_node};
  for (const int neighbor : device.numa_neighbors)
    if (nodes.size() < kNumaNodesMax) nodes.push_back(neighbor);
  return kube::AttributeValue(std::move(nodes));
}

}  // namespace sliced::policy
