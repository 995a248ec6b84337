#pragma once
// The attributes of a VF's device entry: those of dra-driver-sriov, by name and type, and the standard ones.
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/resource_slice.h"

namespace sliced::policy {

inline constexpr std::string_view kResourceNameId = "resourceName";  // below the driver's domain
inline constexpr std::string_view kMultusResourceName = "k8s.cni.cncf.io/resourceName";

/// By what claims of pods select an entry: its resourceName, under each of its keys. "" it has none.
std::string published_resource(const kube::Attributes& attributes, const std::string& driver);

/// The attributes of VFs under one driver's name; made once and used for every VF. Keys and types are those of
/// dra-driver-sriov, since DeviceClasses select by them. What the kernel does not say is left out, but for
/// dra.net/numaNode, which is -1 then, as theirs is.
class VfAttributes {
 public:
  /// lists_numa_nodes: the standard attribute numaNode is the list of numa_nodes_of(), not a number.
  explicit VfAttributes(const std::string& driver, bool lists_numa_nodes = false);
  /// Those of keys() that dra-driver-sriov does not have; an entry without room for all keys is made without them.
  static constexpr size_t kYielding = 6;  // driver, iommuGroup, iommuGroupShared, pKeys, representor, vdpa
  /// pf: the VF's PF; nullptr when it is not in the inventory.
  kube::Attributes of(const hotplug::HostDevice& vf, const hotplug::HostDevice* pf,
                      bool with_yielding = true) const;
  /// Full keys that of() can produce.
  const std::vector<SharedText>& keys() const { return keys_; }

 private:
  std::vector<SharedText> keys_;  // in order
  bool lists_numa_nodes_;
};

/// What of() has published of facts that a function's netdev takes along when it leaves, read back: after a
/// restart they are what is known of a VF whose interface is in a pod.
struct PublishedVf {
  std::string address, pf_address;  // "" where the entry does not say
  std::string pf_name;
  std::optional<int> pf_link_type;  // ARPHRD_*
  bool is_rdma_capable = false;
};
/// Anything may be absent or of another type, since others may write our slices: it is then as if it had not
/// been published.
PublishedVf read_vf_attributes(const kube::Attributes& attributes, const std::string& driver);

/// "ethernet", "infiniband", or "unknown".
std::string_view link_type_of(const hotplug::HostDevice& vf);

}  // namespace sliced::policy
