#include "policy/sriov/attributes.h"

namespace sliced::policy {

std::string_view link_type_of(const hotplug::HostDevice& vf) {
  if (vf.pf_link_type == 1) return "ethernet";
  if (vf.pf_link_type == 32) return "infiniband";
  return "unknown";
}

namespace {

// Indices into keys(); the driver's own follow from kOwn, in the order of kOwnIds.
enum Key { kDraNuma, kMultusDevice, kStdNuma, kStdBusId, kStdRoot, kOwn };
constexpr const char* kOwnIds[] = {"EswitchMode", "PFName",       "deviceID",    "linkType", "pciAddress",
                                   "pfDeviceID",  "pfPciAddress", "rdmaCapable", "vendor",   "vfID"};

}  // namespace

VfAttributes::VfAttributes(const std::string& driver)
    : keys_{"dra.net/numaNode", "k8s.cni.cncf.io/deviceID", "resource.kubernetes.io/numaNode",
            "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot"} {
  for (const char* id : kOwnIds) keys_.push_back(driver + "/" + id);
}

std::map<std::string, kube::AttributeValue> VfAttributes::of(const hotplug::HostDevice& vf,
                                                             const hotplug::HostDevice* pf) const {
  std::map<std::string, kube::AttributeValue> out;
  // Keys come nearly in order, so the hint saves the search.
  const auto put = [&](size_t key, kube::AttributeValue value) {
    out.emplace_hint(out.end(), keys_[key], std::move(value));
  };
  const auto text = [&](size_t key, std::string_view value) {
    if (!value.empty()) put(key, std::string(value));
  };
  const std::string address = vf.pci ? vf.pci->text() : "";
  // The standard attributes are defined for domains of four digits only (upstream's pattern for pciBusID).
  const bool is_standard = vf.pci && vf.pci->domain <= 0xffff;
  put(kDraNuma, int64_t{vf.pf_numa_node.value_or(-1)});
  text(kMultusDevice, address);
  if (vf.numa_node) put(kStdNuma, int64_t{*vf.numa_node});
  if (is_standard) text(kStdBusId, address);
  if (is_standard) text(kStdRoot, vf.pcie_root);
  text(kOwn + 0, pf != nullptr && !pf->eswitch_mode.empty() ? std::string_view(pf->eswitch_mode) : "legacy");
  text(kOwn + 1, vf.pf_name);
  text(kOwn + 2, vf.product);
  text(kOwn + 3, link_type_of(vf));
  text(kOwn + 4, address);
  text(kOwn + 5, vf.pf_product);
  if (vf.pf) text(kOwn + 6, vf.pf->text());
  put(kOwn + 7, !vf.rdma_device.empty());
  text(kOwn + 8, pf != nullptr ? pf->vendor : vf.vendor);
  if (vf.vf_index) put(kOwn + 9, int64_t{*vf.vf_index});
  return out;
}

}  // namespace sliced::policy
