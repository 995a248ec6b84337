#pragma once
// Watches the daemon's Node: its labels select policies, and its UID owns the slices.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "watchers/watched_source.h"

namespace sliced::watchers {

/// Metadata of the Node (PartialObjectMetadata). A re-created Node has another uid, and is reported as
/// Removed and Changed, as Changed alone, or in a Relisted. If the Node is invalid, the listener keeps the
/// last facts.
struct NodeFacts {
  std::string name, uid;
  std::map<std::string, std::string> labels;
  bool operator==(const NodeFacts&) const = default;
};

using NodeWatcher = WatchedSource<NodeFacts>;

/// Returns a watcher that is not started, of a Node that may not exist yet. REQUIRES: `ports` must outlive
/// it.
std::unique_ptr<NodeWatcher> make_node_watcher(kube::ClusterPorts ports, std::string_view node_name,
                                               NodeWatcher::OnEvent on_event,
                                               NodeWatcher::OnSyncState on_sync_state = {});

}  // namespace sliced::watchers
