#include "policy/same_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// Compares the facts of a VF's PF that entries and selectors read.
bool shows_the_same(const HostDevice* now, const HostDevice* before) {
  if (now == nullptr || before == nullptr) return now == before;
  return now->eswitch_mode == before->eswitch_mode && now->vendor == before->vendor &&
         now->unreadable == before->unreadable &&
         hotplug::is_netdev_elsewhere(*now) == hotplug::is_netdev_elsewhere(*before);
}

// The type of the master is read, too.
bool is_bond(const HostDevice* master) { return master != nullptr && master->type == DeviceType::kBond; }

std::vector<std::string> copied_names_of(const HostDevice* device) {
  return device != nullptr && device->netdev ? device->netdev->alternative_names : std::vector<std::string>{};
}

// Alternative names by interface name, of interfaces with any.
std::map<std::string, std::vector<std::string>> alternative_names(const hotplug::Inventory& inventory) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [id, device] : inventory.devices)
    if (device.netdev && !device.netdev->alternative_names.empty())
      out[device.netdev->name] = device.netdev->alternative_names;
  return out;
}

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
    if (device.netdev && !device.netdev->master.empty()) {
      const HostDevice* master = now.find(device.netdev->master);
      const HostDevice* former = before.find(device.netdev->master);
      if (is_bond(master) != is_bond(former) || copied_names_of(master) != copied_names_of(former))
        changed_.insert(&device);
    }
  }
  note_other_names(now, before);
}

// Selectors compare alternative names of other devices' interfaces, and other names decide whether a name is
// contested.
void SameFacts::note_other_names(const hotplug::Inventory& now, const hotplug::Inventory& before) {
  const bool are_contested_same = now.contested_names == before.contested_names;
  if (are_contested_same && changed_.empty() && !is_any_gone_) return;
  const auto names_another = [](const auto& entry) {
    return !entry.second.parent_name.empty() || !entry.second.representor.empty();
  };
  if (are_contested_same && std::none_of(now.devices.begin(), now.devices.end(), names_another)) return;
  const auto names = alternative_names(now), former = alternative_names(before);
  if (are_contested_same && names == former) return;
  for (const auto& entry : now.devices)
    if (!are_contested_same || names_another(entry)) changed_.insert(&entry.second);
}

}  // namespace sliced::policy
