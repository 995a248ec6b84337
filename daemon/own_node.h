#pragma once
// The Node that the daemon runs on, as last told. With an API server a node is what its Node object says; in a
// directory that has none, the flags stand in for it.
//
// Reentry: nothing here calls back.
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

  /// log outlives this.
  OwnNode(Log& log, const config::Options& options);

  /// Takes in what the source says; true when the node is another one now. A Node that cannot be understood
  /// says nothing: the last word stands.
  /// Made again under another uid it is another one, whatever its labels say.
  bool apply(const Event& event);

  bool is_there() const { return facts_ || !is_required_; }
  /// Only where it is there.
  /// Valid until the next apply().
  const kube::NodeView& view() const;
  /// Who owns the slices; "" where nobody can. A directory's Nodes have made-up uids, and an owner that does
  /// not exist would have the slices collected once somebody applies them to a cluster.
  std::string owner_uid() const { return facts_ && is_required_ ? facts_->uid : ""; }
  /// What is said of one that is not there: "node a: there is no such Node object"
  std::string missing() const;

 private:
  Log& log_;
  const std::string name_;
  const kube::Labels labels_;  // by the flags
  const bool is_required_;     // no flags stand in
  std::optional<watchers::NodeFacts> facts_;
  mutable std::optional<kube::NodeView> view_;  // nullopt: to be made anew; labels may be many
};

}  // namespace sliced::daemon
