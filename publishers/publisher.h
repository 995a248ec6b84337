#pragma once
// Keeps the API server's slices of one driver and node equal to what is desired: diff, one write at a time,
// compare the answer, diff again. It decides nothing: what should be offered arrives through set_desired().
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/ports.h"
#include "kube/objects/cluster.h"
#include "kube/objects/kinds.h"
#include "policy/desired.h"
#include "publishers/abilities.h"
#include "publishers/diff_pool.h"
#include "publishers/slice_cache.h"
#include "publishers/write_answer.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/durations.h"
#include "reactor/base/log.h"
#include "reactor/base/said_once.h"
#include "reactor/reconciler.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Whose:     it writes only what says that it is of this driver and node, whoever showed it. Objects of others
///            are logged once and left alone.
/// When:      not before desired state and own slices are both known, and not while it is not permitted
///            (interlock). One request at a time; each step plans anew from what is known then.
/// Pace:      a run makes no more requests than four and twice its plan, whatever the server answers. Runs that
///            fail wait 0.2 s to 30 s, doubling; four failed ones in a row are followed by time alone, not by
///            events. A Retry-After is kept to, up to a minute. What somebody else keeps undoing is put right
///            at once four times in half a minute, then after 1 s to 60 s.
/// Answers:   an answer about another object, or one that cannot be understood, counts as none: the watch
///            tells. An entry that is refused (422 with its field) or stored without some of its fields is
///            reported with the hash of what was sent; who quarantines it is the owner.
/// Ownership: the ports outlive this; dropping it drops the call under way, whose write may still happen.
/// Reentry:   handlers are called from the cluster's answers. They may call set_desired() and await_desired(). None may destroy
///            this.
class Publisher {
 public:
  struct Handlers {
    /// Of one write: entries not to be sent again as they are.
    std::function<void(std::vector<RefusedEntry>)> on_refused;
    /// The server stored slices without what they need (Abilities): these are to be probed anew.
    std::function<void(std::set<Ability>)> on_lost;
    /// Of all pools but these the server holds what is desired: whenever that has changed, and when nothing is
    /// left to be written. Optional.
    std::function<void(const std::set<std::string>& unsettled)> on_settled = {};
    /// A slice that was found under our name, before it is overwritten. Optional.
    std::function<void(const kube::ResourceSlice&)> on_met = {};
    /// A delete was answered. Optional.
    std::function<void(const std::string& name)> on_deleted = {};
  };

  /// What became of a write, by what the API server answered.
  enum class Answered { kTaken, kConflict, kRefused, kFailed };
  /// Since the start.
  /// For metrics; they decide nothing. A write whose answer was lost counts as failed, stored or not.
  struct Counters {
    std::map<std::pair<kube::Verb, Answered>, uint64_t> writes;
    Durations took;                     // from a request to its answer
    uint64_t failed_syncs = 0;          // runs that ended with something left to be written
    std::optional<TimePoint> taken_at;  // the last write that was
  };

  /// driver: whose slices; the node comes with set_desired().
  Publisher(kube::Ports ports, std::string driver, Handlers handlers);
  ~Publisher();

  /// What the watch of own slices tells. What differs afterwards from what is desired is written, by a turn of
  /// the scheduler's.
  void on_slices(const SourceEvent<kube::ResourceSlice>& event);
  /// All pools of the driver, and who owns the slices (ownerReferences). The same as before changes nothing.
  /// Waits after failures end soon: a withdrawal does not wait for them.
  /// The pools are taken as they are: names and limits of the API are policy's to keep. Nothing is sent
  /// within this call.
  void set_desired(std::vector<policy::DesiredPool> pools, NodeIdentity node);
  bool has_desired() const { return desired_.has_value(); }
  /// Nothing more is written until the next set_desired(): the Node is gone, and with it whoever owned the
  /// slices.
  void clear_desired();
  /// What is desired is being decided anew: nothing more is written before the next set_desired().
  void await_desired() { awaits_desired_ = true; }
  /// The interlock is held, or is not any more. A request that is under way goes on.
  void permit(bool writes);
  /// The server is known to be back: a wait after a failed write ends now.
  void retry_now();

  /// What was given to set_desired() last; empty when nothing is desired.
  /// Good until the next set_desired() or clear_desired().
  const std::vector<policy::DesiredPool>& desired() const;
  /// What the API server holds as far as it is known: the watch, and answers to our own writes ahead of it.
  /// A reference into this; its content changes with each answer and event.
  const ObservedSlices& observed() const { return cache_.slices(); }
  /// What would be written now; empty when nothing would, or when nothing is desired yet.
  /// Made anew each time, from what is desired and observed now; asks nobody and sends nothing.
  Plan plan() const;
  /// No write is on its way.
  bool idle() const { return !done_; }
  /// Nothing is in flight and nothing would be written.
  bool converged() const;
  uint64_t writes() const { return writes_; }  // answered or not, dry runs excluded
  const Counters& counters() const { return counters_; }
  /// "" when the last write went well.
  const std::string& last_failure() const { return last_failure_.text(); }

 private:
  void run(reactor::Reconciler::Done done);
  void next_step();
  void send(kube::WriteRequest request, std::optional<kube::ResourceSlice> sent, std::string why);
  void count(kube::Verb verb, Answered answered, TimePoint began);
  void on_answer(kube::Verb verb, const kube::ResourceSlice& sent, std::string_view object,
                 const std::string& why);
  void on_delete_answered(const std::string& name, const std::string& version, const std::string& why);
  void on_failure(kube::Verb verb, const std::string& name, const std::optional<kube::ResourceSlice>& sent,
                  const kube::Failure& failure);
  // A GET, of an object that the watch does not show us as ours: what is there decides what follows.
  void look_at(const std::string& name, std::function<void(std::string_view object)> on_found);
  void look_at_squatter(const kube::ResourceSlice& sent);
  void take_another_name(const kube::ResourceSlice& sent);
  void look_whether_gone(const std::string& name);
  void look_at_unread(const std::string& name);
  void fail(const std::string& problem);
  void refuse(const std::string& problem, const kube::Failure& failure);
  void tell_foreign();
  void meet(kube::ResourceSlice found);
  // Asked anew before each request: permission may go while an answer is on its way.
  bool may_write() const { return permitted_ && desired_ && !awaits_desired_; }
  void quarantine(const kube::ResourceSlice& sent, const kube::Failure& failure, const std::string& problem);
  void finish(bool ok);
  void note_fight();
  std::optional<TimePoint> not_before() const;
  void watch_deadline();
  void adopt_generations();
  void share_entries();
  // Of one slice: others come by the hundred when somebody makes them.
  void share_entries(const std::string& slice);
  void tell_settled(const Plan& plan);

  kube::Ports ports_;
  const std::string driver_;
  const Handlers handlers_;
  CallbackGuard callbacks_{"Publisher"};
  SliceCache cache_;
  Memory memory_;
  std::optional<std::vector<policy::DesiredPool>> desired_;
  NodeIdentity node_;
  bool permitted_ = true, awaits_desired_ = false;

  reactor::Reconciler::Done done_;  // set while a run is under way
  kube::CallPtr call_;              // the one request in flight
  uint64_t writes_ = 0, run_writes_ = 0;
  Counters counters_;
  size_t requests_left_ = 0;  // of this run; 0: what is desired is new, and so is their number
  size_t failed_runs_ = 0;    // since nothing was left to be written
  reactor::Backoff failure_backoff_;
  std::optional<TimePoint> failed_until_;  // no event of the server's shortens this wait
  std::optional<TimePoint> retry_after_;   // what the server asked for
  std::optional<TimePoint> fight_until_;  // before the next restoring; what we want anew does not wait for it
  SaidLast last_failure_;
  std::optional<std::set<std::string>> told_unsettled_;  // of what is desired now
  SaidLast foreign_;
  bool restoring_ = false;     // desired has been reached since it was set: what differs now, others did
  bool is_disturbed_ = false;  // others have changed something since
  std::vector<TimePoint> restored_at_;
  reactor::Backoff fight_backoff_;
  reactor::Ticket deadline_;
  reactor::Reconciler reconciler_;  // last: its runs use all of the above
};

}  // namespace sliced::publishers
