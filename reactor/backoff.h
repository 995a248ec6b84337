#pragma once
// Delays that grow while an operation fails, with random jitter.
#include <functional>

#include "reactor/base/time.h"

namespace sliced::reactor {

/// Returns a value in [0, 1). Injected, so that tests control it.
using Random = std::function<double()>;
/// A generator seeded by the system; copies share it. Loop thread only.
Random system_random();

/// Defaults of client-go's reflector (k8s.io/client-go/tools/cache: 0.8 s, factor 2, cap 30 s, jitter 1.0,
/// reset 2 min). The jitter prevents nodes that failed together from retrying together.
struct BackoffPolicy {
  Millis initial{800};
  double factor = 2.0;
  Millis cap{30'000};           // before jitter, as in client-go
  double jitter = 1.0;          // a wait is in [base, base * (1 + jitter))
  Millis reset_after{120'000};  // without use
};

/// Growing delays. A value; use one for each key.
class Backoff {
 public:
  explicit Backoff(Random random, BackoffPolicy policy = {});
  /// Returns the delay before the next attempt: `initial` first, then `factor` times the previous one up to
  /// `cap`, plus jitter, so at most twice the cap. Restarts with `initial` if it was not called for
  /// reset_after.
  Millis next(TimePoint now);
  /// Call this after a lasting success: the next failure counts as the first. A reset after every short
  /// success would disable the backoff.
  void reset();
  /// Returns true if reset_after has passed since next(): the object can be discarded.
  bool stale(TimePoint now) const;

 private:
  BackoffPolicy policy_;
  Random random_;
  Millis base_{0};  // 0: no attempt failed yet
  TimePoint last_use_{};
};

}  // namespace sliced::reactor
