#pragma once
// Events mark, runs reconcile: a hundred marks are one run, a mark during a run means one more.
#include <functional>
#include <memory>

#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Coalescing, with at most one run at a time.
/// Due:     of two marks the earlier due time wins, whatever the order. A mark while a retry is waited for is
///          such a mark: it may bring the run forward.
/// Failure: done(false) marks again after a backoff; done(true) forgets the backoff.
/// Done:    may be called at once or later, from the loop's thread, and after the Reconciler is gone; only the
///          first call counts. Dropping every copy of it without a call counts as done(false).
/// Reentry: start may mark. It must not destroy the Reconciler.
class Reconciler {
 public:
  using Done = std::function<void(bool ok)>;
  using Start = std::function<void(Done done)>;

  Reconciler(Scheduler& scheduler, Start start, Random random = system_random(), BackoffPolicy policy = {});
  ~Reconciler();
  Reconciler(Reconciler&&) = delete;

  /// Runs once delay has passed, never from within mark().
  /// From then on; what is due while a run goes on is done as soon as that one has ended.
  void mark(Millis delay = Millis{0});
  /// Nothing runs and nothing is marked.
  /// A retry that is waited for is a mark.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
