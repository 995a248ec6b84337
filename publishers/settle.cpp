#include "publishers/settle.h"

namespace sliced::publishers {

void Settler::touch(const std::string& device, const std::string& group, TimePoint now) {
  if (const auto at = group_of_.find(device); at != group_of_.end() && at->second != group) forget(device);
  const auto [at, fresh] = windows_.try_emplace(group, Window{now, now, {}});
  at->second.last = now;
  at->second.devices.insert(device);
  group_of_[device] = group;
}

void Settler::forget(const std::string& device) {
  const auto group = group_of_.find(device);
  if (group == group_of_.end()) return;
  const auto window = windows_.find(group->second);
  window->second.devices.erase(device);
  if (window->second.devices.empty()) windows_.erase(window);
  group_of_.erase(group);
}

bool Settler::expire(TimePoint now) {
  bool ended = false;
  for (auto at = windows_.begin(); at != windows_.end();) {
    if (end_of(at->second) > now) {
      ++at;
      continue;
    }
    for (const std::string& device : at->second.devices) group_of_.erase(device);
    at = windows_.erase(at);
    ended = true;
  }
  return ended;
}

std::optional<TimePoint> Settler::next_deadline() const {
  std::optional<TimePoint> first;
  for (const auto& [group, window] : windows_)
    if (!first || end_of(window) < *first) first = end_of(window);
  return first;
}

std::vector<policy::DesiredPool> hold_back_news(std::vector<policy::DesiredPool> desired,
                                                const std::vector<policy::DesiredPool>& before,
                                                const std::set<std::string>& settling) {
  if (settling.empty()) return desired;
  for (policy::DesiredPool& pool : desired) {
    const auto old = std::find_if(before.begin(), before.end(), [&](const auto& b) {
      return b.driver == pool.driver && b.name == pool.name;
    });
    std::vector<kube::DevicePtr> kept;
    for (kube::DevicePtr& device : pool.devices) {
      if (!settling.contains(device->name)) {
        kept.push_back(std::move(device));
        continue;
      }
      if (old == before.end()) continue;
      const auto at = std::find_if(old->devices.begin(), old->devices.end(),
                                   [&](const auto& d) { return d->name == device->name; });
      if (at != old->devices.end()) kept.push_back(*at);
    }
    pool.devices = std::move(kept);
  }
  return desired;
}

void hold_back_attributes(std::vector<policy::DesiredPool>& desired,
                          const std::vector<policy::DesiredPool>& before,
                          const std::set<std::string>& settling) {
  if (settling.empty()) return;
  std::map<std::pair<std::string_view, std::string_view>, const kube::Device*> old;  // by pool and name
  for (const policy::DesiredPool& pool : before)
    for (const kube::Device& device : pool.devices)
      if (settling.contains(device.name))
        old.emplace(std::pair(std::string_view(pool.name), std::string_view(device.name)), &device);
  for (policy::DesiredPool& pool : desired)
    for (kube::DevicePtr& device : pool.devices) {
      const auto at = old.find({pool.name, device->name});
      if (at == old.end() || at->second->attributes == device->attributes) continue;
      kube::Device kept = *device;
      kept.attributes = at->second->attributes;
      device = std::move(kept);
    }
}

}  // namespace sliced::publishers
