#pragma once
// Derives the value of the readiness condition nodeState from the node's SriovNetworkNodeState. Pure.
//
// Deny by default: without the object no PF counts as in sync.
#include <memory>
#include <string>

#include "hotplug/facts.h"
#include "policy/node_state/node_state.h"
#include "policy/readiness/node_state.h"

namespace sliced::policy {

/// Parts of the status that are ignored (--ignore-node-state).
struct IgnoredStatus {
  bool failed = false;        // syncStatus Failed
  bool earlier_boot = false;  // a missing status, or one without evidence of this boot
  bool operator==(const IgnoredStatus&) const = default;
};

/// The object as last read. object: nullptr if it does not exist or is unknown; `why` then says which, with
/// the remedy.
struct NodeStateReading {
  std::shared_ptr<const SriovNodeState> object;
  std::string why = "no SriovNetworkNodeState is read";
  bool is_absent = false;  // the cluster lacks the object or its CRD: no configuration is required
  /// Why it is not known that the operator wrote the status in this boot; "" if it is known.
  std::string no_evidence = {};
  IgnoredStatus ignored = {};
};

/// Returns why the operator is not known to have configured the PFs in this boot, with the remedy. "" if
/// syncStatus is Succeeded and there is evidence of this boot.
/// Source: at each start the operator's daemon writes InProgress, configures, and then writes Succeeded
/// (pkg/daemon/daemon.go of k8snetworkplumbingwg/sriov-network-operator, Reconcile and apply). It always
/// configures externally managed PFs with VFs for network drivers (NeedToUpdateSriov). So a status from
/// before a reboot proves nothing, even if the host is as required.
std::string unsettled_by(const NodeStateReading& reading);

/// Returns the state of the PFs. A PF is out of sync if the object contains it and the host differs by the
/// rules of drift.h, or if unsettled_by() has a reason. host: the inventory of the decision, so that a device
/// in a pod counts with its pinned facts.
NodeState in_sync(const NodeStateReading& reading, const hotplug::Inventory& host);

/// Returns why the node is not configured (--until-configured node-state); "" if the object contains
/// interfaces and each of their PFs is in sync. The operator may still create or fill a missing or empty
/// object; with allows_empty one without interfaces counts as configured, too. now: in_sync() of the same
/// object.
std::string unconfigured_by(const NodeStateReading& reading, const NodeState& now, bool allows_empty);

/// Returns "SriovNetworkNodeState ns/name: syncStatus Failed, lastSyncError: ...".
std::string describe_status(const SriovNodeState& state);

}  // namespace sliced::policy
