#pragma once
// Regular expressions of CEL (matches, find, findAll): RE2, with the same syntax and linear time as Go's
// regexp.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/base/result.h"

namespace re2 {
class RE2;
}

namespace sliced::cel {

/// Upper bounds of a pattern's costs, computed from its text, because RE2 can neither be interrupted nor
/// predict them. Independent of the RE2 version. In work steps (cel/arena.h).
struct PatternBound {
  uint64_t instructions = 0;   // of its program, in either direction
  uint64_t compile_steps = 0;  // of compiling it in both, and of freeing it
  size_t memory = 0;           // bytes, including those for searching
};
PatternBound bound_of(std::string_view pattern);

inline constexpr int64_t kPatternMax = 512;  // code points
inline constexpr size_t kPatternBytesMax = 4 * kPatternMax;

/// A compiled pattern; copies share it across threads.
/// Limits: patterns of 512 code points, 256 KiB of memory for one (a search that requires more becomes
/// slower).
/// Texts are UTF-8; returned views refer to the searched text.
class Regex {
 public:
  /// Errors: kTooLarge for a pattern beyond the limits, kInvalid for an invalid one, and for \C, which would
  /// split characters. bound: of the pattern.
  static Result<Regex> compile(std::string_view pattern, const PatternBound& bound);
  static Result<Regex> compile(std::string_view pattern) { return compile(pattern, bound_of(pattern)); }

  /// Returns the size of RE2's program, the longer one of both directions; for tests of bound_of().
  uint64_t program_size() const;
  /// Returns the work steps of one search through so many bytes, for any text. The worst case creates a new
  /// state of all instructions for each byte.
  uint64_t search_steps(size_t bytes) const { return steps_of_search(bytes, instructions_); }

  /// Searches anywhere in the text unless the pattern is anchored. One search.
  bool matches(std::string_view text) const;
  /// Returns the leftmost match; "" if there is none. One forward search, and one backward.
  std::string_view find(std::string_view text) const;
  /// Returns at most `limit` non-overlapping matches, all for a negative limit; an empty match does not
  /// directly follow another match. Errors: kTooLarge beyond found_max. may_search is called before each
  /// search with the number of remaining bytes; false ends with the matches so far.
  using MaySearch = std::function<bool(size_t bytes)>;
  Result<std::vector<std::string_view>> find_all(
      std::string_view text, int64_t limit = -1, size_t found_max = 10'000,
      const MaySearch& may_search = [](size_t) { return true; }) const;

 private:
  static uint64_t steps_of_search(size_t bytes, uint64_t instructions);
  Regex(std::shared_ptr<const re2::RE2> pattern, uint64_t instructions)
      : pattern_(std::move(pattern)), instructions_(instructions) {}
  std::shared_ptr<const re2::RE2> pattern_;
  uint64_t instructions_;
};

}  // namespace sliced::cel
