#pragma once
// What need not wait for a backoff: a few at once, after that one each `refill`. Pure.
#include <algorithm>

#include "reactor/base/time.h"

namespace sliced::watchers {

/// A bucket of `store` tokens that refills by one each `refill`; full at the start. A value: copy it, keep
/// one for each thing that is allowed. It knows no clock: who asks says what time it is, never an earlier
/// one than before.
class TokenBucket {
 public:
  TokenBucket(int store, Millis refill) : store_(store), refill_(refill) {}

  /// False when it is used up for now.
  /// Takes one where there is one. What is not taken for long does not add up beyond `store`.
  bool take(TimePoint now) {
    const TimePoint empty_until = std::max(full_at_, now) + refill_;
    if (empty_until - now > refill_ * store_) return false;
    full_at_ = empty_until;
    return true;
  }

 private:
  int store_;
  Millis refill_;
  TimePoint full_at_{};  // when everything that was taken is there again
};

}  // namespace sliced::watchers
