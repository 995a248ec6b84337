#pragma once
// The whole daemon over its ports: watchers and hotplug in, decisions in the middle, slices out.
// daemon/process.h makes the real ports; tests and the simulation give it stepped ones.
//
//   ClusterSources + HostSource ──▶ State ──▶ Decider ──▶ make_snapshot ──▶ policy::decide ──▶ make_plan ──▶ apply
//        ▲                                                                                                    │
//        └── own slices come back as one more source ── cluster ◀── Offers, one a driver ◀───────────────────┘
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
#include "daemon/held_host.h"
#include "daemon/inputs.h"
#include "daemon/node_state.h"
#include "daemon/observer.h"
#include "daemon/offer.h"
#include "daemon/plan.h"
#include "daemon/problem_teller.h"
#include "daemon/settling.h"
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

/// Everything nondeterministic: time, threads, log and the host; the cluster; chance. All of it outlives the
/// daemon.
/// host has the scheduler, the executor and the log of everything here.
struct Ports {
  hotplug::HostSource::Ports host;
  kube::Cluster& cluster;
  reactor::Random random;
  SetMissingMac set_missing_mac = {};  // empty: this host can only be read
  NodeStateSource::Boot boot = {};
};

/// Initial sync: nothing is decided before host, node, policies and own slices have each been told once.
/// Threads:    decisions that may take long are made on a worker (decider.h).
/// Writing:    not before permit_writes(true); decisions are made and the plan is kept meanwhile.
/// Unhappy:    a server that is away, denies or lies changes nothing of what is offered; a decision that
///             takes too long keeps the last one; a host that cannot be listed keeps its last inventory. Each
///             is in waiting_for() or in the log.
/// Ownership:  of everything it joins; ports outlive it. Dropping it ends watches, readings and writes that
///             are under way: what is published stays.
class Daemon final : private ClusterEvents {
 public:
  Daemon(Ports ports, config::Options options);

  /// An observer subscribes with a member: `daemon::Subscription subscription_{daemon.observers(), *this};`
  Observers& observers() { return observers_; }

  /// Once. The host is read and all sources are asked at the same time.
  void start();
  /// By who has the interlock (daemon/node_locks.h). Taken back, no write begins any more; one on its way is not
  /// called back.
  /// others: drivers whose slices another program of this node writes; nothing is written for them.
  void permit_writes(bool permitted, std::set<std::string> others = {});
  /// why: what is waited for before this node is configured, in words; "" it is. Until then nothing is added, what was
  /// published in another boot is withdrawn, and devices that are not offered are not handed over. Before start(), and
  /// whenever it is another. By whoever watches the sign; a node state is watched here.
  void await_configuration(std::string why);
  const std::string& awaits_configuration() const { return state_.unconfigured; }
  /// For who only asks what would be written: whatever has to be read for that is read.
  void allow_polling() { charges_.allow_polling(); }
  /// A claim's device is handed over here, or has been taken back: by the kubelet plugin.
  void take(const policy::Prepared& prepared) { charges_.take(prepared); }
  void take(const policy::Unprepared& unprepared) { charges_.take(unprepared); }
  /// Everything that the kubelet plugin holds for claims that are gone. Nothing that needs these devices is offered.
  void withhold(policy::NotReturnedDevices not_returned);
  /// Who has a device is `by`: until it is let go, its facts of before are decided over.
  void hold(const std::string& by, const hotplug::HostDevice& facts) {
    state_.readiness.hold(facts.id.text);
    if (held_.hold(by, facts)) decide_before_writing("it is known what pods have");
  }
  /// Its facts stay those of before until the host says the same again, at most HeldHost::kReturnMax.
  void let_go(const std::string& by) {
    held_.let_go(by);
    set_missing_macs();
  }
  /// What is known of the node's SriovNetworkNodeState, where somebody asks for it.
  const NodeStateSource& node_state() const { return node_states_; }
  /// What may be allocated.
  const policy::Ledger& ledger() const { return charges_.ledger(); }
  /// SIGHUP: what may change while running takes effect, and the host is read again.
  /// options: the whole set as config::reload() has it; what needs a restart is as it was. Refused entries
  /// are not tried again by it.
  void reload(const config::Options& options);

  /// The last decision, without its pools (the publishers' desired() has them); nullptr before the initial
  /// sync is complete.
  /// Valid until the next one is concluded, which happens on a turn of the loop only.
  const policy::Decision* decision() const { return state_.decision.get(); }
  /// The same, for whoever reads it on a worker or for longer: it never changes.
  std::shared_ptr<const policy::Decision> shared_decision() const { return state_.decision; }
  /// The host as it is decided over, and as it is.
  const hotplug::InventoryPtr& inventory() const { return held_.inventory(); }
  const hotplug::InventoryPtr& host_inventory() const { return host_.inventory(); }
  /// Of SriovResourcePolicies and of DeviceExposurePolicies: a driver each.
  const Offers& offers() const { return offers_; }
  /// driver: one of theirs.
  const Offer& offer_of(std::string_view driver) const;
  /// Nothing is to be decided or written.
  /// For tests, `plan` and the simulation: a directory of one's own shows then what will stay.
  bool converged() const;
  /// No write is on its way.
  bool idle() const;
  /// Which sources have not synced yet, and why: "policies: denied: list sriovresourcepolicies: ..."; and
  /// whether the first decision takes too long. Empty when decided.
  std::vector<std::string> waiting_for() const;
  /// What is watched of the cluster, and how it stands.
  void for_each_source(
      const std::function<void(const std::string& name, const watchers::Source&)>& say) const {
    sources_.for_each(say);
  }
  /// SchemaCheck::dropped().
  std::string dropped_fields() const { return sources_.dropped_fields(); }
  TimePoint now() const { return scheduler_.now(); }
  /// Of the own Node, as owner of what is written for it; "" it is not known, or nobody can be (OwnNode).
  std::string owner_uid() const { return state_.node.owner_uid(); }
  const Decider::Counters& decisions() const { return decider_.counters(); }
  const hotplug::HostSource::Counters& host_counters() const { return host_.counters(); }
  /// Nothing keeps from writing: it is permitted, and the cluster is not away.
  bool may_write() const { return is_permitted_ && sources_.may_write(); }
  bool is_permitted() const { return is_permitted_; }
  /// Of what is waited for that which one look is enough to know: kinds that the API server does not have, what it does not
  /// allow, a Node object that is not there, a directory that cannot be read. A daemon waits for that to
  /// change; a command does not.
  std::vector<std::string> missing() const;
  /// The problems of every policy as they stand: "policy ns/name: spec.configs[0]....: ...", and of those
  /// that are not kept how many there are.
  void for_each_policy_problem(const std::function<void(const std::string&)>& say) const {
    for_each_problem(state_.policies, decision(), say);
  }

 private:
  // The publisher's answers become marks: refused devices, lost abilities, what is settled, slices that were
  // not known.
  Offer make_offer(Driver which, kube::Ports ports);
  // nullptr where --configure does not ask for it.
  std::unique_ptr<AdminMacs> make_admin_macs(SetMissingMac set);
  ClusterSources::Scope scope() const;

  // The host as it is, and as it is decided over (HeldHost). Changed devices settle first, once something has been published.
  void on_host(const hotplug::InventoryUpdate& update);
  void on_inventory(const hotplug::InventoryUpdate& update);
  bool is_decided_already(const hotplug::InventoryUpdate& update);
  // A deleted Node takes its slices with it: nothing is desired until it is there again.
  void on_node(const OwnNode::Event& event) override;
  void on_policies(const PolicyEvent<policy::SriovPolicy>& event) override;
  void on_policies(const PolicyEvent<policy::DeviceAttributes>& event) override;
  void on_policies(const PolicyEvent<policy::ExposurePolicy>& event) override;
  bool keeps_missing(const kube::Resource& kind, const std::vector<PolicyBook::Id>& missing) override;
  // To the publisher first; entries that it then observes are reserved.
  void on_slices(size_t driver, const Offer::Event& event) override;
  const kube::ResourceSlice* find_slice(size_t driver, const watchers::ObjectHead& head) const override;
  void on_sync_state() override;
  void on_reach(const Reach::Change& change) override;
  // A slice with entries nobody knew: what may be allocated of them is charged before it is overwritten.
  void meet(const kube::ResourceSlice& slice);
  // Nothing is written before the next decision.
  void decide_before_writing(std::string why);
  // Of what excludes and the Node say: nothing that was decided without it is written, for as long as it does not go
  // on and on.
  void hold_writes(std::string why);
  bool is_behind() const;
  // The state has changed: decide.
  void mark(std::string why);

  // Whom the first decision waits for: the host, then each source, then the Node.
  std::vector<std::string> sources_awaited() const;
  // nullptr while something is awaited; whoever it is marks when it comes.
  Decider::InputsPtr prepare();
  // True too where nobody uses any: nothing is asked of the server then.
  bool are_abilities_known(const policy::PolicySet& policies);
  // Once a process.
  bool recover_sticky();
  // Where the record of what may be allocated is not whole.
  void begin_charges();
  // Readiness: since when conditions hold; what is waited for.
  bool looks_once() const;
  void begin_tracks();
  void look_at_readiness();
  // The sign node-state, until it is seen once.
  bool is_node_state_awaited() const {
    return awaits_node_state_ && options_.until_configured.how == config::ConfiguredBy::How::kNodeState;
  }
  void look_at_sign();
  // Whatever of it is asked for is set: after each decision, and where the host differs.
  void set_missing_macs();
  // Followed as long as the readiness of a policy, or the daemon's own, or --configure asks for it.
  void want_node_state(const policy::PolicySet& policies);

  // make_plan() and apply(). Returns whether the offer changed.
  bool conclude(policy::Decision decision, const std::string& why);
  // True: PFs are asked first, and whoever answers marks.
  bool asks_before_first(const policy::Decision& first);
  // PFs that do not match the SriovNetworkNodeState that is awaited.
  std::set<hotplug::PciAddress> out_of_sync();
  // Executes the plan, and stores its decision.
  void apply(Plan plan);
  void report(Driver which, const Plan& plan) const;
  void publish(Plan& plan);

  void apply_permission();
  // Every --sync-interval: the host is read whole, and what the server refused is tried again.
  void arm_sync();
  Known known() const { return {decision()}; }
  bool has_api_server() const { return config::has_api_server(options_.cluster); }

  reactor::Scheduler& scheduler_;
  reactor::Executor& executor_;
  Log& log_;
  config::Options options_;
  Observers observers_;

  State state_;
  ProblemTeller problems_;
  std::string awaits_claims_for_;  // why it was decided what waits for the ResourceClaims; "" nothing does
  bool awaits_node_state_ = true;
  bool is_permitted_ = false;              // the interlock is ours
  std::set<std::string> others_;           // drivers that are another program's
  uint64_t snapshot_version_ = 0;          // State::version of the newest snapshot
  std::optional<TimePoint> behind_since_;  // the first that is not in what is published
  bool recovered_ = false;                 // sticky facts were looked for in our own slices
  reactor::Ticket sync_ticket_;

  Decider decider_;
  publishers::ServerFeatures abilities_;
  publishers::Reservations charges_;
  Offers offers_;  // by Driver
  Settling settling_;
  std::vector<Shared<policy::ExposurePolicy>> selecting_by_mac_;  // of the last plan
  std::optional<TimePoint> first_asked_at_;                       // PFs, before the first decision
  reactor::Ticket ready_ticket_;
  // Between host_ and whoever decides; host_ goes first.
  HeldHost held_;
  hotplug::HostSource host_;
  ClusterSources sources_;
  // Beside them: none that anybody waits for.
  NodeStateSource node_states_;
  std::unique_ptr<AdminMacs> admin_macs_;  // nullptr: nothing of the host is changed
};

}  // namespace sliced::daemon
