#include "daemon/settling.h"

#include <algorithm>
#include <utility>

namespace sliced::daemon {

Settling::Settling(reactor::Scheduler& scheduler, Millis quiet, Millis longest,
                   std::function<void()> on_settled)
    : scheduler_(scheduler), on_settled_(std::move(on_settled)), settler_(quiet, longest) {}

void Settling::note(const hotplug::InventoryUpdate& update, bool follows) {
  for (const std::string& id : update.removed) settler_.forget(id);
  if (follows)
    for (const auto* ids : {&update.added, &update.changed})
      for (const std::string& id : *ids)
        if (const hotplug::HostDevice* device = update.now->find(id))
          settler_.touch(id, device->pf ? device->pf->text() : id, scheduler_.now());
  arm();
}

std::set<std::string> Settling::of(const hotplug::Inventory& inventory) const {
  std::set<std::string> out;
  for (const auto& [id, device] : inventory.devices)
    if (settler_.settling(id)) out.insert(id);
  return out;
}

void Settling::arm() {
  const auto due = settler_.next_deadline();
  if (!due) return ticket_.reset();
  ticket_ = scheduler_.after(std::max(Millis{0}, *due - scheduler_.now()), [this] {
    if (settler_.expire(scheduler_.now())) on_settled_();
    arm();
  });
}

}  // namespace sliced::daemon
