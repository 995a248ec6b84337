#pragma once
// The state of this node's PFs by its SriovNetworkNodeState, as far as readiness requires it.
#include <map>
#include <set>
#include <string>

namespace sliced::policy {

/// The default is unknown: `nodeState` is not met, with `why`.
struct NodeState {
  bool is_known = false;
  std::string why = "no SriovNetworkNodeState is read";
  /// Why the operator is not known to have configured this node in this boot (node_state/in_sync.h); "" if it
  /// has, or has nothing to configure.
  std::string unsettled = {};
  /// "syncStatus Failed, lastSyncError: ..."; "" if syncStatus is Succeeded without an error.
  std::string status = {};
  /// Reason by host device id of each PF that is out of sync. nodeState is met for other PFs.
  std::map<std::string, std::string> out_of_sync;
  /// Ids of PFs with InterfaceDrift::depends_on_vf_settings(): required MAC addresses or GUIDs of their VFs
  /// decide, and all other fields are in sync.
  std::set<std::string> by_vf_settings;
  bool operator==(const NodeState&) const = default;
};

}  // namespace sliced::policy
