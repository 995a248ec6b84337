#pragma once
// The plain facts of a host device, once, by the names under which people are told of them (docs/command-line.md):
// who shows a device, or makes one that has everything, does not list them again.
#include "hotplug/facts.h"

namespace sliced::hotplug {

/// visit(name, fact) of each fact, in the order of the output; absent ones too. fact: a reference to a std::string, an int,
/// or an optional of int, bool or PciAddress; const where the device is. visit must take all of them.
/// Left to whoever shows them: id and type, interfaces, and what is concluded of the device as a whole (host_use,
/// broken, unreadable). Facts that only PFs have are visited of PFs alone.
template <class Device, class Visit>
void visit_facts(Device& device, Visit&& visit) {
  visit("pciAddress", device.pci);
  visit("vendor", device.vendor);
  visit("product", device.product);
  visit("subsystemVendor", device.subsystem_vendor);
  visit("subsystemProduct", device.subsystem_product);
  visit("driver", device.driver);
  visit("numaNode", device.numa_node);
  visit("iommuGroup", device.iommu_group);
  visit("pcieRoot", device.pcie_root);
  if (device.type == DeviceType::kPf) {
    visit("totalVFs", device.total_vfs);
    visit("numVFs", device.num_vfs);
    visit("eswitchMode", device.eswitch_mode);
  }
  visit("pfPciAddress", device.pf);
  visit("vfIndex", device.vf_index);
  visit("sfNumber", device.sf_number);
  visit("pfName", device.pf_name);
  visit("adminMac", device.admin_mac);
  visit("representor", device.representor);
  visit("representorOf", device.representor_of);
  visit("vdpa", device.vdpa.driver);
  visit("vdpaDevice", device.vdpa.name);
  visit("vdpaNode", device.vdpa.node);
  visit("bridgeType", device.bridge_type);
  visit("vlanFiltering", device.vlan_filtering);
  visit("vlanId", device.vlan_id);
  visit("parentIfName", device.parent_name);
  visit("rdmaDevice", device.rdma_device);
}

}  // namespace sliced::hotplug
