#include "publishers/pod_poll.h"

#include <utility>

namespace sliced::publishers {
namespace {

constexpr reactor::BackoffPolicy kLookBackoff{
    .initial = Millis{1'000}, .factor = 2.0, .cap = Millis{30'000}, .jitter = 0.5};

}  // namespace

PodPoll::PodPoll(reactor::Scheduler& scheduler, reactor::Random random, std::function<void()> on_late,
                 std::function<void()> on_due)
    : scheduler_(scheduler),
      on_late_(std::move(on_late)),
      on_due_(std::move(on_due)),
      backoff_(std::move(random), kLookBackoff) {}

bool PodPoll::request() { return !std::exchange(is_requested_, true); }

void PodPoll::begin() {
  has_waited_ = false;
  wait_until(scheduler_.now() + kMax);
}

void PodPoll::postpone(Millis wait) {
  const TimePoint now = scheduler_.now();
  if (until_ && now < *until_ && !std::exchange(has_waited_, true)) wait_until(now + wait + kMax);
}

void PodPoll::wait_until(TimePoint until) {
  until_ = until;
  late_ = scheduler_.after(until - scheduler_.now(), [this] {
    if (is_open_) callbacks_.run(on_late_);
  });
}

void PodPoll::end(EvidenceSource::Coverage coverage) {
  if (!is_open_) return;
  if (coverage != EvidenceSource::Coverage::kFailed || ++failures_ == kFailuresMax) return close();
  const Millis wait = backoff_.next(scheduler_.now());
  not_before_ = scheduler_.now() + wait;
  due_ = scheduler_.after(wait, [this] { callbacks_.run(on_due_); });
}

bool PodPoll::is_due() const { return is_requested() && (!not_before_ || *not_before_ <= scheduler_.now()); }

bool PodPoll::is_begun() const { return is_open_ && until_ && scheduler_.now() < *until_; }

bool PodPoll::is_awaited(bool has_exposures) const {
  return is_open_ && (has_exposures || !until_ || scheduler_.now() < *until_);
}

}  // namespace sliced::publishers
