#include "policy/sriov/attributes.h"

#include "policy/attribute_value.h"
#include "policy/link_type.h"
#include "policy/numa_node.h"
#include "policy/pkeys.h"
#include "reactor/base/text.h"

namespace sliced::policy {

namespace {

// Indices into keys(). Those of the driver's domain start at kFirstOwn, in the order of kOwnIds.
enum Key {
  kDraNuma,
  kMultusDevice,
  kStdNuma,
  kStdBusId,
  kStdRoot,
  kFirstOwn,
  kEswitchMode = kFirstOwn,
  kPfName,
  kDeviceId,
  kDriver,
  kIommuGroup,
  kIommuShared,
  kLinkType,
  kPkeys,
  kAddress,
  kPfDeviceId,
  kPfAddress,
  kRdma,
  kRepresentor,
  kVdpa,
  kVendor,
  kVfId
};
constexpr const char* kOwnIds[] = {
    "EswitchMode", "PFName", "deviceID",   "driver",     "iommuGroup",   "iommuGroupShared",
    "linkType",    "pKeys",  "pciAddress", "pfDeviceID", "pfPciAddress", "rdmaCapable",
    "representor", "vdpa",   "vendor",     "vfID"};

}  // namespace

std::string_view link_type_of(const hotplug::HostDevice& vf) {
  const std::string_view text = text_of_link_type(vf.pf_link_type);
  return text.empty() ? "unknown" : text;
}

std::string published_resource(const kube::Attributes& attributes, const std::string& driver) {
  std::string out;
  for (const std::string& key :
       {driver + "/" + std::string(kResourceNameId), std::string(kMultusResourceName)})
    if (const auto* name = attribute_as<std::string>(attributes, key)) out += key + "=" + *name + "\n";
  return out;
}

VfAttributes::VfAttributes(const std::string& driver, bool lists_numa_nodes)
    : keys_{"dra.net/numaNode", "k8s.cni.cncf.io/deviceID", "resource.kubernetes.io/numaNode",
            "resource.kubernetes.io/pciBusID", "resource.kubernetes.io/pcieRoot"},
      lists_numa_nodes_(lists_numa_nodes) {
  for (const char* id : kOwnIds) keys_.push_back(driver + "/" + id);
}

kube::Attributes VfAttributes::of(const hotplug::HostDevice& vf, const hotplug::HostDevice* pf,
                                  bool with_yielding) const {
  kube::Attributes out;
  out.reserve(keys_.size() + 1);  // with room for resourceName, which would double the capacity
  const auto put = [&](size_t key, kube::AttributeValue value) { out.emplace(keys_[key], std::move(value)); };
  const auto text = [&](size_t key, std::string_view value) {
    if (!value.empty()) put(key, std::string(value));
  };
  const std::string address = vf.pci ? vf.pci->text() : "";
  // The standard attributes exist for four-digit domains only (upstream's pattern for pciBusID).
  const bool is_standard = vf.pci && vf.pci->domain <= 0xffff;
  put(kDraNuma, int64_t{vf.pf_numa_node.value_or(-1)});
  text(kMultusDevice, address);
  if (auto nodes = numa_node_attribute(vf, lists_numa_nodes_)) put(kStdNuma, *std::move(nodes));
  if (is_standard) text(kStdBusId, address);
  if (is_standard) text(kStdRoot, vf.pcie_root);
  text(kEswitchMode,
       pf != nullptr && !pf->eswitch_mode.empty() ? std::string_view(pf->eswitch_mode) : "legacy");
  text(kPfName, vf.pf_name);
  text(kDeviceId, vf.product);
  if (with_yielding) text(kDriver, vf.driver);
  if (with_yielding && vf.iommu_group) {
    put(kIommuGroup, int64_t{*vf.iommu_group});
    put(kIommuShared, !vf.iommu_partners.empty());
  }
  text(kLinkType, link_type_of(vf));
  if (const std::string keys = with_yielding ? pkeys_text(vf) : "";
      keys.size() <= kube::kAttributeValueBytesMax)
    text(kPkeys, keys);
  text(kAddress, address);
  text(kPfDeviceId, vf.pf_product);
  if (vf.pf) text(kPfAddress, vf.pf->text());
  put(kRdma, !vf.rdma_device.empty());
  if (with_yielding && is_utf8(vf.representor)) text(kRepresentor, vf.representor);
  if (with_yielding && vf.vdpa.driver != hotplug::kUnknownVdpa) text(kVdpa, vf.vdpa.driver);
  text(kVendor, pf != nullptr ? pf->vendor : vf.vendor);
  if (vf.vf_index) put(kVfId, int64_t{*vf.vf_index});
  return out;
}

PublishedVf read_vf_attributes(const kube::Attributes& attributes, const std::string& driver) {
  PublishedVf out;
  const auto key = [&](Key own) { return driver + "/" + kOwnIds[own - kFirstOwn]; };
  const auto text = [&](Key own, std::string& to) {
    if (const auto* value = attribute_as<std::string>(attributes, key(own))) to = *value;
  };
  text(kAddress, out.address);
  text(kPfAddress, out.pf_address);
  text(kPfName, out.pf_name);
  std::string link_type;
  text(kLinkType, link_type);
  out.pf_link_type = link_type_of_text(link_type);
  const auto* rdma = attribute_as<bool>(attributes, key(kRdma));
  out.is_rdma_capable = rdma != nullptr && *rdma;
  return out;
}

}  // namespace sliced::policy
