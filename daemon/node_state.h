#pragma once
// The node's own SriovNetworkNodeState (kube/kinds.h), watched as long as somebody asks for it. Its kind is another
// project's and may not be installed: it is none of the sources that initial sync and writing wait for (reach.h), and
// whatever becomes of it changes nothing but what is asked of it.
//
// Reentry:   on_change runs from the source's callbacks, and may not call want().
// Ownership: ports outlive this. Dropping it ends the watch.
#include <functional>
#include <memory>
#include <string>

#include "hotplug/facts.h"
#include "kube/ports.h"
#include "policy/node_state/in_sync.h"
#include "reactor/scheduler.h"
#include "watchers/watched_source.h"

namespace sliced::daemon {

class NodeStateSource {
 public:
  using Watcher = watchers::WatchedSource<policy::SriovNodeState>;

  /// Where the object is: the operator's namespace, the node's name.
  struct Place {
    std::string namespace_, node;
  };
  /// on_change: what over() says may be another thing now; why for the log.
  NodeStateSource(kube::Ports ports, Place place, std::function<void(std::string why)> on_change);

  /// Whether anybody asks. Begins the watch, or ends it and forgets what it knew.
  void want(bool wanted);
  bool is_wanted() const { return watcher_ != nullptr; }
  /// Nothing is known of it yet, and the API server has still time to say: kFirstAnswerMax since it was asked. A
  /// decision without the answer would let go what the daemon before has offered by it.
  bool is_awaited() const { return first_answer_ != nullptr; }
  static constexpr Millis kFirstAnswerMax{2'000};
  /// The server is back.
  void retry_now();

  /// The object as the cluster last told it, or why there is none. An outage changes nothing of what is known.
  const policy::NodeStateWord& word() const { return word_; }
  /// What readiness is to know, over the host as it is decided over. Made anew where one of the two is another one;
  /// valid until the next call.
  const policy::NodeState& over(const hotplug::InventoryPtr& host);

 private:
  void on_event(const SourceEvent<Watcher::Item>& event);
  void take(const Watcher::Item* item);  // nullptr: there is none
  // Why no object is known, of how the source stands.
  void note_standing();
  void set(policy::NodeStateWord word, std::string why);
  std::string named() const;

  const kube::Ports ports_;
  const Place place_;
  const std::function<void(std::string)> on_change_;
  policy::NodeStateWord word_;
  std::string unreadable_;  // why the object cannot be read; "" it can, or there is none
  bool is_listed_ = false;  // the source has told what there is
  reactor::Ticket first_answer_;
  // Of which host over_ is; nullptr: to be made anew.
  hotplug::InventoryPtr host_;
  policy::NodeState over_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace sliced::daemon
