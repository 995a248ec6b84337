#pragma once
// SriovNetworkNodeState (sriovnetwork.openshift.io/v1) as a value: the PF configuration that the SR-IOV
// network operator requires, and its last status. Read only.
//
// The kind belongs to another project, so that unnamed fields are ignored; later releases may add some. A
// named field that is invalid is a problem of its interface, which then is not compared.
// Source: api/v1/sriovnetworknodestate_types.go of k8snetworkplumbingwg/sriov-network-operator.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/json.h"
#include "kube/objects/object_meta.h"
#include "policy/problem.h"

namespace sliced::policy {

/// Absent numbers are 0, absent texts "".
struct SriovNodeState {
  /// VFs of an interface with the same configuration. The first group that contains a VF's index applies to
  /// it, as in the operator.
  struct VfGroup {
    std::string resource_name, policy_name;
    std::string device_type;   // "netdevice" or "": a network driver; otherwise a driver name ("vfio-pci")
    std::string vdpa_type;     // "virtio", "vhost"; "": no vDPA device may exist
    int first = 0, last = -1;  // VF indices, both included; last < first: none
    int mtu = 0;               // 0: any
    bool is_rdma = false;
    bool covers(int vf_index) const { return first <= vf_index && vf_index <= last; }
    bool operator==(const VfGroup&) const = default;
  };
  /// One element of spec.interfaces: the required configuration of a PF.
  struct Wanted {
    std::optional<hotplug::PciAddress> pci;  // nullopt: invalid, with a problem
    std::string name;                        // interface name in the object
    int num_vfs = 0;
    int mtu = 0;                   // minimum; 0: any
    std::optional<int> link_type;  // ARPHRD_* of "ETH" and "IB" in any case; nullopt: any
    std::string eswitch_mode;      // "legacy", "switchdev"; never ""
    bool externally_managed = false;
    std::vector<VfGroup> groups;
    Problems problems;  // not empty: the required configuration is unknown
    bool operator==(const Wanted&) const = default;

    const VfGroup* group_of(int vf_index) const;  // nullptr if no group contains the VF
  };
  /// One element of status.interfaces, and one of its Vfs. The operator does not write when a VF changes, so
  /// this is shown in texts and never used as a fact.
  struct SeenVf {
    int index = -1;
    int mtu = 0;
    std::string driver, mac, guid, vdpa_type;
    bool operator==(const SeenVf&) const = default;
  };
  struct Seen {
    std::optional<hotplug::PciAddress> pci;
    int num_vfs = 0, mtu = 0;
    std::string link_type, link_admin_state, eswitch_mode;  // "ETH", "up", "legacy"
    std::vector<SeenVf> vfs;
    bool operator==(const Seen&) const = default;

    const SeenVf* vf(int index) const;  // nullptr if the status lacks it
  };

  std::string namespace_, name, uid;
  int64_t generation = 0;
  std::vector<Wanted> wanted;
  std::vector<Seen> seen;
  std::string sync_status;      // "Succeeded", "Failed", "InProgress"
  std::string last_sync_error;  // at most 1 KiB
  /// Time at which syncStatus was written, in seconds since 1970 by the API server's clock
  /// (kube::status_written_at).
  std::optional<int64_t> sync_status_at;
  /// Annotation sriovnetwork.openshift.io/current-state: "Idle", "Draining", "DrainComplete" ...
  std::string current_state;
  Problems problems;             // outside of the interfaces; they make the whole spec unknown
  bool is_spec_unknown = false;  // with a problem: spec or its list of interfaces is unreadable
  bool operator==(const SriovNodeState&) const = default;

  const Seen* seen_of(const hotplug::PciAddress& pf) const;  // nullptr if the status lacks it
};

/// Never fails: errors become problems.
/// Bounds: 1,024 interfaces in spec and in status, 256 groups and 4,096 VFs of one, 256 bytes of a text.
SriovNodeState decode_node_state(const kube::Json& object, const Result<kube::ObjectMeta>& meta);
inline SriovNodeState decode_node_state(const kube::Json& object) {
  return decode_node_state(object, kube::decode_object_meta(object));
}

}  // namespace sliced::policy
