#pragma once
// Keeps the API server's ResourceSlices of one driver and node equal to the desired pools: computes the
// difference, sends one write, compares the answer, and computes the difference again. The desired pools come
// from set_desired().
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
#include "publishers/diff_pool.h"
#include "publishers/server_features.h"
#include "publishers/slice_cache.h"
#include "publishers/write_answer.h"
#include "reactor/backoff.h"
#include "reactor/base/callback_guard.h"
#include "reactor/base/durations.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/reconciler.h"
#include "reactor/scheduler.h"

namespace sliced::publishers {

/// Scope:     writes and deletes only slices of this driver and node. Objects of others are logged once and
///            not modified.
/// Start:     writes after set_desired() and the first list of own slices, and only while permitted
///            (interlock). One request at a time; each step computes the plan again from the newest state.
/// Pace:      a run sends at most four requests plus two for each write of its plan. A failed run is repeated
///            after 0.2 s to 30 s, doubling; after four failed runs only the timer starts the next one, not
///            an event. Retry-After is obeyed, up to a minute. Changes by another writer are undone
///            immediately four times in 30 s, then after 1 s to 60 s.
/// Answers:   an answer about another object, or an invalid one, is ignored: the watch shows the result. An
///            entry that is refused (422 with its field) or stored without some of its fields goes to
///            on_refused with the hash of its content; the owner quarantines it.
/// REQUIRES: `ports` must outlive this object. Destroying it cancels the request; its write may still happen.
/// Handlers run from the cluster's answers on the loop thread. They may call set_desired() and
/// await_desired().
class Publisher {
 public:
  struct Handlers {
    /// Entries of one write that must not be sent again unchanged.
    std::function<void(std::vector<RefusedEntry>)> on_refused;
    /// The server stored slices without the fields of these features.
    std::function<void(std::set<ServerFeature>)> on_lost;
    /// The API server holds the desired content of all pools except `unsettled`. Called when that set
    /// changes, and when nothing remains to be written. Optional.
    std::function<void(const std::set<std::string>& unsettled)> on_settled = {};
    /// A slice of ours that the watch had not shown, before it is overwritten. Optional.
    std::function<void(const kube::ResourceSlice&)> on_adopted = {};
    /// A delete succeeded. Optional.
    std::function<void(const std::string& name)> on_deleted = {};
  };

  /// The API server's answer to a write: 2xx; 409; 400, 401, 403 or 422; any other answer or none.
  enum class WriteResult { kStored, kConflict, kRefused, kFailed };
  /// For metrics, since the start. A write without an answer counts as kFailed even if the server stored it.
  struct Counters {
    std::map<std::pair<kube::Verb, WriteResult>, uint64_t> writes;
    DurationHistogram took;              // from request to answer
    uint64_t decoded = 0;                // answers to writes that were decoded
    uint64_t failed_syncs = 0;           // runs that ended with writes left
    std::optional<TimePoint> stored_at;  // time of the last kStored
  };

  Publisher(kube::ClusterPorts ports, std::string driver, Handlers handlers);
  ~Publisher();

  /// Applies an event of the watch of own slices. Differences from the desired pools are written in a later
  /// turn of the loop.
  void on_slices(const SourceEvent<kube::ResourceSlice>& event);
  /// Sets all pools of the driver, and the Node for ownerReferences. Shortens the delay after failures,
  /// because the change may be a withdrawal. REQUIRES: names and limits of the API are respected
  /// (policy/entry_validation.h). Sends nothing within this call.
  void set_desired(std::vector<policy::DesiredPool> pools, NodeIdentity node);
  bool has_desired() const { return desired_.has_value(); }
  /// Stops writing until the next set_desired(): the Node, which owns the slices, is deleted. Forgets the
  /// desired pools, and the generations of their slices.
  void clear_desired();
  /// Stops writing until the next set_desired(): a decision is being made. desired() stays.
  void await_desired() { awaits_desired_ = true; }
  /// Allows or stops writes (interlock); they are allowed before the first call. A running request continues.
  void permit(bool writes);
  /// Delays all writes while true. The desired pools stay, and are written when it ends.
  void hold(bool held);
  /// Ends the delay after a failed write: the server is reachable again.
  void retry_now();

  /// Returns the pools of the last set_desired(); empty before it. Valid until the next set_desired() or
  /// clear_desired().
  const std::vector<policy::DesiredPool>& desired() const;
  /// Returns the slices that the API server holds, by the watch and by answers to our writes that the watch
  /// has not shown yet. The content changes with each answer and event.
  const ObservedSlices& observed() const { return cache_.slices(); }
  /// Returns the slice from the answer to our own write, if its uid and resourceVersion are these and the
  /// watch has not shown that write yet; nullptr otherwise. Valid until the next call.
  const kube::ResourceSlice* find_written(const std::string& name, const std::string& uid,
                                          const std::string& resource_version) const {
    return cache_.find_written(name, uid, resource_version);
  }
  /// Returns the pending changes; empty if there are none, or before set_desired() and the first list.
  /// Computed at each call.
  SliceChanges plan() const;
  /// Returns true if no request is running.
  bool idle() const { return !done_; }
  /// Returns true if no request is running and no change is pending.
  bool converged() const;
  uint64_t writes() const { return writes_; }  // sent, dry runs excluded
  const Counters& counters() const { return counters_; }
  /// Returns the error of the last write; "" if it succeeded.
  const std::string& last_failure() const { return last_failure_.text(); }

 private:
  void run(reactor::Reconciler::Done done);
  void next_step();
  void send(kube::WriteRequest request, std::optional<kube::ResourceSlice> sent, std::string why);
  void count(kube::Verb verb, WriteResult answered, TimePoint began);
  void on_answer(kube::Verb verb, const kube::ResourceSlice& sent, std::string_view object,
                 const std::string& why);
  Result<kube::ResourceSlice> decode_answer(const std::string& name, std::string_view object);
  void on_delete_answered(const std::string& name, const std::string& version, const std::string& why);
  void on_failure(kube::Verb verb, const std::string& name, const std::optional<kube::ResourceSlice>& sent,
                  const kube::Failure& failure);
  void read_object(const std::string& name, std::function<void(std::string_view object)> on_found);
  void resolve_name_conflict(const kube::ResourceSlice& sent);
  void use_next_name(const kube::ResourceSlice& sent);
  void check_deleted(const std::string& name);
  void read_undecoded(const std::string& name);
  void fail(const std::string& problem);
  void refuse(const std::string& problem, const kube::Failure& failure);
  void report_foreign();
  void adopt(kube::ResourceSlice found);
  // Checked before each request: the permission may end while a request runs.
  bool may_write() const { return permitted_ && desired_ && !awaits_desired_ && !held_; }
  void quarantine(const kube::ResourceSlice& sent, const kube::Failure& failure, const std::string& problem);
  void finish(bool ok);
  void delay_foreign_change();
  std::optional<TimePoint> not_before() const;
  void watch_deadline();
  void adopt_generations();
  void share_entries();
  void share_entries(const std::string& slice);
  void notify_published(const SliceChanges& plan);

  kube::ClusterPorts ports_;
  const std::string driver_;
  const Handlers handlers_;
  CallbackGuard callbacks_{"Publisher"};
  SliceCache cache_;
  PublisherState state_;
  std::optional<std::vector<policy::DesiredPool>> desired_;
  NodeIdentity node_;
  bool permitted_ = true, awaits_desired_ = false, held_ = false;

  reactor::Reconciler::Done done_;  // set during a run
  kube::CallPtr call_;              // the running request
  uint64_t writes_ = 0, run_writes_ = 0;
  Counters counters_;
  size_t requests_left_ = 0;  // of this run; 0: to be computed from the plan
  size_t failed_runs_ = 0;    // since the last run that left nothing to write
  reactor::Backoff failure_backoff_;
  std::optional<TimePoint> failed_until_;        // not shortened by events
  std::optional<TimePoint> retry_after_;         // from the Retry-After header
  std::optional<TimePoint> restore_not_before_;  // delays restoring, but not a change of the desired pools
  LastMessage last_failure_;
  std::optional<std::set<std::string>> reported_unsettled_;  // of the present desired pools
  LastMessage foreign_;
  bool restoring_ = false;     // the desired pools were reached: differences are changes by others
  bool is_disturbed_ = false;  // a change by others since
  std::vector<TimePoint> restored_at_;
  reactor::Backoff restore_backoff_;
  reactor::Ticket deadline_;
  reactor::Reconciler reconciler_;  // last member: its runs use all others
};

}  // namespace sliced::publishers
