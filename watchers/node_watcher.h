#pragma once
// The node the daemon runs on: its labels decide which policies apply, its UID owns the slices.
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "watchers/watched_source.h"

namespace sliced::watchers {

/// What is read of the Node, of which only metadata is asked (PartialObjectMetadata). A node that was deleted
/// and made again has another uid, and may come as Removed and Changed, as Changed alone, or in a Relisted.
/// A Node that cannot be decoded is Watched with an Error: the facts of before stay the listener's.
struct NodeFacts {
  std::string name, uid;
  std::map<std::string, std::string> labels;
  bool operator==(const NodeFacts&) const = default;
};

using NodeWatcher = WatchedSource<NodeFacts>;

/// Watches one Node by its name, which may not exist yet; does not start. ports outlive the watcher.
/// Reentry: the callbacks as those of WatchedSource.
std::unique_ptr<NodeWatcher> make_node_watcher(kube::Ports ports, std::string_view node_name,
                                               NodeWatcher::OnEvent on_event,
                                               NodeWatcher::OnStanding on_standing = {});

}  // namespace sliced::watchers
