#pragma once
// What an outage of the API server means for writing. Each source comes back on its own backoff, so what is
// written first could follow policies from before the outage. Pure.
//
//   served ── nobody is followed, somebody unreachable ──▶ away
//   away ── somebody is followed again ──▶ catching up ── nobody waits, or it took too long ──▶ served
//   served ── of several that were unreachable, one is followed again ──▶ catching up
#include <cstddef>

namespace sliced::watchers {

/// A value that is told how the sources stand whenever one of them changes. It says when writing has to
/// wait; who writes asks may_write().
class Outage {
 public:
  enum class Phase { kServed, kAway, kCatchingUp };

  /// How many sources stand how. Those that are denied count as waiting during an outage only: an API server
  /// that has just started denies for a moment what it will allow.
  /// Of all sources together; one that is absent counts nowhere. Returns the phase that follows.
  Phase note(size_t live, size_t unreachable, size_t denied) {
    const bool some_wait = unreachable > 0 || (phase_ != Phase::kServed && denied > 0);
    // Those that were lost together are likely to be back together, and count together.
    const bool one_returned = live > live_ && unreachable < unreachable_;
    live_ = live;
    unreachable_ = unreachable;
    if (live == 0)
      phase_ = some_wait ? Phase::kAway : Phase::kServed;
    else if (!some_wait)
      phase_ = Phase::kServed;
    else if (phase_ == Phase::kAway || one_returned)
      phase_ = Phase::kCatchingUp;
    return phase_;
  }
  /// Catching up took too long: what is known has to do.
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
