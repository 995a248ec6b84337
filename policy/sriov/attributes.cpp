#include "policy/sriov/attributes.h"

namespace sliced::policy {

std::string_view link_type_of(const hotplug::HostDevice& vf) {
  if (vf.pf_link_type == 1) return "ethernet";
  if (vf.pf_link_type == 32) return "infiniband";
  return "unknown";
}

std::map<std::string, kube::AttributeValue> vf_attributes(const hotplug::HostDevice& vf, const hotplug::HostDevice* pf,
                                                          const std::string& driver) {
  std::map<std::string, kube::AttributeValue> out;
  const auto text = [&](std::string key, std::string_view value) {
    if (!value.empty()) out.emplace(std::move(key), std::string(value));
  };
  const std::string own = driver + "/";
  text(own + "vendor", pf != nullptr ? pf->vendor : vf.vendor);
  text(own + "deviceID", vf.product);
  text(own + "pfDeviceID", vf.pf_product);
  text(own + "PFName", vf.pf_name);
  text(own + "EswitchMode", pf != nullptr && !pf->eswitch_mode.empty() ? pf->eswitch_mode : "legacy");
  text(own + "linkType", link_type_of(vf));
  out.emplace(own + "rdmaCapable", !vf.rdma_device.empty());
  if (vf.vf_index) out.emplace(own + "vfID", int64_t{*vf.vf_index});
  if (vf.pf) text(own + "pfPciAddress", vf.pf->text());
  out.emplace("dra.net/numaNode", int64_t{vf.pf_numa_node.value_or(-1)});
  if (vf.numa_node) out.emplace("resource.kubernetes.io/numaNode", int64_t{*vf.numa_node});
  if (!vf.pci) return out;
  text(own + "pciAddress", vf.pci->text());
  text("k8s.cni.cncf.io/deviceID", vf.pci->text());
  // The standard attributes are defined for domains of four digits only (upstream's pattern for pciBusID).
  if (vf.pci->domain <= 0xffff) {
    text("resource.kubernetes.io/pciBusID", vf.pci->text());
    text("resource.kubernetes.io/pcieRoot", vf.pcie_root);
  }
  return out;
}

std::vector<std::string> vf_attribute_keys(const std::string& driver) {
  std::vector<std::string> keys = {"dra.net/numaNode", "k8s.cni.cncf.io/deviceID", "resource.kubernetes.io/numaNode",
                                   "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot"};
  for (const char* id : {"vendor", "deviceID", "pfDeviceID", "PFName", "EswitchMode", "linkType", "rdmaCapable", "vfID",
                         "pfPciAddress", "pciAddress"})
    keys.push_back(driver + "/" + id);
  return keys;
}

}  // namespace sliced::policy
