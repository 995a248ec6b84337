#pragma once
// Events mark, runs reconcile: a hundred marks of a key are one run, a mark during a run means one more.
#include <functional>
#include <memory>
#include <string>

#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Keyed, coalescing, with at most one run per key at a time; runs of different keys overlap.
/// Due:      of two marks the earlier due time wins, whatever the order. A mark while a failed key waits for
/// its retry
///           is such a mark: it may bring the run forward.
/// Failure:  done(false) marks the key again after its backoff; done(true) forgets the backoff.
/// Done:     may be called at once or later, from the loop's thread, and after the queue is gone; only the
/// first call
///           counts. Dropping every copy of it without a call counts as done(false).
/// Reentry:  start may mark any key, and may destroy the queue.
/// Memory:   a key costs nothing once it is idle and its last run was good.
class ReconcileQueue {
 public:
  using Done = std::function<void(bool ok)>;
  using Start = std::function<void(const std::string& key, Done done)>;

  ReconcileQueue(Scheduler& scheduler, Start start, Random random = system_random(),
                 BackoffPolicy policy = {});
  ~ReconcileQueue();
  ReconcileQueue(ReconcileQueue&&) = delete;

  /// Runs key once delay has passed, never from within mark().
  void mark(const std::string& key, Millis delay = Millis{0});
  /// Drops the key's marks and its backoff; a run that is under way ends as it likes.
  void forget(const std::string& key);
  /// Nothing runs and nothing is marked.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
