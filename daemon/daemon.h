#pragma once
// The daemon over its ports: watchers and hotplug are the input, decisions are made, slices are the output.
// daemon/process.h opens the real ports; tests and the simulation have stepped ones.
//
//   ClusterSources + HostSource ──▶ State ──▶ Decider ──▶ make_snapshot ──▶ policy::decide ──▶ make_plan ──▶ apply
//        ▲                                                                                                    │
//        └── own slices come back as one more source ── cluster ◀── PoolPublishers, one per driver ◀──────────┘
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"
#include "daemon/admin_macs.h"
#include "daemon/cluster_sources.h"
#include "daemon/decider.h"
#include "daemon/inputs.h"
#include "daemon/node_state.h"
#include "daemon/observer.h"
#include "daemon/pinned_host.h"
#include "daemon/plan.h"
#include "daemon/pool_publisher.h"
#include "daemon/problem_reporter.h"
#include "daemon/quiet_windows.h"
#include "daemon/state.h"
#include "hotplug/host_source.h"
#include "kube/objects/cluster.h"
#include "policy/decision.h"
#include "policy/readiness/track.h"
#include "publishers/reservations.h"
#include "publishers/server_features.h"
#include "reactor/base/log.h"
#include "reactor/scheduler.h"

namespace sliced::daemon {

/// All nondeterministic inputs: time, threads, log, host, cluster, random numbers. They outlive the daemon.
/// `host` contains the scheduler, the executor and the log for all parts.
struct DaemonPorts {
  hotplug::HostSourcePorts host;
  kube::Cluster& cluster;
  reactor::Random random;
  SetMissingMac set_missing_mac = {};  // empty: the host is read-only
  NodeStateSource::Boot boot = {};
};

/// Initial sync: no decision is made before host, node, policies and own slices are each known.
/// Threads: decisions that may take long run on a worker (decider.h).
/// Writing: starts after permit_writes(true); before that, decisions are made and the plan is kept.
/// Failures: an unreachable server, a denied request or a wrong answer does not change the offer; a decision
/// that takes too long keeps the last one; a host that cannot be listed keeps its last inventory. Each is in
/// waiting_for() or in the log.
/// Ownership: owns all parts; the ports outlive it. Its destruction ends watches, readings and writes in
/// progress; published slices stay.
class Daemon final : private ClusterEvents, private DecisionOwner, private PoolEvents {
 public:
  Daemon(DaemonPorts ports, config::Options options);

  /// An observer subscribes with a member: `Subscription subscription_{daemon.observers(), *this};`
  Observers& observers() { return observers_; }

  /// Starts reading the host and all sources. Called once.
  void start();
  /// Called by the owner of the interlock (daemon/node_locks.h). After permit_writes(false) no write starts;
  /// the answer to one in progress is ignored. others: drivers whose slices another program of this node
  /// writes; this daemon writes none for them.
  void permit_writes(bool permitted, std::set<std::string> others = {});
  /// Sets the missing part of the node's configuration; "": the node is configured. Until then nothing is
  /// added, entries that were published in another boot are withdrawn, and devices that are not offered are
  /// not prepared. Called before start() and at each change by the code that watches the signal; the daemon
  /// itself watches a node state.
  void await_configuration(std::string why);
  const std::string& awaits_configuration() const { return state_.unconfigured; }
  /// Allows reads of pods that a decision requires; for commands that only show the changes.
  void allow_polling() { reservations_.allow_polling(); }
  /// The kubelet plugin prepared or unprepared a device of a claim.
  void take(const policy::Prepared& prepared) { reservations_.take(prepared); }
  void take(const policy::Unprepared& unprepared) { reservations_.take(unprepared); }
  /// Sets the devices that the kubelet plugin holds for deleted claims. Entries that require them are not
  /// offered.
  void withhold(policy::NotReturnedDevices not_returned);
  /// Pins the facts of a device from before `by` got it, until let_go(). Decisions use the pinned facts. by:
  /// identifies the prepared claim (driver and uid).
  void hold(const std::string& by, const hotplug::HostDevice& facts) {
    state_.readiness.hold(facts.id.text);
    if (pinned_host_.hold(by, facts)) decide_before_writing("the devices of running pods are known");
  }
  /// The facts stay pinned until the host reports the same again, at most PinnedHost::kReturnMax.
  void let_go(const std::string& by) {
    pinned_host_.let_go(by);
    set_missing_macs();
  }
  /// The state of the node's SriovNetworkNodeState, if it is watched.
  const NodeStateSource& node_state() const { return node_states_; }
  /// The reserved entries.
  const policy::Ledger& ledger() const { return reservations_.ledger(); }
  /// SIGHUP: applies the options that can change at runtime, and reads the host again. options: the complete
  /// set from config::reload(); options that require a restart are unchanged. Refused entries are not retried
  /// by it.
  void reload(const config::Options& options);

  /// Returns the last decision, without its pools (see the publishers' desired()); nullptr before the initial
  /// sync is complete. Valid until the next one is concluded, which happens on a turn of the loop only.
  const policy::Decision* decision() const { return state_.decision.get(); }
  /// The same for workers or longer use: it is immutable.
  std::shared_ptr<const policy::Decision> shared_decision() const { return state_.decision; }
  /// The host with pinned facts, and the current host.
  const hotplug::InventoryPtr& inventory() const { return pinned_host_.inventory(); }
  const hotplug::InventoryPtr& host_inventory() const { return host_.inventory(); }
  /// One for SriovResourcePolicies and one for DeviceExposurePolicies, each with its driver.
  const PoolPublishers& offers() const { return publishers_; }
  /// Requires: driver is that of one of the offers.
  const PoolPublisher& offer_of(std::string_view driver) const;
  /// Returns whether nothing remains to be decided or written. For tests, `plan` and the simulation: a
  /// directory cluster then shows the final state.
  bool converged() const;
  /// Returns whether no write is in progress.
  bool idle() const;
  /// Returns what the first decision waits for: each source that has not synced yet, with the reason
  /// ("policies: denied: list sriovresourcepolicies: ..."); a missing Node; a decision that takes too long.
  /// After the first decision it is empty, except while the Node does not exist.
  std::vector<std::string> waiting_for() const;
  /// Calls say for each source of the cluster.
  void for_each_source(
      const std::function<void(const std::string& name, const watchers::Source&)>& say) const {
    sources_.for_each(say);
  }
  /// See SchemaCheck::dropped().
  std::string dropped_fields() const { return sources_.dropped_fields(); }
  TimePoint now() const { return scheduler_.now(); }
  /// Returns the uid of the own Node, the owner of written objects; "" if it is unknown, or cannot be an
  /// owner (OwnNode).
  std::string owner_uid() const { return state_.node.owner_uid(); }
  const Decider::Counters& decisions() const { return decider_.counters(); }
  const hotplug::HostSource::Counters& host_counters() const { return host_.counters(); }
  /// Returns whether writes are permitted and the cluster is reachable.
  bool may_write() const { return is_permitted_ && sources_.may_write(); }
  bool is_permitted() const { return is_permitted_; }
  /// Returns the reasons of waiting_for() that do not change by waiting: kinds that the API server does not
  /// have, denied requests, a missing Node object, a directory that cannot be read. A daemon waits for a
  /// change; a command fails.
  std::vector<std::string> missing() const;
  /// Calls say for each current problem of a policy, "policy ns/name: spec.configs[0]....: ...", and for the
  /// number of policies that are not kept.
  void for_each_policy_problem(const std::function<void(const std::string&)>& say) const {
    for_each_problem(state_.policies, decision(), say);
  }

 private:
  // Returns nullptr without --configure.
  std::unique_ptr<AdminMacs> make_admin_macs(SetMissingMac set);
  ClusterSources::Scope scope() const;

  // on_host() gets the current host from HostSource, on_inventory() the host with pinned facts from PinnedHost.
  // After the first publication, changed devices settle first.
  void on_host(const hotplug::InventoryUpdate& update);
  void on_inventory(const hotplug::InventoryUpdate& update);
  // Returns whether the update only confirms a removal that the last decision already contains.
  bool is_decided_already(const hotplug::InventoryUpdate& update);
  // A deleted Node's slices are deleted too: nothing is desired until it exists again.
  void on_node(const OwnNode::Event& event) override;
  void on_policies(const PolicyEvent<policy::SriovPolicy>& event) override;
  void on_policies(const PolicyEvent<policy::DeviceAttributes>& event) override;
  void on_policies(const PolicyEvent<policy::ExposurePolicy>& event) override;
  bool keeps_missing(const kube::Resource& kind, const std::vector<PolicyBook::Id>& missing) override;
  // Passes the event to the publisher, then reserves the entries of the observed slices.
  void on_slices(size_t driver, const PoolPublisher::Event& event) override;
  const kube::ResourceSlice* find_slice(size_t driver, const watchers::ObjectHead& head) const override;
  void on_sync_state() override;
  void on_connectivity_change(const Connectivity::Change& change) override;
  void on_refused() override;
  void on_lost(const std::set<publishers::ServerFeature>& lost) override;
  void on_settled(const std::string& driver, const std::set<std::string>& unsettled) override;
  void on_adopted(const kube::ResourceSlice& slice) override;
  // Reserves the entries of a slice that no decision of this process knows, before the slice is overwritten.
  void adopt(const kube::ResourceSlice& slice);
  // Blocks writes until the next decision.
  void decide_before_writing(std::string why);
  // An exclude or the Node has changed: blocks writes until a decision includes the change, for at most 2 s
  // after the first change of a stream of them.
  void hold_writes(std::string why);
  // Returns whether the newest snapshot lacks such a change, and the time has not passed.
  bool is_behind() const;
  // The state has changed: a decision is due.
  void mark(std::string why);

  // Returns the sources that the first decision waits for: the host, then each source, then the Node.
  std::vector<std::string> sources_awaited() const;
  // Returns nullptr while a source is missing, whose arrival marks again.
  Decider::InputsPtr prepare() override;
  bool awaits_sources() const override { return !sources_awaited().empty(); }
  // Also true if no policy uses a feature; the server is not queried then.
  bool are_server_features_known(const policy::PolicySet& policies);
  // Restores facts of netdevs that left the host's namespace before the start, from own slices. Runs once per
  // process. Returns true if the host is read again for them; its end marks.
  bool recover_sticky();
  // Starts reading claims if the record of reserved entries is incomplete.
  void begin_reservations();
  // Returns whether this is a one-shot command (plan, explain): it reads the host once, and does not wait for
  // conditions of readiness.
  bool is_one_shot() const;
  // Starts the record of the times since which conditions of readiness hold; updates it.
  void begin_readiness_tracking();
  void update_readiness();
  // Returns whether the daemon waits for the node state, until it has matched once.
  bool is_node_state_awaited() const {
    return awaits_node_state_ && options_.until_configured.how == config::ConfiguredBy::How::kNodeState;
  }
  // Updates State::unconfigured from the node state (--until-configured).
  void update_unconfigured();
  // Sets missing addresses; called after each decision and after changes of the host.
  void set_missing_macs();
  // Watches the node state while the readiness of a policy, the daemon's own or --configure uses it.
  void update_node_state_watch(const policy::PolicySet& policies);

  // Runs make_plan() and apply(). Returns whether the offer changed.
  bool conclude(policy::Decision decision, const std::string& why) override;
  // Returns true if PFs are queried first; their answers mark again.
  bool must_query_first(const policy::Decision& first);
  // Returns the PFs that do not match the awaited SriovNetworkNodeState.
  std::set<hotplug::PciAddress> out_of_sync();
  // Executes the plan, and stores its decision.
  void apply(Plan plan);
  // Logs the difference of the offer, and reports it to the observers.
  void report(Driver which, const Plan& plan) const;
  // Passes the desired pools to the publishers.
  void publish(Plan& plan);
  void hold_first_slices();

  // Passes may_write() to the publishers and to the reads of claims.
  void apply_permission();
  // At each --sync-interval the whole host is read, and refused entries are retried.
  void arm_sync();
  PolicyEventContext known() const { return {decision()}; }
  bool has_api_server() const { return config::has_api_server(options_.cluster); }

  reactor::Scheduler& scheduler_;
  reactor::Executor& executor_;
  Log& log_;
  config::Options options_;
  Observers observers_;

  State state_;
  ProblemReporter problems_;
  std::string awaits_claims_for_;  // reason of the decision that waits for the ResourceClaims; "" if none
                                   // does
  bool awaits_node_state_ = true;
  bool is_permitted_ = false;              // this process holds the interlock
  std::set<std::string> others_;           // drivers that another program serves
  uint64_t snapshot_version_ = 0;          // State::version of the newest snapshot
  std::optional<TimePoint> behind_since_;  // time of the first change that is not published yet
  bool recovered_ = false;                 // own slices were searched for sticky facts
  reactor::Ticket sync_ticket_;

  Decider decider_;
  publishers::ServerFeatures server_features_;
  publishers::Reservations reservations_;
  PoolPublishers publishers_;  // by Driver
  QuietWindows quiet_windows_;
  std::vector<Shared<policy::ExposurePolicy>> selecting_by_mac_;  // of the last plan
  // when PFs were queried before the first decision
  std::optional<TimePoint> first_queried_at_;
  reactor::Ticket ready_ticket_;
  // Between host_ and the decision; host_ is destroyed first.
  PinnedHost pinned_host_;
  hotplug::HostSource host_;
  ClusterSources sources_;
  // A source that neither the initial sync nor writes wait for.
  NodeStateSource node_states_;
  std::unique_ptr<AdminMacs> admin_macs_;  // nullptr: the host is not changed
};

}  // namespace sliced::daemon
