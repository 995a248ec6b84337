#include "daemon/quiet_windows.h"

#include <algorithm>
#include <utility>

namespace sliced::daemon {

QuietWindows::QuietWindows(reactor::Scheduler& scheduler, Millis quiet, Millis longest,
                           std::function<void()> on_settled)
    : scheduler_(scheduler), on_settled_(std::move(on_settled)), debouncer_(quiet, longest) {}

void QuietWindows::note(const hotplug::InventoryUpdate& update, bool follows) {
  for (const std::string& id : update.removed) debouncer_.forget(id);
  if (follows)
    for (const auto* ids : {&update.added, &update.changed})
      for (const std::string& id : *ids)
        if (const hotplug::HostDevice* device = update.now->find(id))
          debouncer_.touch(id, device->pf ? device->pf->text() : id, scheduler_.now());
  arm();
}

std::set<std::string> QuietWindows::of(const hotplug::Inventory& inventory) const {
  std::set<std::string> out;
  for (const auto& [id, device] : inventory.devices)
    if (debouncer_.is_waiting(id)) out.insert(id);
  return out;
}

void QuietWindows::arm() {
  const auto due = debouncer_.next_deadline();
  if (!due) return ticket_.reset();
  ticket_ = scheduler_.after(std::max(Millis{0}, *due - scheduler_.now()), [this] {
    if (debouncer_.expire(scheduler_.now())) on_settled_();
    arm();
  });
}

}  // namespace sliced::daemon
