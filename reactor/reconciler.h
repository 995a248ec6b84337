#pragma once
// Events call mark(), runs reconcile: a hundred marks cause one run, a mark during a run causes another one.
#include <functional>
#include <memory>

#include "reactor/backoff.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Coalesces marks, with at most one run at a time.
/// Due:     the earlier due time of two marks counts. A pending retry is a mark, too, so that a mark may
/// advance it.
/// Failure: done(false) marks again after a backoff; done(true) resets the backoff.
/// Done:    may be called immediately or later, on the loop thread, also after the destruction of the
/// Reconciler; only the first call counts. Destroying every copy without a call is done(false).
/// Reentry: start may mark.
class Reconciler {
 public:
  using Done = std::function<void(bool ok)>;
  using Start = std::function<void(Done done)>;

  Reconciler(Scheduler& scheduler, Start start, Random random = system_random(), BackoffPolicy policy = {});
  ~Reconciler();
  Reconciler(Reconciler&&) = delete;

  /// Schedules a run after the delay, never from within mark(). A run that is due during another one follows
  /// it.
  void mark(Millis delay = Millis{0});
  /// Returns true if nothing runs and nothing is marked, including retries.
  bool idle() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
