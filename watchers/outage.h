#pragma once
// Delays writes after an outage of the API server until all sources are live again: each reconnects with its
// own backoff, and an early write could follow outdated policies. Pure.
//
//   served ── no source is live, one is unreachable ──▶ away
//   away ── a source is live ──▶ catching up ── none is unreachable, or timeout ──▶ served
//   served ── one of several unreachable sources is live ──▶ catching up
#include <cstddef>

namespace sliced::watchers {

/// note() is called on each change of a source; may_write() returns whether writes are allowed.
class Outage {
 public:
  enum class Phase { kServed, kAway, kCatchingUp };

  /// Numbers of live, unreachable and denied sources. Denied ones count as unreachable only during an outage:
  /// an API server that has just started refuses requests for a moment. Returns the new phase.
  Phase note(size_t live, size_t unreachable, size_t denied) {
    const bool is_any_waiting = unreachable > 0 || (phase_ != Phase::kServed && denied > 0);
    // Sources that were lost together usually reconnect together.
    const bool has_one_returned = live > live_ && unreachable < unreachable_;
    live_ = live;
    unreachable_ = unreachable;
    if (live == 0)
      phase_ = is_any_waiting ? Phase::kAway : Phase::kServed;
    else if (!is_any_waiting)
      phase_ = Phase::kServed;
    else if (phase_ == Phase::kAway || has_one_returned)
      phase_ = Phase::kCatchingUp;
    return phase_;
  }
  /// Catching up took too long: allows writes.
  void give_up() {
    if (phase_ == Phase::kCatchingUp) phase_ = Phase::kServed;
  }
  Phase phase() const { return phase_; }
  bool may_write() const { return phase_ == Phase::kServed; }

 private:
  Phase phase_ = Phase::kServed;
  size_t live_ = 0, unreachable_ = 0;
};

}  // namespace sliced::watchers
