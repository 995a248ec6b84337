#include "daemon/pinned_host.h"

#include <algorithm>
#include <utility>

#include "hotplug/inventory.h"

namespace sliced::daemon {

PinnedHost::PinnedHost(reactor::Scheduler& scheduler,
                       std::function<void(const hotplug::InventoryUpdate&)> on_update)
    : scheduler_(scheduler), on_update_(std::move(on_update)) {}

const hotplug::InventoryPtr& PinnedHost::inventory() const {
  if (!merged_) merged_ = hotplug::with_pinned(host_, facts());
  return merged_;
}

hotplug::PinnedFacts PinnedHost::facts() const {
  hotplug::PinnedFacts out;
  for (const auto& [id, held] : pinned_) out.emplace(id, held.facts);
  return out;
}

void PinnedHost::take(const hotplug::InventoryUpdate& update) {
  const hotplug::InventoryPtr before = inventory();
  const bool was_host = before == host_;
  host_ = update.now;
  merged_.reset();
  std::erase_if(pinned_, [&](const auto& one) {
    return one.second.by.empty() && hotplug::is_back(host_->find(one.first), one.second.facts);
  });
  if (was_host && pinned_.empty()) return on_update_(update);
  notify(before, {.relisted = update.relisted, .why = update.why});
}

bool PinnedHost::hold(const std::string& by, const hotplug::HostDevice& facts) {
  const std::string& id = facts.id.text;
  Pinned& held = pinned_[id];
  // The first facts stay if the device is returning, or has another holder.
  if (held.facts.id.text.empty()) held.facts = facts;
  held.by.insert(by);
  const hotplug::HostDevice* shown = inventory()->find(id);
  const bool is_shown =
      shown == nullptr ? held.facts.pci.has_value() : hotplug::as_pinned(*shown, held.facts) == *shown;
  if (is_shown) return false;
  merged_.reset();
  return true;
}

void PinnedHost::let_go(const std::string& by) {
  for (auto& [id, held] : pinned_)
    if (held.by.erase(by) > 0 && held.by.empty()) held.until = scheduler_.now() + kReturnMax;
  end_returns();
}

// Ends the returns that are complete or over, and arms the timer for the next one.
void PinnedHost::end_returns() {
  const hotplug::InventoryPtr before = inventory();
  const TimePoint now = scheduler_.now();
  const size_t ended = std::erase_if(pinned_, [&](const auto& one) {
    return one.second.by.empty() &&
           (one.second.until <= now || hotplug::is_back(host_->find(one.first), one.second.facts));
  });
  std::optional<TimePoint> next;
  for (const auto& [id, held] : pinned_)
    if (held.by.empty()) next = std::min(next.value_or(held.until), held.until);
  ticket_.reset();
  if (next) ticket_ = scheduler_.after(std::max(Millis{0}, *next - now), [this] { end_returns(); });
  if (ended == 0) return;
  merged_.reset();
  notify(before, {.why = "a device that a pod had is as the host says"});
}

void PinnedHost::notify(const hotplug::InventoryPtr& before, hotplug::InventoryUpdate update) {
  update.now = inventory();
  hotplug::InventoryDiff diff = hotplug::diff_inventory(*before, *update.now);
  const bool is_same = diff.is_empty() && before->vanished == update.now->vanished;
  if (is_same && !update.relisted && before->version > 0) return;
  update.added = std::move(diff.added);
  update.changed = std::move(diff.changed);
  update.removed = std::move(diff.removed);
  on_update_(update);
}

}  // namespace sliced::daemon
