#pragma once
// The plain facts of a host device, listed once under their names in outputs (docs/command-line.md), for code
// that shows a device or creates one with every fact.
#include "hotplug/facts.h"

namespace sliced::hotplug {

/// Calls visit(name, fact) for each fact, including absent ones, in the order of the output. fact: a
/// reference to a std::string, an int, or an optional of int, bool or PciAddress; const if the device is.
/// visit must accept all of these. Not visited: id and type, interfaces, and facts about the device as a
/// whole (host_use, broken, unreadable). Facts of PFs are visited for PFs only.
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
