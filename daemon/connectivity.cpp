#include "daemon/connectivity.h"

#include <algorithm>
#include <utility>

namespace sliced::daemon {
using watchers::SyncState;

namespace {

using Phase = watchers::Outage::Phase;

constexpr Millis kCatchUpStep{250};
constexpr int kRetryRounds = 7;
constexpr int kRetryRoundsWithRetryAfter = 240;  // while a server sends Retry-After

}  // namespace

Connectivity::Connectivity(reactor::Scheduler& scheduler, reactor::Random random,
                           std::vector<watchers::Source*> sources, OnChange on_change)
    : scheduler_(scheduler),
      random_(std::move(random)),
      sources_(std::move(sources)),
      on_change_(std::move(on_change)) {}

void Connectivity::note() {
  if (!look_) look_ = scheduler_.after(Millis{0}, [this] { look(); });
}

size_t Connectivity::count(watchers::SyncState::State state) const {
  return static_cast<size_t>(
      std::count_if(sources_.begin(), sources_.end(),
                    [&](const watchers::Source* source) { return source->sync_state().state == state; }));
}

void Connectivity::look() {
  look_.reset();
  const Phase before = outage_.phase();
  const Phase now = outage_.note(count(SyncState::State::kLive), count(SyncState::State::kUnreachable),
                                 count(SyncState::State::kDenied));
  park_all_but_one(now == Phase::kAway);
  if (now != Phase::kCatchingUp) retry_ticket_.reset();
  if (now == Phase::kCatchingUp && now != before) retry_sources(kRetryRounds, kRetryRoundsWithRetryAfter);
  on_change_({.is_over = before != Phase::kServed && may_write(),
              .is_followed = may_write() && count(SyncState::State::kLive) > 0});
}

// If every source probed, the first success would decide, and the reconnects of a fleet would be concentrated
// in the first seconds.
void Connectivity::park_all_but_one(bool away) {
  bool is_probing = false;
  for (watchers::Source* source : sources_) {
    const bool waits = source->sync_state().state == SyncState::State::kUnreachable;
    source->park(away && waits && is_probing);
    is_probing |= waits;
  }
}

void Connectivity::retry_sources(int steps_left, int reported_steps_left) {
  bool must_wait = false;
  for (watchers::Source* source : sources_) {
    const SyncState::State state = source->sync_state().state;
    if (state == SyncState::State::kUnreachable || state == SyncState::State::kDenied) source->retry_now();
    must_wait |= source->is_told_to_wait();
  }
  const int used = must_wait && reported_steps_left > 0 ? 0 : 1;
  const Millis step(static_cast<int64_t>(static_cast<double>(kCatchUpStep.count()) * (0.5 + random_())));
  retry_ticket_ = scheduler_.after(step, [this, steps_left, reported_steps_left, used] {
    if (steps_left > 0) return retry_sources(steps_left - used, reported_steps_left - 1);
    retry_ticket_.reset();
    outage_.give_up();
    on_change_({.is_over = true});
  });
}

}  // namespace sliced::daemon
