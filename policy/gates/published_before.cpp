#include "policy/gates/published_before.h"

#include <algorithm>

namespace sliced::policy {

// A linear search for the pool suffices: there are few pools. A pool's devices are sorted by name.
const kube::Device* entry_before(const Inputs& in, std::string_view pool, std::string_view entry) {
  if (in.before == nullptr) return nullptr;
  for (const auto& [driver, pools] : *in.before)
    for (const DesiredPool& one : pools) {
      if (one.name != pool) continue;
      const auto at = std::lower_bound(
          one.devices.begin(), one.devices.end(), entry,
          [](const kube::DevicePtr& device, std::string_view name) { return device->name < name; });
      if (at != one.devices.end() && (*at)->name == entry) return &**at;
    }
  return nullptr;
}

bool was_published(const Inputs& in, const EntryPlace& place) {
  if (in.before_at) return entry_before(in, place.pool, place.entry) != nullptr;
  const auto& names = place.kind == PolicyType::kSriov ? in.published.sriov : in.published.exposure;
  return names.contains(place.entry);
}

bool is_published_for(const Inputs& in, const hotplug::HostDevice& device, const EntryPlace& place) {
  const Track* track = in.tracks.find(device.id.text);
  const bool is_another =
      track != nullptr && (in.before_at ? track->born > *in.before_at : track->born != kUnknownStart);
  return !is_another && was_published(in, place);
}

}  // namespace sliced::policy
