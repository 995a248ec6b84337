#pragma once
// What lasts is said once while it lasts, and of what comes at once no more than somebody reads. In rounds:
// everything that is so is noted, and the end of the round forgets what was not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/text.h"

namespace sliced {

/// Of one thing that may be wrong in different ways.
class SaidLast {
 public:
  /// Whether it is to be said: it is not what was said last. "" is never to be said: all is well, and what
  /// comes is new again.
  /// Remembers the text by this call: ask only when it will be said.
  bool is_new(std::string_view text) {
    if (text == said_) return false;
    said_ = text;
    return !said_.empty();
  }
  /// The same text is new again: for what is to be repeated after a while (FileLock does so every ten
  /// minutes).
  void forget() { said_.clear(); }
  const std::string& text() const { return said_; }

 private:
  std::string said_;
};

/// Of many things, each with a text of its own. Memory: 8 bytes for each text of a round.
class SaidOnce {
 public:
  explicit SaidOnce(size_t said_max = 100) : said_max_(said_max) {}

  /// Whether it is to be said: it was not so in the last round, and there are not too many of its kind.
  /// A text that is noted twice in one round is told twice, so one is noted once. Equality is that of a
  /// 64-bit hash: of two texts with one hash the second goes unsaid, which is a line in a log and decides
  /// nothing.
  bool note(std::string_view text) {
    const uint64_t hash = stable_hash(text);
    now_.push_back(hash);
    if (std::binary_search(before_.begin(), before_.end(), hash)) return false;
    return ++new_count_ <= said_max_;
  }
  /// How many were new and not said.
  /// Ends the round, also an empty one: after it everything is new. The count is for "and 12 more".
  size_t end_round() {
    std::sort(now_.begin(), now_.end());
    now_.erase(std::unique(now_.begin(), now_.end()), now_.end());
    before_ = std::exchange(now_, {});
    const size_t new_count = std::exchange(new_count_, 0);
    return new_count - std::min(new_count, said_max_);
  }

 private:
  const size_t said_max_;
  // The last round's texts and this one's, as stable_hash(): texts themselves may be anything in number and
  // size.
  std::vector<uint64_t> before_, now_;  // before_: sorted
  size_t new_count_ = 0;
};

}  // namespace sliced
