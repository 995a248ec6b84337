#include "reactor/backoff.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace sliced::reactor {

Random system_random() {
  auto engine = std::make_shared<std::minstd_rand>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

Backoff::Backoff(Random random, BackoffPolicy policy) : policy_(policy), random_(std::move(random)) {}

Millis Backoff::next(TimePoint now) {
  if (stale(now)) reset();
  const double grown = base_ == Millis{0} ? static_cast<double>(policy_.initial.count())
                                          : static_cast<double>(base_.count()) * policy_.factor;
  const double base = std::min(grown, static_cast<double>(policy_.cap.count()));
  base_ = std::max(Millis{static_cast<int64_t>(base)}, Millis{1});
  last_use_ = now;
  return Millis{static_cast<int64_t>(base * (1.0 + policy_.jitter * random_()))};
}

void Backoff::reset() { base_ = Millis{0}; }

bool Backoff::stale(TimePoint now) const {
  return base_ == Millis{0} || now - last_use_ > policy_.reset_after;
}

}  // namespace sliced::reactor
