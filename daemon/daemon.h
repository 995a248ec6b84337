#pragma once
// The whole daemon over its ports: watchers and hotplug in, decisions in the middle, slices out.
// cli/process.h makes the real ports; tests and the simulation give it stepped ones.
//
//   watchers/ + hotplug/ -> inventory, policies, node -> policy::decide -> Publisher -> cluster
//        ^                                                                                          |
//        +--------------------- own slices come back as one more source ----------------------------+
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/options.h"
#include "hotplug/host_source.h"
#include "kube/cluster.h"
#include "policy/decision.h"
#include "publishers/abilities.h"
#include "publishers/charges.h"
#include "publishers/publisher.h"
#include "publishers/recall.h"
#include "publishers/settle.h"
#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/said_once.h"
#include "reactor/base/shared.h"
#include "reactor/executor.h"
#include "reactor/scheduler.h"
#include "watchers/node_watcher.h"
#include "watchers/outage.h"
#include "watchers/policy_watcher.h"
#include "watchers/rooms.h"
#include "watchers/slice_watcher.h"

namespace sliced {

/// Everything nondeterministic: time, threads, log and the host; the cluster; chance. All of it outlives the
/// daemon.
struct DaemonPorts {
  hotplug::HostSource::Ports host;
  kube::Cluster& cluster;
  reactor::Random random;
};

/// First word: nothing is decided before host, node, policies and own slices have each been told once.
/// Threads:    a decision that may take long is made on a worker, from immutable inputs; what overtakes it
///             has it made anew. One that takes too long is given up: the last one stands, nothing is added
///             or withdrawn, and it is tried again, never on the loop.
/// Writing:    not before permit_writes(true); decisions are made and the plan is kept meanwhile.
/// Reentry:    on_decided may not destroy the daemon.
class Daemon {
 public:
  /// After each decision.
  using OnDecided = std::function<void(const policy::Decision&)>;

  Daemon(DaemonPorts ports, config::Options options, OnDecided on_decided = {});
  ~Daemon();

  void start();
  void permit_writes(bool permitted);
  /// For who only asks what would be written: whatever has to be read for that is read.
  void permit_looks() { charges_.permit_looks(); }
  /// SIGHUP: what may change while running takes effect, and the host is read again.
  void reload(const config::Options& options);

  /// The last decision, without its pools (the publishers' desired() has them); nullptr before the first word
  /// is complete.
  const policy::Decision* decision() const { return decision_ ? &*decision_ : nullptr; }
  const hotplug::InventoryPtr& inventory() const { return host_.inventory(); }
  /// Of SriovResourcePolicies and of DeviceExposurePolicies: a driver each.
  const publishers::Publisher& publisher() const { return publisher_; }
  const publishers::Publisher& exposure_publisher() const { return exposure_publisher_; }
  bool converged() const {
    return decision_ && !decision_->awaits_pods && !decide_ticket_ && !is_deciding_ &&
           publisher_.converged() && exposure_publisher_.converged();
  }
  /// No write is on its way.
  bool idle() const { return publisher_.idle() && exposure_publisher_.idle(); }
  /// Who has not given its first word, and why: "policies: denied: list sriovresourcepolicies: ..."; and
  /// whether the first decision takes too long. Empty when decided.
  std::vector<std::string> waiting_for() const;
  /// Of that what one look is enough to know: kinds that the API server does not have, what it does not
  /// allow, a Node object that is not there, a directory that cannot be read. A daemon waits for that to
  /// change; a command does not.
  std::vector<std::string> missing() const;
  /// The problems of every policy as they stand: "policy ns/name: spec.configs[0]....: ...", and of those
  /// that are not kept how many there are.
  void for_each_policy_problem(const std::function<void(const std::string&)>& say) const;

 private:
  watchers::Ports watcher_ports();
  void start_watchers();
  template <class Policy>
  watchers::PolicyWatcher::KeepMissing keeper_of(const watchers::LeftOut& left_out) const;
  void on_inventory(const hotplug::InventoryUpdate& update);
  void on_node(const SourceEvent<watchers::NodeWatcher::Item>& event);
  void on_policies(const SourceEvent<watchers::PolicyWatcher::Item>& event);
  void on_attributes(const SourceEvent<watchers::PolicyWatcher::Item>& event);
  void on_exposures(const SourceEvent<watchers::PolicyWatcher::Item>& event);
  void on_slices(publishers::Publisher& publisher, const SourceEvent<watchers::SliceWatcher::Item>& event);
  bool is_understood(const policy::ExposurePolicy& policy) const;
  void make_policy_set();
  std::shared_ptr<policy::Inputs> decision_inputs() const;
  void on_refused(const std::string& driver, std::vector<publishers::RefusedEntry> entries);
  publishers::Publisher::Handlers handlers_of(const std::string& driver);
  publishers::OwnSlices own_slices() const;
  void learn_charges(const publishers::Publisher& publisher);
  void meet(const kube::ResourceSlice& slice);
  void decide_before_writing(std::string why);
  bool may_have_exposed() const;
  policy::DesiredPoolsPtr pools_before() const;
  void on_standing();
  void note_standings();
  void park_all_but_one(bool away);
  void catch_up(int steps_left, int told_steps_left);
  void end_outage();
  void apply_permission();
  template <class Visit>
  void for_each_source(Visit visit);
  template <class Visit>
  void for_each_named_source(Visit visit) const;
  std::string missing_node() const;
  void check_served_schema(const kube::Resource& kind);
  void tell_dropped(const kube::Resource& kind, std::string_view schema,
                    const std::vector<std::string>& fields);
  bool recover_sticky();

  void mark(std::string why);
  void arm_decision();
  void decide();
  void decide_elsewhere(std::shared_ptr<const policy::Inputs> inputs, const std::string& why);
  struct Attempt;
  void end_decision(Attempt& attempt, bool finished);
  void give_up(Attempt& attempt);
  void try_again_later(std::string what);
  bool is_overtaken();
  std::vector<std::string> sources_awaited() const;
  void conclude(policy::Decision decision, const std::string& why);
  bool tell_news(const policy::Decision& now, const publishers::Publisher& publisher,
                 const std::vector<policy::DesiredPool>& pools, const std::string& why);
  void tell_problems();
  void arm_settle();
  void arm_sync();
  bool has_node() const;
  const kube::NodeView& node_view() const;  // where there is one

  reactor::Scheduler& scheduler_;
  reactor::Executor& executor_;
  Log& log_;
  kube::Cluster& cluster_;
  reactor::Random random_;
  config::Options options_;
  OnDecided on_decided_;

  std::optional<watchers::NodeFacts> node_;
  mutable std::optional<kube::NodeView> node_view_;  // nullopt: to be made anew; labels may be many
  std::map<policy::SriovPolicy::Id, Shared<policy::SriovPolicy>> sriov_;
  std::map<policy::DeviceAttributes::Id, Shared<policy::DeviceAttributes>> attributes_;
  std::map<policy::ExposurePolicy::Id, Shared<policy::ExposurePolicy>> exposures_;
  watchers::LeftOut sriov_left_out_, attributes_left_out_, exposures_left_out_;  // for want of room
  policy::PolicySetPtr policy_set_;                                              // nullptr: to be made anew
  policy::Quarantines quarantine_;

  std::optional<policy::Decision> decision_;
  publishers::Settler settler_;
  std::vector<policy::DesiredPool> before_gap_;  // while nothing is desired: what was, or will be
  SaidOnce said_problems_, said_notes_;
  bool recovered_ = false;  // sticky facts were looked for in our own slices
  std::string told_schema_failure_;
  std::map<std::string, std::string> told_schema_;  // by kind: what the served schema was said to drop

  bool is_permitted_ = false;  // the interlock is ours
  watchers::Outage outage_;
  reactor::Ticket catch_up_ticket_;  // between two rounds of asking the sources that still wait

  std::optional<TimePoint> not_before_;            // the next decision
  std::vector<std::string> reasons_;               // of the decision that is due; a few, for the log
  std::unique_ptr<reactor::Job> decision_job_;     // a decision that takes long, on a worker
  std::shared_ptr<Attempt> attempt_;               // what it works on
  bool is_deciding_ = false;                       // there is such a job
  std::vector<std::weak_ptr<Attempt>> abandoned_;  // given up, and perhaps still at work
  reactor::Backoff decision_backoff_;
  Millis decision_max_;            // what a decision may take on a worker; more after each that took too long
  std::string late_;               // why there is no decision in time; "" there is
  bool is_decision_void_ = false;  // it does not know of entries that may be allocated
  bool was_overtaken_ = false;     // so was the one before
  reactor::Ticket standings_ticket_, decide_ticket_, settle_ticket_, sync_ticket_;
  kube::CallPtr schema_call_, exposure_schema_call_;

  publishers::Abilities abilities_;
  publishers::Charges charges_;
  publishers::Publisher publisher_, exposure_publisher_;
  hotplug::HostSource host_;
  std::unique_ptr<watchers::NodeWatcher> node_watcher_;
  std::unique_ptr<watchers::PolicyWatcher> sriov_watcher_, attributes_watcher_,
      exposure_watcher_;  // null: off
  std::unique_ptr<watchers::SliceWatcher> slice_watcher_, exposure_slice_watcher_;
};

}  // namespace sliced
