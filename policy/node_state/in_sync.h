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

/// object: nullptr where there is none, or none is known; why then says which of the two, and what to do.
struct NodeStateWord {
  std::shared_ptr<const SriovNodeState> object;
  std::string why = "no SriovNetworkNodeState is read";
  bool is_absent =
      false;  // the cluster has none, or not even its kind: nobody wants anything of this node's PFs
};

/// A PF is out of sync when the object speaks of it and the host is not as it says by the rules of drift.h, or
/// status.syncStatus is InProgress. host: as it is decided over, so that a device that a pod has is judged with its
/// facts of before.
NodeState in_sync(const NodeStateWord& word, const hotplug::Inventory& host);

/// Why the node is not configured by it (--until-configured node-state); "" it is: the object wants something, and each PF
/// that it speaks of is in sync. One that is not there, or wants nothing, may still be filled in by the operator; with
/// allows_empty it is a sign too. now: in_sync() of that word.
std::string unconfigured_by(const NodeStateWord& word, const NodeState& now, bool allows_empty);

}  // namespace sliced::policy
