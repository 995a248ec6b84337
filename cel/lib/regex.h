#pragma once
// Regular expressions of CEL (matches, find, findAll): RE2, whose syntax and linear time Go's regexp shares.
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

/// What a pattern takes at most, read off its text: RE2 can neither be interrupted nor asked beforehand. The
/// same on every node, whatever RE2 is there. In work steps (cel/arena.h).
struct PatternBound {
  uint64_t instructions = 0;   // of its program, in either direction
  uint64_t compile_steps = 0;  // of compiling it in both, and of giving it back
  size_t memory = 0;           // bytes, with all that searching adds
};
PatternBound bound_of(std::string_view pattern);

inline constexpr int64_t kPatternMax = 512;  // code points
inline constexpr size_t kPatternBytesMax = 4 * kPatternMax;

/// A compiled pattern; copies share it, and threads may.
/// Limits: patterns of 512 code points, 256 KiB of memory for one (a search that would need more becomes
///         slower).
/// Shapes: texts are UTF-8; views that come back lie in the text that was searched.
class Regex {
 public:
  /// kTooLarge for a pattern beyond the limits, kInvalid for one that is not understood, and for \C, which
  /// would cut characters apart. bound: of the pattern.
  static Result<Regex> compile(std::string_view pattern, const PatternBound& bound);
  static Result<Regex> compile(std::string_view pattern) { return compile(pattern, bound_of(pattern)); }

  /// Of RE2's program, the longer one of both directions; for holding bound_of() against it.
  uint64_t program_size() const;
  /// Work steps of one search through so many bytes, whatever the text. Searching takes most where each byte
  /// makes a new state of all instructions.
  uint64_t search_steps(size_t bytes) const { return steps_of_search(bytes, instructions_); }

  /// Anywhere in the text, unless the pattern says otherwise. One search.
  bool matches(std::string_view text) const;
  /// The leftmost match; "" when there is none. One search there, and one back.
  std::string_view find(std::string_view text) const;
  /// At most `limit` matches that do not overlap, all for a negative limit; an empty one does not follow
  /// another match at once. kTooLarge beyond found_max. may_search is asked before each search, which may go
  /// to the end: with the bytes that are left; false ends it with what was found.
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
