#include "policy/same_facts.h"

#include <map>
#include <optional>
#include <string>

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// What entries and selectors read of a VF's PF.
bool shows_the_same(const HostDevice* now, const HostDevice* before) {
  if (now == nullptr || before == nullptr) return now == before;
  return now->eswitch_mode == before->eswitch_mode && now->vendor == before->vendor &&
         now->unreadable == before->unreadable &&
         hotplug::is_netdev_elsewhere(*now) == hotplug::is_netdev_elsewhere(*before);
}

// And of what an interface is enslaved to.
bool is_bond(const HostDevice* master) { return master != nullptr && master->type == DeviceType::kBond; }

}  // namespace

SameFacts::SameFacts(const hotplug::Inventory& now, const hotplug::Inventory* before)
    : is_any_(before != nullptr) {
  if (before == nullptr || &now == before) return;
  compare(now, *before);
  note_dependants(now, *before);
}

void SameFacts::compare(const hotplug::Inventory& now, const hotplug::Inventory& before) {
  auto old = before.devices.begin();
  for (const auto& [id, device] : now.devices) {
    for (; old != before.devices.end() && old->first < id; ++old) is_any_gone_ = true;
    const bool was_there = old != before.devices.end() && old->first == id;
    const bool is_same = was_there && (&old->second == &device || old->second == device);
    if (!is_same) changed_.insert(&device);
    if (was_there) ++old;
  }
  is_any_gone_ |= old != before.devices.end();
}

void SameFacts::note_dependants(const hotplug::Inventory& now, const hotplug::Inventory& before) {
  std::map<hotplug::PciAddress, bool> is_pf_same;
  for (const auto& [id, device] : now.devices) {
    if (device.pf) {
      const auto [at, fresh] = is_pf_same.try_emplace(*device.pf);
      if (fresh) {
        const std::string pf = device.pf->text();
        at->second = shows_the_same(now.find(pf), before.find(pf));
      }
      if (!at->second) changed_.insert(&device);
    }
    if (device.netdev && !device.netdev->master.empty() &&
        is_bond(now.find(device.netdev->master)) != is_bond(before.find(device.netdev->master)))
      changed_.insert(&device);
  }
}

}  // namespace sliced::policy
