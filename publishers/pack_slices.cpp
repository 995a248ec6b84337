#include "publishers/pack_slices.h"

#include <algorithm>
#include <set>

namespace sliced::publishers {

size_t slice_size_for(const policy::DesiredPool& pool) {
  const bool advanced = pool.can_count || !pool.counters.empty() ||
                        std::any_of(pool.devices.begin(), pool.devices.end(), kube::has_advanced_features);
  return advanced ? kube::kDevicesPerSliceAdvancedMax : kube::kDevicesPerSliceMax;
}

Packing pack_devices(const std::vector<kube::DevicePtr>& devices, const Assigned& assigned, size_t slice_size,
                     size_t first_index) {
  std::map<std::string_view, const kube::DevicePtr*> waiting;
  for (const kube::DevicePtr& device : devices) waiting.emplace(device->name, &device);

  Packing packing;
  for (const auto& [index, names] : assigned) {
    if (index < first_index) continue;
    std::vector<kube::DevicePtr> kept;
    for (const std::string& name : names) {
      const auto at = waiting.find(name);
      if (at == waiting.end() || kept.size() == slice_size) continue;
      kept.push_back(*at->second);
      waiting.erase(at);
    }
    if (!kept.empty()) packing[index] = std::move(kept);
  }
  // Many half-empty slices cost every consumer; repacking costs one write for each slice.
  const size_t needed = (devices.size() + slice_size - 1) / slice_size;
  if (packing.size() > 2 * needed && packing.size() > 1)
    return pack_devices(devices, {}, slice_size, first_index);

  for (size_t index = first_index; !waiting.empty(); ++index) {
    auto& slice = packing[index];
    while (slice.size() < slice_size && !waiting.empty()) {
      slice.push_back(*waiting.begin()->second);
      waiting.erase(waiting.begin());
    }
  }
  if (packing.empty()) packing[first_index];
  return packing;
}

}  // namespace sliced::publishers
