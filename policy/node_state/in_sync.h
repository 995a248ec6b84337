#pragma once
// From the node's SriovNetworkNodeState, as far as the cluster has told it, to the value that readiness asks
// (condition nodeState). Pure.
//
// Deny by default: as long as nobody has told how the PFs should be, no PF is known to be so.
#include <memory>
#include <string>

#include "hotplug/facts.h"
#include "policy/node_state/node_state.h"
#include "policy/readiness/node_state.h"

namespace sliced::policy {

/// What of a status is passed over (--ignore-node-state).
struct IgnoredStatus {
  bool failed = false;        // syncStatus Failed
  bool earlier_boot = false;  // a status without evidence of this boot, also none at all
  bool operator==(const IgnoredStatus&) const = default;
};

/// object: nullptr where there is none, or none is known; why then says which of the two, and what to do.
struct NodeStateWord {
  std::shared_ptr<const SriovNodeState> object;
  std::string why = "no SriovNetworkNodeState is read";
  bool is_absent =
      false;  // the cluster has none, or not even its kind: nobody wants anything of this node's PFs
  /// Why there is no evidence that the operator wrote the object's status since this boot; "" there is.
  std::string no_evidence = {};
  IgnoredStatus ignored = {};
};

/// Why the operator is not known to have configured the PFs in this boot, with the remedy; "" it has: syncStatus is
/// Succeeded, and there is evidence of this boot.
/// Source: at each start the operator's daemon writes InProgress, configures, and then writes Succeeded
/// (pkg/daemon/daemon.go of k8snetworkplumbingwg/sriov-network-operator, Reconcile and apply). It configures externally
/// managed PFs with VFs for network drivers whatever it finds (NeedToUpdateSriov). So what was written before a reboot says
/// nothing of the hardware now, also where the host looks as it is wanted.
std::string unsettled_by(const NodeStateWord& word);

/// A PF is out of sync when the object speaks of it and the host is not as it says by the rules of drift.h, or
/// unsettled_by() has a reason. host: as it is decided over, so that a device that a pod has is judged with its
/// facts of before.
NodeState in_sync(const NodeStateWord& word, const hotplug::Inventory& host);

/// Why the node is not configured by it (--until-configured node-state); "" it is: the object wants something, and each PF
/// that it speaks of is in sync. One that is not there, or wants nothing, may still be filled in by the operator; with
/// allows_empty it is a sign too. now: in_sync() of that word.
std::string unconfigured_by(const NodeStateWord& word, const NodeState& now, bool allows_empty);

/// "SriovNetworkNodeState ns/name: syncStatus Failed, lastSyncError: ..."
std::string describe_status(const SriovNodeState& state);

}  // namespace sliced::policy
