#include "kubectl/migrate/plugin_rules.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

bool has(const std::vector<std::string>& list, const std::string& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool covers(const PfVfs& entry, int vf_index) {
  return entry.ranges.empty() ||
         std::any_of(entry.ranges.begin(), entry.ranges.end(),
                     [&](const auto& range) { return range.first <= vf_index && vf_index <= range.second; });
}

// Only the first entry for a PF is evaluated.
bool has_pf(const std::vector<PfVfs>& list, const std::string& pf, const HostDevice& vf) {
  if (list.empty()) return true;
  if (pf.empty()) return false;
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const PfVfs& entry) { return lower(entry.pf) == lower(pf); });
  return found != list.end() && covers(*found, vf.vf_index.value_or(-1));
}

// Returns the type of the function's interface or, without one, of its PF's.
std::string link_type_of(const HostDevice& device) {
  const std::optional<int> type =
      device.netdev && device.netdev->link_type ? device.netdev->link_type : device.pf_link_type;
  if (!type) return "";
  return *type == 1 ? "ethernet" : *type == 32 ? "infiniband" : "other";
}

}  // namespace

bool is_plugin_device(const HostDevice& device) {
  if (device.type == DeviceType::kSf) return true;
  if (!device.pci || device.driver.empty()) return false;
  return device.type != DeviceType::kPf || device.num_vfs == 0;
}

bool takes(const Selector& selector, const HostDevice& device) {
  const std::string pf = device.pf ? device.pf->text() : "";
  return has(selector.vendors, device.vendor) && has(selector.devices, device.product) &&
         has(selector.drivers, device.driver) &&
         has(selector.pci_addresses, device.pci ? device.pci->text() : "") &&
         has_pf(selector.pf_names, device.pf_name, device) && has_pf(selector.root_devices, pf, device) &&
         has(selector.link_types, link_type_of(device)) &&
         (!selector.needs_rdma || !device.rdma_device.empty());
}

const Resource* plugin_resource_of(const Config& config, const HostDevice& device) {
  if (!is_plugin_device(device)) return nullptr;
  for (const Resource& resource : config.resources) {
    if (resource.is_auxiliary != (device.type == DeviceType::kSf)) continue;
    for (const Selector& selector : resource.selectors)
      if (takes(selector, device)) return &resource;
  }
  return nullptr;
}

}  // namespace sliced::migrate
