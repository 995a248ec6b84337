#pragma once
// Suppress repeated log messages: LastMessage for one condition, RateLimitedLog for many.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {

/// The last message about one object.
class LastMessage {
 public:
  /// Returns true if the message must be logged: it differs from the last one and is not "". Stores it, so
  /// call this only before logging. "" means that the condition has ended.
  bool is_new(std::string_view text) {
    if (text == text_) return false;
    text_ = text;
    return !text_.empty();
  }
  /// The same message is new again; for messages that are repeated after some time.
  void forget() { text_.clear(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Messages about many objects, in rounds: a message is logged if it was not noted in the previous round.
/// Memory: 8 bytes per message of a round.
class RateLimitedLog {
 public:
  explicit RateLimitedLog(size_t new_max = 100) : new_max_(new_max) {}

  /// Returns true if the message must be logged: it is new in this round, and fewer than the limit are.
  /// REQUIRES: each message is noted once per round. Messages are compared by a 64-bit hash; a collision
  /// loses a log line.
  bool note(std::string_view text) {
    const uint64_t hash = stable_hash(text);
    now_.push_back(hash);
    if (std::binary_search(before_.begin(), before_.end(), hash)) return false;
    return ++new_count_ <= new_max_;
  }
  /// Ends the round and returns the number of new messages above the limit, for "and 12 more".
  size_t end_round() {
    std::sort(now_.begin(), now_.end());
    now_.erase(std::unique(now_.begin(), now_.end()), now_.end());
    before_ = std::exchange(now_, {});
    const size_t new_count = std::exchange(new_count_, 0);
    return new_count - std::min(new_count, new_max_);
  }

 private:
  const size_t new_max_;
  // Messages of the last and of the present round, as stable_hash(): their size is not bounded.
  std::vector<uint64_t> before_, now_;  // before_: sorted
  size_t new_count_ = 0;
};

}  // namespace sliced
