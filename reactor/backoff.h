#pragma once
// Waits that grow while something fails, and the chance that spreads them.
#include <functional>

#include "reactor/base/time.h"

namespace sliced::reactor {

/// In [0, 1). Injected, so that tests know the outcome.
using Random = std::function<double()>;
/// A generator seeded by the system; copies share it. Loop thread only.
Random system_random();

/// As client-go's reflector waits (k8s.io/client-go/tools/cache: 0.8 s, factor 2, cap 30 s, jitter 1.0, reset
/// 2 min).
/// The figures keep a fleet that failed together from coming back together.
struct BackoffPolicy {
  Millis initial{800};
  double factor = 2.0;
  Millis cap{30'000};           // before jitter, as in client-go
  double jitter = 1.0;          // a wait is in [base, base * (1 + jitter))
  Millis reset_after{120'000};  // without use
};

/// Growing waits. A value: copy it, keep one per key.
class Backoff {
 public:
  explicit Backoff(Random random, BackoffPolicy policy = {});
  /// The wait before the next attempt; grows with each call.
  /// The first is `initial`, each one after it `factor` times the last up to `cap`, and then the jitter is
  /// added: what is returned may be twice the cap. Without a call for reset_after it begins with `initial`
  /// again.
  Millis next(TimePoint now);
  /// After a success that is believed: the next failure counts as the first one. Whoever resets after each
  /// answer, however short the success was, has no backoff at all.
  void reset();
  /// True when reset_after has passed since next(): forgetting this Backoff changes nothing.
  bool stale(TimePoint now) const;

 private:
  BackoffPolicy policy_;
  Random random_;
  Millis base_{0};  // 0: no attempt failed yet
  TimePoint last_use_{};
};

}  // namespace sliced::reactor
