#pragma once
// A token bucket for attempts without backoff. Pure.
#include <algorithm>

#include "reactor/base/time.h"

namespace sliced::watchers {

/// `store` tokens, full at the start, refilled by one every `refill`. REQUIRES: `now` never decreases.
class TokenBucket {
 public:
  TokenBucket(int store, Millis refill) : store_(store), refill_(refill) {}

  /// Takes a token. Returns false if there is none.
  bool take(TimePoint now) {
    const TimePoint empty_until = std::max(full_at_, now) + refill_;
    if (empty_until - now > refill_ * store_) return false;
    full_at_ = empty_until;
    return true;
  }

 private:
  int store_;
  Millis refill_;
  TimePoint full_at_{};  // when the bucket is full again
};

}  // namespace sliced::watchers
