#pragma once
// The daemon's own Node, as last reported. With an API server, the Node object is the source; in a directory
// cluster without one, the options are. Reentry: calls nothing back.
#include <optional>
#include <string>

#include "config/options.h"
#include "kube/objects/selector.h"
#include "reactor/base/log.h"
#include "reactor/base/source_event.h"
#include "watchers/node_watcher.h"

namespace sliced::daemon {

class OwnNode {
 public:
  using Item = watchers::NodeWatcher::Item;
  using Event = SourceEvent<Item>;

  /// log outlives this object.
  OwnNode(Log& log, const config::Options& options);

  /// Applies an event; returns whether the node has changed. A Node that cannot be decoded is ignored, so the
  /// last one stays valid. A Node with another uid is another node, even with equal labels.
  bool apply(const Event& event);

  bool is_there() const { return facts_ || !is_required_; }
  /// Requires: is_there(). Valid until the next apply().
  const kube::NodeView& view() const;
  /// Returns the owner of the slices; "" if there cannot be one. The Nodes of a directory have made-up uids.
  /// If its slices were applied to a cluster, their missing owner would cause their garbage collection.
  std::string owner_uid() const { return facts_ && is_required_ ? facts_->uid : ""; }
  /// Returns the text for a missing Node: "node a: there is no such Node object"
  std::string missing() const;

 private:
  Log& log_;
  const std::string name_;
  const kube::Labels labels_;  // from the options
  const bool is_required_;     // the Node object must exist
  std::optional<watchers::NodeFacts> facts_;
  mutable std::optional<kube::NodeView> view_;  // nullopt: to be computed; labels may be many
};

}  // namespace sliced::daemon
