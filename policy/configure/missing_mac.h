#pragma once
// Which VFs lack the administrative MAC address that somebody asks to be set (--configure=admin-mac), and which address
// that would be: the one that the VF's interface has anyway. Pure; who does it is daemon/admin_macs.h.
//
// Asked by:  a SriovNetworkNodeState, for VFs of PFs that it calls externally managed and groups as network devices; or
//            a policy with readiness.setAdminMac, for VFs that it offers or would offer if they were ready.
// Missing:   the PF tells that it enforces no address. One that it does not tell is not missing.
// Untouched: a VF whose interface is not in this network namespace, or not Ethernet, or that udevd has not finished with
//            (it may still give it another address); that somebody has, or that the host uses, or that is in motion, or
//            that a policy excludes; and everything before this node is configured (--until-configured).
#include <functional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/decision.h"
#include "policy/node_state/in_sync.h"

namespace sliced::policy {

/// "Set the MAC address of VF `index` of `pf` to `mac`", with what has to be so still when it is done.
struct MissingMac {
  std::string vf;  // host device id: its PCI address
  hotplug::PciAddress pf;
  std::string pf_name;  // of its interface
  int pf_ifindex = 0;
  int index = -1;         // of the VF
  std::string interface;  // the VF's, as the kernel calls it
  int ifindex = 0;        // the same
  std::string mac;        // of that interface
  std::string asked_by;   // for people: "policy ns/name"
  bool operator==(const MissingMac&) const = default;
};

/// What came of it.
enum class MacOutcome {
  kSet,     // and read back
  kHadOne,  // somebody was quicker
  kNotSo,   // something of it is not so any more: nothing was written
};

struct MissingMacRequest {
  const Decision& decision;
  const hotplug::Inventory& host;  // as it is, which need not be what was decided over
  const NodeStateWord& node_state;
  /// Of a host device's id: a pod has it, or a claim is known to.
  std::function<bool(const std::string& id)> is_taken;
};
/// In the order of their addresses.
std::vector<MissingMac> missing_macs(const MissingMacRequest& request);

}  // namespace sliced::policy
