#include "hotplug/affected.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hotplug/resolve.h"

namespace sliced::hotplug {
namespace {

// Returns whether the interface affects no device other than its function's.
bool is_plain(const NetdevReading& netdev, const HostReadings& readings) {
  return netdev.is_functions_own && netdev.master.empty() && netdev.lowers.empty() &&
         !has_switch_id(netdev) && readings.functions.contains(*netdev.function);
}

// Adds the functions of changed interfaces; returns false if others are affected too.
bool add_netdevs(const HostReadings& before, const HostReadings& now, std::set<PciAddress>& out) {
  bool are_plain = true;
  const auto add = [&](const NetdevReading* netdev, const HostReadings& readings) {
    if (netdev == nullptr) return;
    are_plain = are_plain && is_plain(*netdev, readings);
    if (are_plain) out.insert(*netdev->function);
  };
  decltype(now.netdevs)::for_each_difference(
      before.netdevs, now.netdevs,
      [&](const std::string&, const NetdevReading* old, const NetdevReading* fresh) {
        add(old, before);
        add(fresh, now);
      });
  return are_plain;
}

void add_vfs(const FunctionReading* mine, const FunctionReading* other, std::set<PciAddress>& out) {
  if (mine == nullptr) return;
  for (const auto& [vf, index] : mine->vfs) {
    const auto at = other == nullptr ? mine->vfs.end() : other->vfs.find(vf);
    if (other == nullptr || at == other->vfs.end() || at->second != index) out.insert(vf);
  }
}

struct Functions {
  std::set<PciAddress> differ, added, removed;
  bool are_pfs_same = true;  // in the readings' facts that their VFs inherit
};

// Compares the facts of a PF from which the places of its VFs follow: the NUMA node in its file, and the addresses
// of VFs that have lost their links.
bool has_same_vf_layout(const FunctionReading* old, const FunctionReading* fresh) {
  const auto places = [](const FunctionReading* pf) {
    if (pf == nullptr || pf->vf_offset == 0) return std::make_tuple(0, 0, 0, std::string(), std::string());
    return std::make_tuple(pf->vf_offset, pf->vf_stride, pf->total_vfs, pf->vendor, pf->vf_product);
  };
  if (old != nullptr && fresh != nullptr && old->numa_node != fresh->numa_node) return false;
  return places(old) == places(fresh);
}

Functions functions_that_differ(const HostReadings& before, const HostReadings& now) {
  Functions out;
  decltype(now.functions)::for_each_difference(
      before.functions, now.functions,
      [&](const PciAddress& address, const FunctionReading* old, const FunctionReading* fresh) {
        out.differ.insert(address);
        if (old == nullptr) out.added.insert(address);
        if (fresh == nullptr) out.removed.insert(address);
        out.are_pfs_same &= has_same_vf_layout(old, fresh);
        add_vfs(old, fresh, out.differ);
        add_vfs(fresh, old, out.differ);
      });
  return out;
}

template <class Map>
void add_keys(const Map& before, const Map& now, std::set<PciAddress>& out) {
  auto old = before.begin();
  auto fresh = now.begin();
  while (old != before.end() || fresh != now.end()) {
    if (fresh == now.end() || (old != before.end() && old->first < fresh->first)) {
      out.insert(old++->first);
    } else if (old == before.end() || fresh->first < old->first) {
      out.insert(fresh++->first);
    } else {
      if (old->second != fresh->second) out.insert(fresh->first);
      ++old, ++fresh;
    }
  }
}

// Returns whether interfaces stayed while their function appeared or disappeared: links become ports, or
// ports links.
bool have_netdevs(const std::set<PciAddress>& functions, const HostReadings& readings) {
  if (functions.empty()) return false;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.is_functions_own && functions.contains(*netdev.function)) return true;
  return false;
}

}  // namespace

bool has_switch_id(const NetdevReading& netdev) {
  return netdev.slow && !netdev.slow->phys_switch_id.empty();
}

FunctionRelations function_relations(const HostReadings& readings) {
  const auto uppers = upper_links(readings);
  std::set<std::string> names;
  std::vector<std::string> next;
  for (const auto& [name, netdev] : readings.netdevs)
    if (netdev.function && names.insert(name).second) next.push_back(name);
  const auto interface = [&](const std::string& name) {
    const NetdevReading* netdev = readings.netdevs.find(name);
    return FunctionRelations::Interface(name, netdev == nullptr ? 0 : netdev->ifindex);
  };
  FunctionRelations out;
  out.missing_links = readings.missing_links;
  for (size_t at = 0; at < next.size(); ++at) {
    const auto above = uppers.find(next[at]);
    if (above == uppers.end()) continue;
    const auto lower = interface(next[at]);
    for (const std::string& upper : above->second) {
      out.stacked.emplace(lower, interface(upper));
      if (names.insert(upper).second) next.push_back(upper);
    }
  }
  const auto add = [&](const std::set<std::string>& from, std::set<FunctionRelations::Interface>& to) {
    for (const std::string& name : from)
      if (names.contains(name)) to.insert(interface(name));
  };
  add(readings.default_routes, out.default_routes);
  add(readings.other_routes, out.other_routes);
  add(readings.below_missing, out.below_missing);
  return out;
}

std::optional<std::set<PciAddress>> affected_functions(const HostReadings& before, const HostReadings& now) {
  if (before.vlans != now.vlans || before.default_routes != now.default_routes ||
      before.learned_routes != now.learned_routes || before.other_routes != now.other_routes ||
      before.are_routes_unknown != now.are_routes_unknown || before.are_links_mixed != now.are_links_mixed ||
      before.missing_links != now.missing_links || before.below_missing != now.below_missing ||
      before.are_missing_lasting != now.are_missing_lasting || before.rdma_of_netdev != now.rdma_of_netdev ||
      before.rdma_of_auxiliary != now.rdma_of_auxiliary || before.without_ipoib != now.without_ipoib ||
      before.ports_without_ipoib != now.ports_without_ipoib ||
      before.without_ethernet != now.without_ethernet || before.vdpa_of_auxiliary != now.vdpa_of_auxiliary ||
      before.auxiliaries != now.auxiliaries || before.numa_neighbors != now.numa_neighbors)
    return std::nullopt;
  Functions functions = functions_that_differ(before, now);
  if (!functions.are_pfs_same || have_netdevs(functions.added, before) ||
      have_netdevs(functions.removed, now))
    return std::nullopt;
  std::set<PciAddress> out = std::move(functions.differ);
  add_keys(before.vdpa_of_function, now.vdpa_of_function, out);
  if (!add_netdevs(before, now, out)) return std::nullopt;
  add_keys(before.rdma_of_function, now.rdma_of_function, out);
  add_keys(before.pkeys, now.pkeys, out);
  add_keys(before.pkeys_unread, now.pkeys_unread, out);
  add_keys(before.enforced, now.enforced, out);
  add_keys(before.settings_unread, now.settings_unread, out);
  return out;
}

}  // namespace sliced::hotplug
