#include "hotplug/pinned_facts.h"

#include <utility>

namespace sliced::hotplug {
namespace {

bool is_same(const HostDevice& now, const HostDevice& held) {
  if (!now.broken.empty() || now.pci.has_value() != held.pci.has_value()) return false;
  if (!held.pci) return now.type == held.type;
  return now.vendor == held.vendor && now.product == held.product && now.pf == held.pf;
}

bool is_here(const std::optional<Netdev>& netdev) { return netdev && !netdev->stale; }

}  // namespace

HostDevice facts_to_pin(const HostDevice& device) {
  if (!device.pci) return device;
  HostDevice out;
  out.id = device.id;
  out.type = device.type;
  out.pci = device.pci;
  out.vendor = device.vendor;
  out.product = device.product;
  out.pf = device.pf;
  out.driver = device.driver;
  out.is_on_vfio = device.is_on_vfio;
  out.admin_mac = device.admin_mac;
  out.enforced = device.enforced;
  out.netdev = device.netdev;
  out.other_netdevs = device.other_netdevs;
  out.misses_ports = device.misses_ports;
  out.rdma_device = device.rdma_device;
  out.pkeys = device.pkeys;
  return out;
}

HostDevice as_pinned(const HostDevice& now, const HostDevice& held) {
  if (!is_same(now, held)) return now;
  HostDevice out = held.pci ? now : held;
  out.host_use = now.host_use;
  out.host_use_kind = now.host_use_kind;
  out.driver = held.driver;
  out.is_on_vfio = held.is_on_vfio;
  out.admin_mac = held.admin_mac;
  if (held.enforced)
    out.enforced = held.enforced;
  else if (out.enforced && !held.admin_mac.empty())  // from a record that was written before a restart
    out.enforced->mac = held.admin_mac;
  out.netdev = held.netdev;
  out.other_netdevs = held.other_netdevs;
  out.misses_ports = held.misses_ports;
  out.rdma_device = held.rdma_device;
  out.pkeys = held.pkeys;
  return out;
}

InventoryPtr with_pinned(const InventoryPtr& now, const PinnedFacts& held) {
  std::shared_ptr<Inventory> out;
  const auto put = [&](const std::string& id, HostDevice device) {
    if (!out) out = std::make_shared<Inventory>(*now);
    out->devices[id] = std::move(device);
  };
  for (const auto& [id, facts] : held) {
    const HostDevice* device = now->find(id);
    if (device == nullptr) {
      if (!facts.pci) put(id, facts);
      continue;
    }
    if (HostDevice shown = as_pinned(*device, facts); shown != *device) put(id, std::move(shown));
  }
  if (out) out->contested_names = find_contested_names(out->devices);
  return out ? InventoryPtr(std::move(out)) : now;
}

bool is_back(const HostDevice* now, const HostDevice& held) {
  if (now == nullptr) return held.pci.has_value();
  if (!is_same(*now, held)) return now->broken.empty();
  if (now->driver != held.driver || now->rdma_device != held.rdma_device) return false;
  if (!is_here(held.netdev)) return true;
  return is_here(now->netdev) && now->netdev->name == held.netdev->name &&
         (held.netdev->mac.empty() || now->netdev->mac == held.netdev->mac) &&
         now->other_netdevs.size() >= held.other_netdevs.size();
}

}  // namespace sliced::hotplug
