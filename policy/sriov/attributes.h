#pragma once
// The attributes of a VF's device entry: those of dra-driver-sriov, by name and type, and the standard ones.
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

inline constexpr std::string_view kResourceNameId = "resourceName";  // with the driver's domain
inline constexpr std::string_view kMultusResourceName = "k8s.cni.cncf.io/resourceName";

/// Returns the resourceName of an entry, under each of its keys, by which claims select; "" if it has none.
std::string published_resource(const kube::Attributes& attributes, const std::string& driver);

/// The attributes of VFs under one driver name. Keys and types are those of dra-driver-sriov, because
/// DeviceClasses select by them. Unknown facts are left out, except dra.net/numaNode, which then is -1, as in
/// dra-driver-sriov.
class VfAttributes {
 public:
  /// lists_numa_nodes: the standard attribute numaNode is a list (policy/numa_node.h).
  explicit VfAttributes(const std::string& driver, bool lists_numa_nodes = false);
  /// Number of keys() that dra-driver-sriov lacks. They are left out if an entry has no room for all keys.
  static constexpr size_t kYielding = 6;  // driver, iommuGroup, iommuGroupShared, pKeys, representor, vdpa
  /// pf: the VF's PF; nullptr if it is not in the inventory.
  kube::Attributes of(const hotplug::HostDevice& vf, const hotplug::HostDevice* pf,
                      bool with_yielding = true) const;
  /// Returns the full keys that of() can produce.
  const std::vector<SharedText>& keys() const { return keys_; }

 private:
  std::vector<SharedText> keys_;  // in order
  bool lists_numa_nodes_;
};

/// The facts in a published entry that leave with a function's interface. After a restart they are the only
/// source for a VF whose interface is in a pod.
struct PublishedVf {
  std::string address, pf_address;  // "" if the entry lacks it
  std::string pf_name;
  std::optional<int> pf_link_type;  // ARPHRD_*
  bool is_rdma_capable = false;
};
/// An attribute that is absent or of another type, because others may write our slices, counts as not
/// published.
PublishedVf read_vf_attributes(const kube::Attributes& attributes, const std::string& driver);

/// Returns "ethernet", "infiniband" or "unknown".
std::string_view link_type_of(const hotplug::HostDevice& vf);

}  // namespace sliced::policy
