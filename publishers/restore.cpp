#include "publishers/restore.h"

#include <limits>

#include "policy/attribute_value.h"
#include "policy/exposure/attributes.h"
#include "policy/exposure/exclude_record.h"
#include "policy/identity.h"
#include "policy/reserved/record.h"
#include "policy/sriov/attributes.h"

namespace sliced::publishers {
namespace {

template <class Visit>
void visit_entries(const ObservedSlices& slices, const std::string& boot_id, const Visit& visit) {
  for (const auto& [name, slice] : slices) {
    if (!is_of_boot(slice, boot_id)) continue;
    for (const kube::Device& entry : slice.devices) visit(entry);
  }
}

// Facts are used only if it is certain that this daemon wrote them in this boot.
bool is_certain(const kube::ResourceSlice& slice, const std::string& driver, const std::string& node,
                const std::string& boot_id) {
  const auto boot = slice.meta.annotations.find(std::string(kBootIdAnnotation));
  return is_ours(slice, driver, node) && boot != slice.meta.annotations.end() && boot->second == boot_id;
}

template <class Visit>
void visit_own(const ObservedSlices& slices, const std::string& driver, const std::string& node,
               const std::string& boot_id, const Visit& visit) {
  for (const auto& [name, slice] : slices)
    if (is_certain(slice, driver, node, boot_id))
      for (const kube::Device& entry : slice.devices) visit(entry);
}

bool lacks_facts(const hotplug::HostDevice& device, const hotplug::Inventory& inventory) {
  if (hotplug::is_netdev_elsewhere(device) || device.misses_ports) return true;
  const hotplug::HostDevice* pf = device.pf ? inventory.find(device.pf->text()) : nullptr;
  return pf != nullptr && hotplug::is_netdev_elsewhere(*pf);
}

// If the function is bound to another driver now, its published facts are obsolete.
bool is_bound_as_published(const hotplug::HostDevice& device, const kube::Device& entry,
                           const std::string& driver) {
  const auto published = policy::read_function(entry.attributes, driver);
  return published.driver.empty() || published.driver == device.driver;
}

// Slices are written one after the other, so those of one device may differ. Each was correct when it was
// written.
void note_excludes(const ObservedSlices& slices, const std::string& driver, const std::string& node,
                   const hotplug::Inventory& inventory,
                   std::map<std::string, std::set<std::string>>& exclude_records) {
  for (const auto& [name, slice] : slices) {
    const auto record = slice.meta.annotations.find(std::string(policy::kExcludesAnnotation));
    if (record == slice.meta.annotations.end() || inventory.boot_id.empty() ||
        !is_certain(slice, driver, node, inventory.boot_id))
      continue;
    for (const kube::Device& entry : slice.devices) {
      const hotplug::HostDevice* device = inventory.find(policy::holding_of_function(entry.name).device);
      const bool is_link = !policy::id_of_link(entry.attributes, driver).empty();
      if (device != nullptr && !is_link && lacks_facts(*device, inventory) &&
          is_bound_as_published(*device, entry, driver))
        exclude_records[device->id.text].insert(record->second);
    }
  }
}

// Returns the names of pools with all slices present and decoded.
std::set<std::string> whole_pools(const ObservedSlices& slices, const std::string& driver,
                                  const std::string& node) {
  struct Seen {
    int64_t slices = 0, wanted = std::numeric_limits<int64_t>::max();
    bool is_readable = true;
  };
  std::map<std::string, Seen> seen;
  for (const auto& [name, slice] : slices) {
    if (slice.pool.name.empty()) return {};                    // may belong to any pool
    if (is_emptied(slice) && !is_unreadable(slice)) continue;  // kept by a finalizer of another program
    Seen& pool = seen[slice.pool.name];
    pool.is_readable &= !is_unreadable(slice);
    if (!is_ours(slice, driver, node)) continue;
    ++pool.slices;
    pool.wanted = std::min(pool.wanted, slice.pool.slice_count);
  }
  std::set<std::string> out;
  for (const auto& [name, pool] : seen)
    if (pool.is_readable && pool.slices >= pool.wanted) out.insert(name);
  return out;
}

}  // namespace

policy::UnverifiedRecords find_unverified(const OwnSlices& slices) {
  policy::UnverifiedRecords out{
      .exposure = {true, whole_pools(slices.exposure, slices.exposure_driver, slices.node)}};
  out.is_of_sriov = !out.exposure.except.contains(policy::exposure_pool_name(slices.node, {})) ||
                    !whole_pools(slices.sriov, slices.sriov_driver, slices.node).contains(slices.node);
  return out;
}

bool is_of_boot(const kube::ResourceSlice& slice, const std::string& boot_id) {
  const auto at = slice.meta.annotations.find(std::string(kBootIdAnnotation));
  return boot_id.empty() || at == slice.meta.annotations.end() || at->second == boot_id;
}

policy::Unconfigured unconfigured(const OwnSlices& slices, const std::string& boot_id, std::string why) {
  policy::Unconfigured out{.why = std::move(why)};
  if (boot_id.empty()) return out;
  visit_own(slices.sriov, slices.sriov_driver, slices.node, boot_id,
            [&](const kube::Device& entry) { out.sriov.insert(entry.name); });
  visit_own(slices.exposure, slices.exposure_driver, slices.node, boot_id,
            [&](const kube::Device& entry) { out.exposure.insert(entry.name); });
  return out;
}

policy::Published published(const OwnSlices& slices, const hotplug::Inventory& inventory,
                            const std::map<std::string, std::vector<policy::Holding>>& holdings) {
  policy::Published out;
  const std::string& boot_id = inventory.boot_id;
  visit_entries(slices.sriov, boot_id, [&](const kube::Device& entry) { out.sriov.insert(entry.name); });
  visit_entries(slices.exposure, boot_id, [&](const kube::Device& entry) {
    out.exposure.insert(entry.name);
    const std::string link = policy::id_of_link(entry.attributes, slices.exposure_driver);
    if (!link.empty()) out.links[entry.name] = link;
  });
  for (const auto& [pool, all] : holdings)
    for (const policy::Holding& holding : all)
      if (holding.device.find(':') == std::string::npos) out.links.emplace(holding.entry, holding.device);
  if (!boot_id.empty())
    visit_own(slices.sriov, slices.sriov_driver, slices.node, boot_id, [&](const kube::Device& entry) {
      const hotplug::HostDevice* vf = inventory.find(policy::holding_of_function(entry.name).device);
      if (vf != nullptr && lacks_facts(*vf, inventory))
        out.resources[entry.name] = policy::published_resource(entry.attributes, slices.sriov_driver);
    });
  note_excludes(slices.sriov, slices.sriov_driver, slices.node, inventory, out.exclude_records);
  note_excludes(slices.exposure, slices.exposure_driver, slices.node, inventory, out.exclude_records);
  return out;
}

std::vector<hotplug::RecoveredNetdev> restore_netdevs(const OwnSlices& slices,
                                                      const hotplug::Inventory& inventory) {
  if (inventory.boot_id.empty()) return {};
  std::map<hotplug::PciAddress, hotplug::RecoveredNetdev> found;
  visit_own(slices.sriov, slices.sriov_driver, slices.node, inventory.boot_id,
            [&](const kube::Device& entry) {
              const auto published = policy::read_vf_attributes(entry.attributes, slices.sriov_driver);
              const hotplug::HostDevice* pf = inventory.find(published.pf_address);
              if (pf && pf->pci && !pf->netdev && !published.pf_name.empty()) {
                hotplug::Netdev netdev{
                    .name = published.pf_name, .link_type = published.pf_link_type, .is_partial = true};
                found[*pf->pci] = {*pf->pci, std::move(netdev), ""};
              }
              const hotplug::HostDevice* vf = inventory.find(published.address);
              if (vf && vf->pci && !vf->netdev && published.is_rdma_capable && vf->rdma_device.empty() &&
                  !hotplug::is_handed_over(*vf))
                found[*vf->pci] = {
                    *vf->pci, {}, std::string(hotplug::kUnknownRdmaDevice)};  // that it has one is published
            });
  visit_own(slices.exposure, slices.exposure_driver, slices.node, inventory.boot_id,
            [&](const kube::Device& entry) {
              auto published = policy::read_function(entry.attributes, slices.exposure_driver);
              const hotplug::HostDevice* device = inventory.find(published.address);
              const hotplug::HostDevice* pf = inventory.find(published.pf_address);
              // A VF's link type is its PF's.
              if (pf && pf->pci && hotplug::is_netdev_elsewhere(*pf) && !published.pf_name.empty()) {
                hotplug::Netdev netdev{
                    .name = published.pf_name, .link_type = published.netdev.link_type, .is_partial = true};
                found.emplace(*pf->pci, hotplug::RecoveredNetdev{*pf->pci, std::move(netdev), ""});
              }
              // With another driver it has no interface that could be in another namespace.
              if (device == nullptr || !device->pci || device->netdev || published.netdev.name.empty() ||
                  device->driver != published.driver)
                return;
              found[*device->pci] = {*device->pci, std::move(published.netdev),
                                     std::move(published.rdma_device)};
            });
  std::vector<hotplug::RecoveredNetdev> out;
  for (auto& [address, netdev] : found) out.push_back(std::move(netdev));
  return out;
}

}  // namespace sliced::publishers
