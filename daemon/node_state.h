#pragma once
// Watches the node's SriovNetworkNodeState (kube/objects/kinds.h) while it is used. Its CRD belongs to
// another project and may not be installed. So initial sync and writes do not wait for it (connectivity.h), and its
// state affects only its users. Reentry: on_change runs from the source's callbacks, and may not call want().
// Ownership: ports outlive this object. Its destruction ends the watch.
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

/// Returns the value of --ignore-node-state.
policy::IgnoredStatus ignored_of(const config::Options& options);
/// Returns Boot::uptime of a host: reads proc/uptime, which does not block.
std::function<std::optional<Millis>()> uptime_of(std::shared_ptr<const hotplug::HostView> host);

class NodeStateSource {
 public:
  using Watcher = watchers::WatchedSource<policy::SriovNodeState>;

  /// Location of the object: the operator's namespace, the node's name.
  struct Place {
    std::string namespace_, node;
    policy::IgnoredStatus ignored = {};
  };
  /// This boot of the node, for the age of a status. An empty function: unknown.
  struct Boot {
    /// Time since the kernel started, including suspension (/proc/uptime); nullopt if it cannot be read.
    std::function<std::optional<Millis>()> uptime = {};
    /// Returns whether a process of this boot stored evidence for the object of that UID; stores it.
    std::function<bool(const std::string& uid)> has_evidence = {};
    std::function<void(const std::string& uid)> save_evidence = {};
  };
  /// on_change: the result of over() may have changed; why: for the log.
  NodeStateSource(kube::ClusterPorts ports, Place place, Boot boot,
                  std::function<void(std::string why)> on_change);

  /// Starts the watch, or ends it and forgets the object.
  void want(bool wanted);
  bool is_wanted() const { return watcher_ != nullptr; }
  /// Returns whether the object is unknown and the API server may still answer: within kFirstAnswerMax of the
  /// start. A decision without the answer would withdraw devices that the earlier daemon offered because of
  /// it.
  bool is_awaited() const { return first_answer_ != nullptr; }
  static constexpr Millis kFirstAnswerMax{2'000};
  /// A status counts as written in this boot if its time is later than the boot by this margin, both by the
  /// API server's clock: timestamps are whole seconds, and the clocks of several API servers may differ.
  static constexpr Millis kClockMargin{30'000};
  /// A status that was written longer than this before the boot is of an earlier boot, also if an older
  /// answer of the API server came first.
  static constexpr Millis kClockSkewMax{300'000};
  /// The server is reachable again.
  void retry_now();

  /// Returns the source; nullptr if it is not watched.
  const watchers::Source* source() const { return watcher_.get(); }
  /// The last known object, or why there is none. An outage does not change it.
  const policy::NodeStateReading& reading() const { return reading_; }
  /// Returns where the object and this host differ, for the readiness condition nodeState. host: the
  /// inventory for decisions. Computed again if one of the two has changed; valid until the next call.
  const policy::NodeState& over(const hotplug::InventoryPtr& host);

 private:
  void on_event(const SourceEvent<Watcher::Item>& event);
  void take(const Watcher::Item* item);  // nullptr: there is none
  // Sets why no object is known, from the source's state.
  void note_sync_state();
  void set(policy::NodeStateReading reading, std::string why);
  // Looks for evidence that the operator wrote the object's status since the node booted. Either of:
  //  - the status differs from the first one that this process read, and is not long from before the boot;
  //  - managedFields: the status was written later than the boot;
  //  - an earlier process of this boot had such evidence.
  // Returns why there is none; "" if there is.
  std::string find_boot_evidence(const policy::SriovNodeState& state);
  std::string age_of(const policy::SriovNodeState& state) const;  // "" if it is of this boot
  bool is_long_before_boot(const policy::SriovNodeState& state) const;
  // By the API server's clock; nullopt as long as that or the uptime is unknown.
  std::optional<int64_t> booted_at() const;
  std::string named() const;

  const kube::ClusterPorts ports_;
  const Place place_;
  const Boot boot_;
  const std::function<void(std::string)> on_change_;
  // The status in the first answer; "" without an object; nullopt: no answer yet. Kept when the watch ends.
  std::optional<std::string> first_status_;
  std::optional<std::string> evidence_uid_;   // uid of the object with evidence; nullopt: none
  mutable std::optional<int64_t> booted_at_;  // by the API server's clock, after it is known
  policy::NodeStateReading reading_;
  std::string unreadable_;  // why the object cannot be decoded; "" if it can, or there is none
  bool is_listed_ = false;  // the source has listed
  reactor::Ticket first_answer_;
  // The host of over_; nullptr: to be computed.
  hotplug::InventoryPtr host_;
  policy::NodeState over_;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace sliced::daemon
