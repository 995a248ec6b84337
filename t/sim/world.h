#pragma once
// One node in a world that can be stepped: the whole daemon, a machine, an API server, and a judge that
// watches what goes over the border between them.
//
// Judged after every step (design, invariants): I1 nothing is written that no recent state of the inputs
// allows, and nothing is left out that every recent state offers · I2 once things have been quiet for the
// time that the last disturbance may take, offered = allowed ∩ present · I3 no write that changes nothing,
// none at rest · I4 pools whole and of one generation at rest, changed in place one slice at a time · I5 no
// function offered twice · I6 an entry is named by its function · I7 broken policies and devices are among
// the inputs · I8 what the daemon holds is bounded by what there is · I9 explain names a reason for what is
// not offered · I10 restarts at any instant are among the steps.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/daemon.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_events.h"
#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/sim/companion.h"
#include "t/sim/dice.h"
#include "t/sim/excludes.h"
#include "t/sim/exposure_world.h"
#include "t/sim/kube_allocator.h"
#include "t/sim/machine.h"
#include "t/sim/oracle.h"
#include "t/sim/past.h"
#include "t/sim/ports.h"

namespace sliced::sim {

/// The frequency of changes in a history. README.md describes each.
struct Knobs {
  int pfs = 2, vfs_max = 6, total_vfs = 8;
  double host = 1, policies = 1, excludes = 1, cluster_faults = 1, host_faults = 1, tampering = 1,
         restarts = 1;              // weights
  double troubles = 1;              // ill servers, kubelets that start, what others do to slices beyond edits
  double readiness = 0;             // 0: no policy asks for admin MACs
  double claims = 0;                // 0: neither DeviceExposurePolicies that expose nor claims
  bool counters = true;             // whether the server keeps them
  bool shared = true;               // whether it keeps what makes a device a shared one
  double versions = 0;              // 0: the server keeps its version
  std::string version = "v1.36.3";  // of the server; its scheduler counts from 1.36.2 on
  bool judges_groups = false;       // of what is held: where little else happens
  bool has_steps = false;           // capacities may be given away in steps
  double quiet = 0.04;              // share of steps that heal everything and wait for rest
  bool has_udevd = false;           // its word on interfaces is waited for
  Millis udev_delay_max{40};        // from the kernel's event to its being heard through udev
  Millis netlink_delay_max{10};     // the same through netlink
  double duplicates = 0.05;         // of events
  double late_reads = 0.3;          // of lists and watches: up to 600 ms more on the way
};

struct Violation {
  std::string invariant, what;
};

/// The last lines, and how often each message was said.
class SimLog final : public Log {
 public:
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) override;
  std::deque<std::string> tail;
  std::map<std::string, size_t, std::less<>> said;
  uint64_t hash = 0xcbf29ce484222325;
  TimePoint (*clock)(void*) = nullptr;
  void* clock_owner = nullptr;
  bool is_loud = false;  // to standard error as well
};

class World final : public sliced::daemon::Observer {
 public:
  static constexpr const char* kNode = "node-a";
  static constexpr const char* kNamespace = "dra-driver-sriov";
  static constexpr const char* kDriver = "sriovnetwork.k8snetworkplumbingwg.io";
  static constexpr const char* kExposureDriver = "dra.networking";

  World(uint64_t seed, Knobs knobs);
  ~World();
  void on_decided(const policy::Decision& decision) override;

  // Time.
  void advance(Millis time);
  /// Ends all faults and lets time pass until everything must have settled; judges that, and the rest after
  /// it.
  void come_to_rest();
  /// The first violation ends a history.
  const std::optional<Violation>& violation() const { return violation_; }
  void judge();
  /// That nothing was written since there were so many.
  void expect_writes(size_t before);

  // What the steps do; those without an effect here and now have none.
  void reseed(uint64_t seed) { dice_ = Dice(seed); }
  Dice& dice() { return dice_; }
  void trace(std::string_view text);
  uint64_t trace_hash() const { return trace_; }

  // The host.
  void set_vfs(const std::string& pf, int count);
  void plug(int slot);
  void unplug(const std::string& pf);
  void later(Millis delay, std::function<void()> task);
  void lose_events(bool udev);
  bool is_busy(const std::string& pf) const { return busy_.contains(pf); }

  // Policies.
  void put(const Policy& policy);
  void remove_policy(const std::string& name);
  void put(const Attributes& attributes);
  void remove_attributes(const std::string& name);
  void relabel(const Labels& labels);
  void recreate_node(Millis gone_for);
  void uninstall(const kube::Resource& kind, Millis time);
  Policy random_policy(const std::string& name);
  /// What one that cannot be understood was before is filled in.
  void put(Exclude exclude);
  void remove_exclude(const std::string& name);
  Exclude random_exclude(const std::string& name);
  /// From now on a daemon that starts may assume that no objects of the kind exist; a running one may not.
  void miss(const kube::Resource& kind);
  void find(const kube::Resource& kind) {
    if (const auto at = missing_.find(kind.plural); at != missing_.end()) missing_.erase(at);
  }
  /// So may one that runs.
  void note_absence(const std::string& plural);
  /// The daemon may have forgotten (for_good: it has) what excludes were that cannot be understood now.
  void forget_seen_excludes(bool for_good);
  /// A server that breaks its promises may show what was before the daemon's start.
  void hear_of_the_past() { told_since_ = {}; }
  /// Counters are published, kept, and counted by the scheduler.
  bool counts() const;
  void change_version();

  // Faults of the cluster. A fault is on until its time has passed or the world comes to rest.
  void fault(const std::string& name, Millis time, Millis recovery, std::function<void()> on,
             std::function<void()> off);
  void disturb(Millis recovery);
  /// Objects of the cluster have changed.
  void disturb_inputs();
  /// Somebody else writes slices.
  void tamper(const std::function<void()>& change);

  // The daemon.
  void start_daemon();
  void stop_daemon(bool gracefully, Millis down_for);
  void kill_at_next_write() { kill_at_write_ = true; }
  void reboot();
  void reload();

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::FakeExecutor executor{scheduler};
  Machine machine;
  Border border;
  SimScheduler sim_scheduler{scheduler, border};
  SimExecutor sim_executor{executor, border};
  SimCluster sim_cluster{cluster, scheduler, border};
  SimLog log;
  std::unique_ptr<sliced::daemon::Daemon> daemon;
  std::optional<sliced::daemon::Subscription> subscription;  // to its decisions
  KubeAllocator* kubernetes = nullptr;                       // none: the scheduler is simulated alone
  Companion* companion = nullptr;                            // none
  Knobs knobs;
  ExposureWorld exposed{*this};

  Policies policies;
  AttributeObjects attributes;
  Labels labels;
  Excludes excludes;
  bool crd_is_there = true, attributes_crd_is_there = true, exclude_crd_is_there = true, node_is_there = true;
  bool is_racing = false;         // reads and changes of the machine interleave
  bool may_hide_devices = false;  // since the last rest, admission or reading may have cost an entry
  /// By the fault's name. The first that refuses decides.
  std::map<std::string, std::function<std::optional<kube::Failure>(const fake::Request&)>> refusals;
  std::function<std::optional<kube::Failure>(const fake::Request&)> on_answer;
  std::function<std::optional<kube::Failure>(const fake::Request&, kube::Json&)> on_admit;
  std::function<std::optional<Error>(const char*, std::string_view)> on_read;
  std::map<std::string, size_t>
      seen;  // what this history contained, observed at the daemon's ports and in it
  size_t writes = 0;
  std::vector<StoredSlice> stored() const;

  /// Since the last rest some policy has asked for admin MACs.
  bool was_mac_asked_for() const;

 private:
  friend class ExposureWorld;

  void wire_ports();
  hotplug::ReadVfConfigs vf_reader();
  void queue_op(Millis delay, std::function<void()> op);
  void run_op();
  void heal_all();
  void bury();
  void drop_daemon();
  bool is_quiet() const;
  void deliver(hotplug::HostEvent event, const std::string& key);
  void let_udevd_finish(int ifindex, const hotplug::HostEvent& event, const std::string& key);
  void hand_over(const hotplug::HostEvent& event, bool udev, uint64_t epoch);
  void say(const hotplug::HostEvent& event);
  void remember_inputs();
  void remember_function(const std::string& address);
  /// Whether it was over before the daemon could hear of it.
  template <class T>
  bool is_over(const Past<T>& past, size_t index) const {
    return index + 1 < past.size() && past[index + 1].first < told_since_;
  }
  void fail(const std::string& invariant, const std::string& what);

  void judge_decision(const policy::Decision& decision);
  void judge_verdicts(const policy::Decision& decision);
  void judge_kept(const policy::Decision& decision);
  void judge_unfinished(const policy::Decision& decision);
  void judge_unknown(const policy::Decision& decision);
  bool is_taken_for_sure(const std::string& vf) const;  // by what was so lately, without its PF's name
  void note_event(const std::string& plural, kube::EventType type);
  void judge_sent(const fake::Request& request, const kube::Json& object);
  void judge_stored(const fake::Request& request);
  bool could_be(const std::string& vf_address, bool offered) const;
  bool could_be_taken(const std::string& vf_address, bool offered) const;
  std::set<Said> said_lately(const std::string& vf_address, bool offered) const;
  struct AskedLately {
    Asked device;
    std::set<std::string> names;  // of its interface
  };
  std::set<Said> said_lately(const std::vector<AskedLately>& states, bool offered) const;
  void excludes_are_seen();
  bool must_keep(const std::string& vf_address) const;
  bool is_put_back(const std::string& vf_address, const Policy& policy) const;
  bool must_stay(const std::string& vf_address) const;
  bool has_lost_its_mac_alone(const std::string& vf_address) const;
  void judge_touch(const fake::Request& request, const kube::Json& before);
  /// Was it ready lately for as long as that, and may it not have been?
  bool was_ready(const std::string& vf_address, Millis stable_for) const;
  bool may_be_unready(const std::string& vf_address, std::optional<Millis> stable_for) const;
  bool could_be_taken_so(const std::string& address, const Taken& taken) const;
  bool could_be_ready(const std::string& vf_address, const Policy& policy) const;
  void judge_rest();
  void judge_entries(const PoolView& pool);
  void judge_pf(const std::string& pf, const PoolView& pool, std::set<std::string>& explained);
  std::optional<std::string> mismatch_with(const std::string& pf, const std::string& pf_name,
                                           const PoolView& pool) const;
  std::string problem_of(const VfFacts& facts, const PfFacts& pf_facts, const std::string& vf,
                         const std::string& pf_name, const std::string& if_name, const PoolView& pool) const;
  void judge_explanations();
  void judge_memory();
  void collect_garbage();
  std::set<std::string> names_stored() const;
  std::map<std::string, PoolView> pools() const;

  Dice dice_;
  Dice daemon_dice_;
  uint64_t trace_ = 0xcbf29ce484222325;
  std::optional<Violation> violation_;

  fake::FakeEvents::Wire udev_, netlink_;
  uint64_t udev_epoch_ = 0, netlink_epoch_ = 0;
  bool udev_is_lost_ = false, netlink_is_lost_ = false;
  std::map<std::string, TimePoint> heard_at_;  // by key: udev keeps the order of one device
  TimePoint netlink_at_{};
  std::set<std::string> busy_;
  std::map<uint64_t, reactor::Ticket> tasks_;
  uint64_t next_task_ = 0;
  size_t pending_ = 0;                     // tasks of the world under way that others wait for
  std::deque<std::function<void()>> ops_;  // of the kernel, in order

  struct Fault {
    Millis recovery;
    std::function<void()> off;
    uint64_t number;
  };
  std::map<std::string, Fault> faults_;
  uint64_t next_fault_ = 0;
  TimePoint due_{};  // by then everything must have settled
  bool is_verified_ = false;
  std::deque<TimePoint> tampered_at_;
  bool is_wiped_ = false;               // by the last of them
  std::set<std::string> tampered_out_;  // entries that others took away
  bool kill_at_write_ = false, was_killed_in_write_ = false;
  std::map<std::string, std::string> address_of_;  // entry name -> VF
  size_t lives_ = 0, told_life_ = 0;
  uint64_t node_uids_ = 0, boots_ = 1;
  std::string node_uid_;

  std::map<std::string, Past<VfFacts>> vf_past_;
  /// Whether VFs are ready; remembered longer than the other facts. kOpen: the daemon may be unable to query
  /// the setting; the kernel may still report a setting that is made then.
  enum class Ready { kAbsent, kNo, kYes, kOpen, kOpenAndSet };
  std::map<std::string, Past<Ready>> ready_past_;
  TimePoint rested_at_{}, started_at_{};  // the last rest; the daemon's last start
  bool is_loss_lately_ = false;           // of events, since the last rest
  std::optional<TimePoint> finished_at_;  // the last interface by udevd
  /// What a SriovResourcePolicy takes: the VF's driver, and the resourceName that its config gives.
  struct TakenBefore {
    std::string driver, resource;
  };
  std::map<std::string, TakenBefore> decided_of_sriov_;  // by entry, by the last decision
  policy::PolicySetPtr policies_decided_;                // by the last decision
  kube::Labels labels_decided_;
  std::set<std::string> decided_for_;  // "entry of a driver", by the last decision
  std::map<std::string, Past<PfFacts>> pf_past_;
  Past<Policies> policies_past_;
  Past<Labels> labels_past_;
  Past<Excludes> excludes_past_;
  Excludes removed_excludes_;  // since a rest: of one that is put anew, a daemon may have heard that alone
  std::multiset<std::string> missing_;  // plurals, once for each fault: see miss()
  TimePoint told_since_{};              // what the cluster said before then, the daemon cannot have heard
  TimePoint last_write_at_{};
  std::set<std::string> stored_lately_;  // entries, since the last rest or the daemon's start
  std::set<std::string> rested_with_;    // entries that stood in slices at the last rest
  bool is_touched_ = false;              // slices by others, or the boot, since the last rest

  std::optional<PoolView> last_view_;
  std::set<std::string> ours_;           // names of slices that the daemon has written
  std::set<std::string> tampered_with_;  // slices that others changed: restoring them is not a change of ours
  bool has_old_write_ = false;           // one that was sent before the last decision has not arrived yet
  uint64_t writes_arrived_ = 0;          // of SimCluster::writes_begun()
  /// By generation: slices changed in it since the last decision.
  std::map<int64_t, std::set<std::string>> in_place_;
  std::optional<TimePoint> pci_heard_at_;
  size_t decisions_ = 0;
};

}  // namespace sliced::sim
