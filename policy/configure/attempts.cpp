#include "policy/configure/attempts.h"

#include <algorithm>
#include <utility>

namespace sliced::policy {

void MacAttempts::has(const std::string& vf) {
  if (const auto at = attempts_.find(vf); at != attempts_.end()) at->second.was_set = true;
}

std::vector<MissingMac> MacAttempts::due(std::vector<MissingMac> missing, const hotplug::Inventory& host,
                                         TimePoint now) {
  std::erase_if(attempts_, [&](const auto& one) { return host.find(one.first) == nullptr; });
  for (auto& [id, attempt] : attempts_) {
    const auto& enforced = host.find(id)->enforced;
    attempt.was_set |= enforced && hotplug::is_address_set(enforced->mac);
  }
  next_.reset();
  std::erase_if(missing, [&](const MissingMac& one) {
    const auto at = attempts_.find(one.vf);
    if (at == attempts_.end()) return false;
    if (!at->second.was_set) return true;
    const TimePoint again = at->second.at + kRetryAfter;
    if (again <= now) return false;
    next_ = std::min(next_.value_or(again), again);
    return true;
  });
  return missing;
}

}  // namespace sliced::policy
