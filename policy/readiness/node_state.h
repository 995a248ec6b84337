#pragma once
// What a SriovNetworkNodeState says of the PFs of this node, as far as readiness asks: a value that whoever watches
// the node state fills in.
#include <map>
#include <set>
#include <string>

namespace sliced::policy {

/// Nothing is known of it until somebody says so: `nodeState` is then not met, with `why`.
struct NodeState {
  bool is_known = false;
  std::string why = "no SriovNetworkNodeState is read";
  /// Why the operator is not known to have configured this node in this boot (node_state/in_sync.h); "" it has, or it has
  /// nothing to configure.
  std::string unsettled = {};
  /// "syncStatus Failed, lastSyncError: ..."; "" syncStatus is Succeeded without an error.
  std::string status = {};
  /// By host device id of the PF: why it is not in sync. A PF that is not here, in sync or not mentioned, is met.
  std::map<std::string, std::string> out_of_sync;
  /// Ids of PFs whose VFs are to have MAC addresses or GUIDs, and of which everything else is as it should be: whether they
  /// are in sync is their own word.
  std::set<std::string> by_word;
  bool operator==(const NodeState&) const = default;
};

}  // namespace sliced::policy
