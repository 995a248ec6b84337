#pragma once
// SriovNetworkNodeState (sriovnetwork.openshift.io/v1) as a value: what the SR-IOV network operator wants of this
// node's PFs, and what its daemon last said of them. Read only.
//
// The kind is another project's: fields that are not named here are passed over, for the next release may have more.
// What is named and cannot be understood is a problem of the interface that has it, which then is judged by nobody.
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

/// Values. Numbers that are not there are 0, texts "".
struct SriovNodeState {
  /// Which VFs of an interface are of one sort. The first group with a VF's index speaks of it, as the operator has
  /// it.
  struct VfGroup {
    std::string resource_name, policy_name;
    std::string device_type;   // "netdevice" and "" a network driver; else the driver's name ("vfio-pci")
    std::string vdpa_type;     // "virtio", "vhost"; "" none may be there
    int first = 0, last = -1;  // VF indices, both included; last before first: none
    int mtu = 0;               // 0: any
    bool is_rdma = false;
    bool covers(int vf_index) const { return first <= vf_index && vf_index <= last; }
    bool operator==(const VfGroup&) const = default;
  };
  /// One of spec.interfaces: a PF, and how it should be.
  struct Wanted {
    std::optional<hotplug::PciAddress> pci;  // nullopt: a problem
    std::string name;                        // of the interface, as the operator knew it
    int num_vfs = 0;
    int mtu = 0;                   // at least; 0: any
    std::optional<int> link_type;  // ARPHRD_*; of "ETH" and "IB" in any case of letters; nullopt: any
    std::string eswitch_mode;      // "legacy", "switchdev"; never ""
    bool externally_managed = false;
    std::vector<VfGroup> groups;
    Problems problems;  // not empty: it cannot be said how the PF should be
    bool operator==(const Wanted&) const = default;

    const VfGroup* group_of(int vf_index) const;  // nullptr: nobody speaks of that VF
  };
  /// One of status.interfaces, and one of its Vfs: what the operator's daemon saw when it last wrote. It does not
  /// write because a VF changed, so that this is told beside what is found, and never believed.
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

    const SeenVf* vf(int index) const;  // nullptr: it does not tell
  };

  std::string namespace_, name, uid;
  int64_t generation = 0;
  std::vector<Wanted> wanted;
  std::vector<Seen> seen;
  std::string sync_status;      // "Succeeded", "Failed", "InProgress"
  std::string last_sync_error;  // at most 1 KiB
  /// When syncStatus was written, in seconds since 1970 by the API server's clock (kube::status_written_at).
  std::optional<int64_t> sync_status_at;
  /// Annotation sriovnetwork.openshift.io/current-state: "Idle", "Draining", "DrainComplete" ...
  std::string current_state;
  Problems
      problems;  // beside the interfaces of the spec; of the spec itself they mean that nobody knows what it wants
  bool is_spec_unknown = false;  // with a problem: spec, or its list of interfaces, cannot be read at all
  bool operator==(const SriovNodeState&) const = default;

  const Seen* seen_of(const hotplug::PciAddress& pf) const;  // nullptr: it does not tell
};

/// Never fails: what is wrong becomes problems.
/// Bounds: 1,024 interfaces in spec and in status, 256 groups and 4,096 VFs of one, 256 bytes of a text.
SriovNodeState decode_node_state(const kube::Json& object, const Result<kube::ObjectMeta>& meta);
inline SriovNodeState decode_node_state(const kube::Json& object) {
  return decode_node_state(object, kube::decode_object_meta(object));
}

}  // namespace sliced::policy
