#pragma once
// Finds VFs without the admin MAC that a policy requests (--configure=admin-mac), and the address to set: the
// present one of the VF's interface. Pure; daemon/admin_macs.h sets it.
//
// Requested by: a SriovNetworkNodeState, for VFs of its externally managed PFs in groups of network devices;
// or a policy with readiness.setAdminMac, for VFs that it offers or would offer if they were ready.
// Missing:      the PF reports that it enforces no address. An address that the PF does not report is not
// missing.
// Not changed:  a VF whose interface is in another network namespace, is not Ethernet, or is not initialized
// by udevd, which may still change the address; a VF that a pod has, that the host uses, that settles, or
// that a policy excludes; all VFs before this node is configured (--until-configured).
#include <functional>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "policy/decision.h"
#include "policy/node_state/in_sync.h"

namespace sliced::policy {

/// One change, "set the admin MAC of VF `index` of `pf` to `mac`", with the facts that must still hold at
/// that time.
struct MissingMac {
  std::string vf;  // host device id: its PCI address
  hotplug::PciAddress pf;
  std::string pf_name;  // name of the PF's interface
  int pf_ifindex = 0;
  int index = -1;         // of the VF
  std::string interface;  // the VF's interface, its name in the kernel
  int ifindex = 0;        // of `interface`
  std::string mac;        // present address of `interface`
  std::string asked_by;   // for people: "policy ns/name"
  bool operator==(const MissingMac&) const = default;
};

/// The result of one change.
enum class MacOutcome {
  kSet,           // set, and verified by a read
  kHadAddress,    // another program had set one before
  kFactsChanged,  // a fact no longer holds; nothing was written
};

struct MissingMacRequest {
  const Decision& decision;
  const hotplug::Inventory& host;  // the present host; it may be newer than the decision
  const NodeStateReading& node_state;
  /// Returns true if a pod has the host device with this id, or a claim is known to have it.
  std::function<bool(const std::string& id)> is_in_use;
};
/// Returns the missing addresses, in the order of the VFs' PCI addresses.
std::vector<MissingMac> missing_macs(const MissingMacRequest& request);

}  // namespace sliced::policy
