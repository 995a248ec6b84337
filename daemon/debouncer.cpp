#include "daemon/debouncer.h"

namespace sliced::daemon {

void Debouncer::touch(const std::string& device, const std::string& group, TimePoint now) {
  if (const auto at = group_of_.find(device); at != group_of_.end() && at->second != group) forget(device);
  const auto [at, fresh] = windows_.try_emplace(group, Window{now, now, {}});
  at->second.last = now;
  at->second.devices.insert(device);
  group_of_[device] = group;
}

void Debouncer::forget(const std::string& device) {
  const auto group = group_of_.find(device);
  if (group == group_of_.end()) return;
  const auto window = windows_.find(group->second);
  window->second.devices.erase(device);
  if (window->second.devices.empty()) windows_.erase(window);
  group_of_.erase(group);
}

bool Debouncer::expire(TimePoint now) {
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

std::optional<TimePoint> Debouncer::next_deadline() const {
  std::optional<TimePoint> first;
  for (const auto& [group, window] : windows_)
    if (!first || end_of(window) < *first) first = end_of(window);
  return first;
}

}  // namespace sliced::daemon
