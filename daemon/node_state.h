#pragma once
// The node's own SriovNetworkNodeState (kube/objects/kinds.h), watched as long as somebody asks for it. Its kind is another
// project's and may not be installed: it is none of the sources that initial sync and writing wait for (reach.h), and
// whatever becomes of it changes nothing but what is asked of it.
//
// Reentry:   on_change runs from the source's callbacks, and may not call want().
// Ownership: ports outlive this. Dropping it ends the watch.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/options.h"
#include "hotplug/facts.h"
#include "hotplug/host_view.h"
#include "kube/client/ports.h"
#include "policy/node_state/in_sync.h"
#include "reactor/scheduler.h"
#include "watchers/watched_source.h"

namespace sliced::daemon {

/// Of --ignore-node-state.
policy::IgnoredStatus ignored_of(const config::Options& options);
/// Boot::uptime of a host: of proc/uptime, which does not block.
std::function<std::optional<Millis>()> uptime_of(std::shared_ptr<const hotplug::HostView> host);

class NodeStateSource {
 public:
  using Watcher = watchers::WatchedSource<policy::SriovNodeState>;

  /// Where the object is: the operator's namespace, the node's name.
  struct Place {
    std::string namespace_, node;
    policy::IgnoredStatus ignored = {};
  };
  /// This boot of the node, for the age of a status. Each may be empty: then it is not known.
  struct Boot {
    /// Since the kernel started, time of suspension included (/proc/uptime); nullopt: it cannot be read.
    std::function<std::optional<Millis>()> uptime = {};
    /// A process of this boot had evidence for the object of that UID, and noted it; note it now.
    std::function<bool(const std::string& uid)> has_evidence = {};
    std::function<void(const std::string& uid)> save_evidence = {};
  };
  /// on_change: what over() says may be another thing now; why for the log.
  NodeStateSource(kube::Ports ports, Place place, Boot boot, std::function<void(std::string why)> on_change);

  /// Whether anybody asks. Begins the watch, or ends it and forgets what it knew.
  void want(bool wanted);
  bool is_wanted() const { return watcher_ != nullptr; }
  /// Nothing is known of it yet, and the API server has still time to say: kFirstAnswerMax since it was asked. A
  /// decision without the answer would let go what the daemon before has offered by it.
  bool is_awaited() const { return first_answer_ != nullptr; }
  static constexpr Millis kFirstAnswerMax{2'000};
  /// A status counts as written in this boot when its time is so much later than the boot, both by the API server's clock:
  /// timestamps are whole seconds, and the clocks of several API servers may differ.
  static constexpr Millis kClockMargin{30'000};
  /// The server is back.
  void retry_now();

  /// How the source stands; nullptr: nobody asks.
  const watchers::Source* source() const { return watcher_.get(); }
  /// The object as the cluster last told it, or why there is none. An outage changes nothing of what is known.
  const policy::NodeStateWord& word() const { return word_; }
  /// What readiness is to know, over the host as it is decided over. Made anew where one of the two is another one;
  /// valid until the next call.
  const policy::NodeState& over(const hotplug::InventoryPtr& host);

 private:
  void on_event(const SourceEvent<Watcher::Item>& event);
  void take(const Watcher::Item* item);  // nullptr: there is none
  // Why no object is known, of how the source stands.
  void note_sync_state();
  void set(policy::NodeStateWord word, std::string why);
  // Evidence that the operator wrote the status of the object since the node booted. One of:
  // - another status than the first one that this process saw, since it is of this boot itself;
  // - managedFields: the status was written later than the boot;
  // - a process before it in this boot had such evidence.
  // Returns why there is none, "" there is.
  std::string look_for_evidence(const policy::SriovNodeState& state);
  std::string age_of(const policy::SriovNodeState& state) const;  // "" it is of this boot
  std::string named() const;

  const kube::Ports ports_;
  const Place place_;
  const Boot boot_;
  const std::function<void(std::string)> on_change_;
  // What the first answer had of the status, "" no object; nullopt: none has come. Kept whoever asks.
  std::optional<std::string> first_status_;
  std::optional<std::string> evident_uid_;    // of the object for which there is evidence; nullopt: none
  mutable std::optional<int64_t> booted_at_;  // by the API server's clock, once it is known
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
