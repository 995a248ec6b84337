#pragma once
// Regular expressions of CEL (matches, find, findAll): RE2, whose syntax and linear time Go's regexp shares.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/result.h"

namespace re2 {
class RE2;
}

namespace sliced::cel {

/// A compiled pattern; copies share it, and threads may.
/// Limits: patterns of 512 code points, 256 KiB of memory for one (a search that would need more becomes
/// slower). Shapes:  texts are UTF-8; views that come back lie in the text that was searched.
class Regex {
 public:
  /// kTooLarge for a pattern beyond the limits, kInvalid for one that is not understood, and for \C, which
  /// would cut characters apart.
  static Result<Regex> compile(std::string_view pattern);

  /// Anywhere in the text, unless the pattern says otherwise.
  bool matches(std::string_view text) const;
  /// The leftmost match; "" when there is none.
  std::string_view find(std::string_view text) const;
  /// At most `limit` matches that do not overlap, all for a negative limit; an empty one does not follow
  /// another match at once. kTooLarge beyond found_max.
  Result<std::vector<std::string_view>> find_all(std::string_view text, int64_t limit = -1,
                                                 size_t found_max = 10'000) const;

 private:
  explicit Regex(std::shared_ptr<const re2::RE2> pattern) : pattern_(std::move(pattern)) {}
  std::shared_ptr<const re2::RE2> pattern_;
};

}  // namespace sliced::cel
