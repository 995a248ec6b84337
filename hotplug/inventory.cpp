#include "hotplug/inventory.h"

#include <algorithm>
#include <utility>

#include "hotplug/affected.h"

namespace sliced::hotplug {
namespace {

constexpr std::string_view kUnknownUse = "unknown, ";

// Returns the names of interfaces below a missing one, directly or through others.
std::set<std::string> all_below(const HostReadings& readings) {
  std::map<int, std::string> names;
  for (const auto& [name, netdev] : readings.netdevs) names.emplace(netdev.ifindex, name);
  const auto name_of = [&](const std::string& name, int ifindex) {
    const auto at = names.find(ifindex);
    return ifindex == 0 || at == names.end() ? name : at->second;
  };
  std::map<std::string, std::set<std::string>> lowers;
  for (const auto& [name, netdev] : readings.netdevs) {
    if (!netdev.master.empty()) lowers[name_of(netdev.master, netdev.master_ifindex)].insert(name);
    for (const LinkReference& lower : netdev.lowers) lowers[name].insert(name_of(lower.name, lower.ifindex));
  }
  for (const auto& [name, vlan] : readings.vlans) lowers[name].insert(vlan.parent);
  std::set<std::string> out = readings.below_missing;
  std::vector<std::string> next(out.begin(), out.end());
  for (size_t at = 0; at < next.size(); ++at)
    for (const std::string& lower : lowers[next[at]])
      if (out.insert(lower).second) next.push_back(lower);
  return out;
}

// Clears facts that are invalid after the interface has left.
void drop_volatile(Netdev& netdev) {
  netdev.oper_state.clear();
  netdev.master.clear();
  netdev.carries_default_route = false;
}

bool has_port(const std::vector<Netdev>& ports, int ifindex) {
  return std::any_of(ports.begin(), ports.end(), [&](const Netdev& port) { return port.ifindex == ifindex; });
}

bool has_left(const Netdev& netdev, const NetdevChanges& changes) {
  return changes.left.contains(netdev.kernel_name) || changes.left.contains(netdev.name);
}

bool has_ended(const Netdev& netdev, const NetdevChanges& changes) {
  const auto at = changes.ended.find(netdev.ifindex);
  return at != changes.ended.end() && at->second == netdev.kernel_name;
}

// Returns the driver of the reading; the former one if it could not be read, which proves no change.
const std::string& driver_of(const FunctionReading& function, const StickyNetdev& before) {
  const bool is_known = function.broken.empty() && find_unreadable(function.unreadable, "driver").empty();
  return is_known ? function.driver : before.driver;
}

}  // namespace

InventoryDiff diff_inventory(const Inventory& before, const Inventory& now) {
  InventoryDiff diff;
  decltype(now.devices)::for_each_difference(
      before.devices, now.devices,
      [&](const std::string& id, const HostDevice* old, const HostDevice* fresh) {
        if (old == nullptr)
          diff.added.push_back(id);
        else if (fresh == nullptr)
          diff.removed.push_back(id);
        else if (*old != *fresh)
          diff.changed.push_back(id);
      });
  return diff;
}

bool is_confirmation(const Inventory& before, const Inventory& now) {
  return before.boot_id == now.boot_id && before.has_udevd == now.has_udevd &&
         before.can_query_pfs == now.can_query_pfs && std::ranges::includes(before.vanished, now.vanished) &&
         diff_inventory(before, now).is_empty();
}

InventoryBook::MissingUse InventoryBook::use_by_missing(const HostReadings& readings) {
  return {.text = std::string(kUnknownUse) + "a route or an interface of the host leads to " +
                  *readings.missing_links.begin() + ", which /sys does not list",
          .below = all_below(readings)};
}

InventoryDiff InventoryBook::take(const HostReadings& readings, const NetdevChanges& changes, HostUse use) {
  are_mixed_ = readings.are_links_mixed && !readings.are_missing_lasting;
  missing_use_ = MissingUse();
  if (readings.are_missing_lasting) missing_use_ = use_by_missing(readings);
  may_use_shrink_ = use == HostUse::kAsRead && !are_mixed_;
  const auto affected = affected_by(readings);
  retains_use_ = false;
  remember(readings, changes, affected);
  auto next = affected ? conclude_affected(readings, *affected) : nullptr;
  if (!next) next = conclude(readings);
  before_ = readings;
  next->boot_id = readings.boot_id;
  next->has_udevd = readings.has_udevd;
  next->can_query_pfs = readings.can_query_pfs;
  next->vanished = readings.vanished;
  next->contested_names = find_contested_names(next->devices);
  InventoryDiff diff = diff_inventory(*now_, *next);
  const bool is_same = next->boot_id == now_->boot_id && next->has_udevd == now_->has_udevd &&
                       next->can_query_pfs == now_->can_query_pfs && next->vanished == now_->vanished &&
                       next->contested_names == now_->contested_names;
  if (diff.is_empty() && is_same && now_->version > 0) return diff;
  next->version = now_->version + 1;
  now_ = std::move(next);
  return diff;
}

// Returns nullopt for all functions.
std::optional<InventoryBook::Functions> InventoryBook::affected_by(const HostReadings& readings) const {
  if (scope_ == Conclude::kEverything || now_->version == 0 || has_switches_ || retains_use_ ||
      !recovered_.empty())
    return std::nullopt;
  auto affected = affected_functions(before_, readings);
  if (affected) affected->insert(in_flux_.begin(), in_flux_.end());
  return affected;
}

std::shared_ptr<Inventory> InventoryBook::conclude(const HostReadings& readings) {
  has_switches_ = std::any_of(readings.netdevs.begin(), readings.netdevs.end(),
                              [](const auto& entry) { return has_switch_id(entry.second); });
  auto next = std::make_shared<Inventory>();
  auto former = now_->devices.begin();
  for (HostDevice& device : resolve(readings, sticky_)) {
    std::string id = device.id.text;
    retain_host_use(device);
    while (former != now_->devices.end() && former->first < id) ++former;
    if (former != now_->devices.end() && former->first == id && former->second == device)
      next->devices.append(former);
    else
      next->devices.append(std::move(id), std::move(device));
  }
  return next;
}

// Returns nullptr if a fact of a PF that VFs inherit has changed, so that more must be derived.
std::shared_ptr<Inventory> InventoryBook::conclude_affected(const HostReadings& readings,
                                                            const Functions& functions) {
  Devices fresh;
  for (const PciAddress& address : functions) fresh[address.text()];
  for (HostDevice& device : resolve_affected(readings, sticky_, functions, *now_)) {
    retain_host_use(device);
    fresh[device.id.text] = std::move(device);
  }
  if (concerns_vfs(functions, fresh)) return nullptr;
  auto next = std::make_shared<Inventory>();
  next->devices.reserve(now_->devices.size() + fresh.size());
  auto former = now_->devices.begin();
  const auto keep_until = [&](const std::string* id) {
    while (former != now_->devices.end() && (id == nullptr || former->first < *id))
      next->devices.append(former++);
  };
  for (auto& [id, device] : fresh) {
    keep_until(&id);
    const bool is_known = former != now_->devices.end() && former->first == id;
    if (device && is_known && former->second == *device)
      next->devices.append(former);
    else if (device)
      next->devices.append(id, std::move(*device));
    if (is_known) ++former;
  }
  keep_until(nullptr);
  return next;
}

// Returns whether a fact that VFs of these functions inherit has changed.
bool InventoryBook::concerns_vfs(const Functions& functions, const Devices& fresh) const {
  Functions changed_functions;
  for (const PciAddress& address : functions) {
    const auto& device = fresh.at(address.text());
    if (!is_same_for_vfs(now_->find(address.text()), device ? &*device : nullptr))
      changed_functions.insert(address);
  }
  return !changed_functions.empty() &&
         std::any_of(now_->devices.begin(), now_->devices.end(), [&](const auto& entry) {
           return entry.second.pf && changed_functions.contains(*entry.second.pf);
         });
}

void InventoryBook::retain_host_use(HostDevice& device) {
  if (device.host_use.empty() && !missing_use_.text.empty()) note_missing_use(device);
  if (!device.host_use.empty() || (may_use_shrink_ && !may_be_present(device))) return;
  const HostDevice* before = now_->find(device.id.text);
  if (before != nullptr) {
    device.host_use = before->host_use;
    device.host_use_kind = before->host_use_kind;
  } else if (are_mixed_) {
    device.host_use = std::string(kUnknownUse) + "interfaces were renamed while they were read";
  }
  retains_use_ |= !may_use_shrink_ && !device.host_use.empty();
}

// The device is free only if its own reading proves it: no reading shows how the missing interface is related
// to it.
void InventoryBook::note_missing_use(HostDevice& device) {
  const auto is_below = [&](const Netdev& port) { return missing_use_.below.contains(port.kernel_name); };
  const bool may_use_own = device.pci && (device.netdev ? device.misses_ports : is_netdev_elsewhere(device));
  const bool may_use_upper = (device.netdev && !device.netdev->stale && is_below(*device.netdev)) ||
                             std::any_of(device.other_netdevs.begin(), device.other_netdevs.end(), is_below);
  if (may_use_own || may_use_upper) {
    device.host_use = missing_use_.text;
  } else if (const HostDevice* before = now_->find(device.id.text)) {
    // It was in use through another interface, which may be the missing one.
    const std::string& use = before->host_use;
    if (!use.starts_with(kUnknownUse) && !use.starts_with("enslaved to ")) device.host_use = use;
  }
  retains_use_ |= !device.host_use.empty();
}

// An interface that is not found, and was not seen to leave, may be in use under another name.
bool InventoryBook::may_be_present(const HostDevice& device) const {
  const auto at = device.pci ? sticky_.find(*device.pci) : sticky_.end();
  return at != sticky_.end() && at->second.is_away && at->second.is_unexplained;
}

void InventoryBook::recover_sticky(std::vector<RecoveredNetdev> recovered) {
  for (RecoveredNetdev& one : recovered) {
    const PciAddress function = one.function;
    recovered_[function] = std::move(one);
  }
}

void InventoryBook::rename(const std::string& from, const std::string& to, int ifindex) {
  for (auto& [function, sticky] : sticky_) {
    const auto follow = [&](Netdev& port) {
      if (port.kernel_name == from && (ifindex == 0 || port.ifindex == ifindex)) port.kernel_name = to;
    };
    const StickyNetdev before = sticky;
    if (!sticky.is_away) follow(sticky.last);
    for (Netdev& port : sticky.other_ports)
      if (!port.stale) follow(port);
    if (sticky != before) in_flux_.insert(function);
  }
}

void InventoryBook::remember(const HostReadings& readings, const NetdevChanges& changes,
                             const std::optional<Functions>& only) {
  const auto ports = ports_of_functions(readings, only ? &*only : nullptr);
  const auto remember_function = [&](const FunctionReading& function) {
    const auto found = ports.find(function.pci);
    remember_netdevs(function, found == ports.end() ? Ports() : found->second, readings, changes);
  };
  const auto forget = [&](const PciAddress& address) {
    sticky_.erase(address);
    in_flux_.erase(address);
  };
  if (only) {
    for (const PciAddress& address : *only)
      if (const FunctionReading* function = readings.functions.find(address))
        remember_function(*function);
      else
        forget(address);
  } else {
    std::erase_if(sticky_, [&](const auto& entry) { return !readings.functions.contains(entry.first); });
    std::erase_if(in_flux_, [&](const auto& address) { return !readings.functions.contains(address); });
    for (const auto& [address, function] : readings.functions) remember_function(function);
  }
  recovered_.clear();
}

void InventoryBook::remember_netdevs(const FunctionReading& function, const Ports& here,
                                     const HostReadings& readings, const NetdevChanges& changes) {
  const auto known = sticky_.find(function.pci);
  const StickyNetdev before = known == sticky_.end() ? StickyNetdev{} : known->second;
  if (is_first_away(function, here, changes))
    remember_absent(function, changes);
  else
    remember_present(function, *here.front(), readings, changes);
  remember_other_ports(function, before, here, changes);
  // A single interface under its own name is remembered as read, regardless of events.
  const auto now = sticky_.find(function.pci);
  const bool is_plain =
      now == sticky_.end() || (!now->second.is_away && !now->second.has_sticky_name &&
                               !now->second.is_unexplained && now->second.other_ports.empty());
  if (is_plain)
    in_flux_.erase(function.pci);
  else
    in_flux_.insert(function.pci);
}

// Returns whether the ports that are here do not include the function's first one.
bool InventoryBook::is_first_away(const FunctionReading& function, const Ports& here,
                                  const NetdevChanges& changes) const {
  const auto at = sticky_.find(function.pci);
  if (here.empty() || at == sticky_.end() || at->second.last.name.empty()) return here.empty();
  const StickyNetdev& sticky = at->second;
  const Netdev first = facts_of(*here.front());
  if (sticky.driver != driver_of(function, sticky) || has_ended(sticky.last, changes)) return false;
  if (are_different_ports(sticky.last, first)) return is_port_before(sticky.last, first);
  // Without port numbers, ports that were always other ones cannot be the returned first one.
  return first.ifindex != sticky.last.ifindex &&
         std::all_of(here.begin(), here.end(),
                     [&](const NetdevReading* port) { return has_port(sticky.other_ports, port->ifindex); });
}

// Ports that are no longer here keep their last facts, like the first one.
void InventoryBook::remember_other_ports(const FunctionReading& function, const StickyNetdev& before,
                                         const Ports& here, const NetdevChanges& changes) {
  const auto at = sticky_.find(function.pci);
  if (at == sticky_.end()) return;
  StickyNetdev& sticky = at->second;
  std::vector<Netdev> former = before.other_ports;
  if (!before.last.name.empty()) former.push_back(before.last);
  std::vector<Netdev> now{sticky.last};
  for (const NetdevReading* port : here)
    if (sticky.is_away || port->ifindex != sticky.last.ifindex) now.push_back(facts_of(*port));
  const size_t present = now.size();
  for (Netdev& port : former) {
    if (before.driver != sticky.driver || has_ended(port, changes)) continue;
    const bool is_there =
        std::any_of(now.begin(), now.begin() + static_cast<long>(present), [&](const Netdev& one) {
          // Without port numbers, an unknown port may be this one after its return.
          return one.ifindex == port.ifindex ||
                 (!are_different_ports(one, port) && !has_port(former, one.ifindex));
        });
    if (is_there) continue;
    drop_volatile(port);
    port.stale = true;
    now.push_back(port);
  }
  now.erase(now.begin());
  sticky.other_ports = std::move(now);
}

void InventoryBook::remember_present(const FunctionReading& function, const NetdevReading& own,
                                     const HostReadings& readings, const NetdevChanges& changes) {
  const auto [at, is_new] = sticky_.try_emplace(function.pci);
  StickyNetdev& sticky = at->second;
  const StickyNetdev before = std::exchange(sticky, StickyNetdev{});
  sticky.last = facts_of(own);
  sticky.driver = is_new ? function.driver : driver_of(function, before);
  if (const auto rdma = readings.rdma_of_function.find(function.pci);
      rdma != readings.rdma_of_function.end()) {
    sticky.rdma_device = rdma->second;
    if (const auto keys = readings.pkeys.find(function.pci); keys != readings.pkeys.end())
      sticky.pkeys = keys->second;
  } else if (const auto soft = readings.rdma_of_netdev.find(own.name); soft != readings.rdma_of_netdev.end())
    sticky.rdma_device = soft->second;
  // A value that could not be read again is kept.
  if (!own.slow && own.ifindex == before.last.ifindex) sticky.last.speed_mbps = before.last.speed_mbps;

  const bool is_replaced = is_new || before.driver != sticky.driver || has_ended(before.last, changes) ||
                           before.last.name.empty() ||  // only its RDMA device was known
                           are_different_ports(before.last, sticky.last) ||
                           has_port(before.other_ports, own.ifindex);
  if (is_replaced || own.name == before.last.name || changes.renamed_to.contains(own.name)) return;
  const bool is_same_link = own.ifindex == before.last.ifindex;  // a rename here changes nothing else
  const bool is_explained = !before.is_unexplained || (before.is_away && !is_same_link);
  const bool was_away =
      has_left(before.last, changes) || ((before.is_away || before.has_sticky_name) && is_explained);
  // Another name without having been seen to leave: the event that explains it may still be on its way,
  // unless events were lost or it has had its time.
  if (!was_away && (!changes.is_complete || before.is_unexplained)) return;
  sticky.last.name = before.last.name;
  sticky.has_sticky_name = true;
  sticky.is_unexplained = !was_away;
}

void InventoryBook::remember_absent(const FunctionReading& function, const NetdevChanges& changes) {
  auto at = sticky_.find(function.pci);
  if (at == sticky_.end()) {
    const auto recovered = recovered_.find(function.pci);
    if (recovered == recovered_.end() || function.driver.empty()) return;
    StickyNetdev& sticky = sticky_[function.pci];
    sticky.last = recovered->second.netdev;
    drop_volatile(sticky.last);
    sticky.rdma_device = recovered->second.rdma_device;
    sticky.driver = function.driver;
    sticky.is_away = true;
    return;
  }
  StickyNetdev& sticky = at->second;
  // Without its driver the function has no netdev anywhere, and an unregistered one is in no pod.
  if (sticky.driver != driver_of(function, sticky) || has_ended(sticky.last, changes)) {
    sticky_.erase(at);
    return;
  }
  // It was read under its old name, and a rename explains its absence as well. A reading of all entries would
  // have found it under the new name.
  const bool may_be_renamed = !sticky.is_away || sticky.is_unexplained;
  sticky.is_unexplained = may_be_renamed && changes.is_complete && !has_left(sticky.last, changes);
  drop_volatile(sticky.last);
  sticky.is_away = true;
  sticky.has_sticky_name = false;
}

}  // namespace sliced::hotplug
