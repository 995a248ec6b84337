// Upper bounds of a pattern's costs: a coarser parser than RE2's, whose result is never below RE2's.
#include <algorithm>
#include <vector>

#include "cel/lib/regex.h"

namespace sliced::cel {
namespace {

// Measured with RE2 2022-06-01 and 2024-07-02; t/unit/cel/lib/regex_test.cpp compares the first ones
// with it. Instructions, each for one byte of UTF-8 or a fork:
constexpr uint64_t kAnyCharacter = 14;         // ., \W, [^a]
constexpr uint64_t kCharacter = 2, kWord = 5;  // \w, \x{7f}
constexpr uint64_t kRange = 12;                // of characters beyond ASCII
constexpr uint64_t kUnicodeClass = 1'500;      // \pL
constexpr uint64_t kFolded = 6;                // a letter with all characters that (?i) adds
constexpr uint64_t kBase = 8, kInstructionsMax = 24'000;
// Steps:
constexpr uint64_t kBaseSteps = 100, kPatternByteSteps = 8, kInstructionSteps = 6, kRepetitionSteps = 12;
constexpr uint64_t kUnicodeClassSteps = 1'600, kFoldedClassSteps = 3'000;
// Bytes: RE2 uses 48 for an instruction, and some for states.
constexpr size_t kMemoryBase = 16 << 10, kInstructionMemory = 96, kMemoryMax = 256 << 10;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reading {
 public:
  explicit Reading(std::string_view pattern) : rest_(pattern), is_folding_(may_fold(pattern)) {}

  PatternBound run(size_t bytes) {
    groups_.push_back(0);
    while (!rest_.empty()) piece();
    uint64_t all = kBase;
    for (const uint64_t group : groups_) all = capped(all + group);
    PatternBound out;
    out.instructions = capped(all + last_);
    out.compile_steps = kBaseSteps + kPatternByteSteps * bytes + kInstructionSteps * out.instructions +
                        kRepetitionSteps * repetitions_ +
                        unicode_classes_ * (is_folding_ ? kFoldedClassSteps : kUnicodeClassSteps);
    out.memory = std::min<size_t>(kMemoryMax, kMemoryBase + kInstructionMemory * out.instructions);
    return out;
  }

 private:
  static uint64_t capped(uint64_t instructions) { return std::min(instructions, kInstructionsMax); }

  // Returns whether the pattern contains (?i); then it is assumed to apply everywhere.
  static bool may_fold(std::string_view pattern) {
    for (size_t at = pattern.find("(?"); at < pattern.size(); at = pattern.find("(?", at + 2))
      if (const auto flags = pattern.substr(at, pattern.find_first_of(":)", at) - at);
          flags.find('i') != std::string_view::npos)
        return true;
    return false;
  }

  // Adds a part that a following operator may repeat. Earlier parts can no longer be repeated.
  void atom(uint64_t instructions) {
    groups_.back() = capped(groups_.back() + last_);
    last_ = instructions;
  }

  void piece() {
    const char c = take();
    if (c == '(') {
      groups_.back() = capped(groups_.back() + last_);
      groups_.push_back(4);
      last_ = 0;
    } else if (c == ')' && groups_.size() > 1) {
      last_ = capped(groups_.back() + last_);
      groups_.pop_back();
    } else if (c == '[') {
      character_class();
    } else if (c == '\\') {
      escape();
    } else if (c == '.') {
      atom(kAnyCharacter);
    } else if (c == '{' && !rest_.empty() && is_digit(rest_[0])) {
      repetition();
    } else if (c == '*' || c == '+' || c == '?') {
      last_ += 2;
    } else {
      atom(letter());  // includes | and similar characters
    }
  }

  char take() {
    const char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }

  uint64_t letter() const { return is_folding_ ? kFolded : kCharacter; }
  static bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

  void escape() {
    const char c = rest_.empty() ? '\\' : take();
    if (c == 'p' || c == 'P') return unicode_class();
    if (c == 'Q') return quoted();
    if (c == 'x') skip_name();
    atom(is_one_of(c, "DSW") ? all_but() : is_one_of(c, "dswx") ? kWord + letter() : letter());
  }

  // \Q...\E, in which all characters are literal.
  void quoted() {
    while (!rest_.empty() && !rest_.starts_with("\\E")) {
      take();
      atom(letter());
    }
    rest_.remove_prefix(std::min<size_t>(rest_.size(), 2));
  }

  // Returns the instructions for all characters except some. (?i) excludes more.
  uint64_t all_but() const { return is_folding_ ? 3 * kAnyCharacter : kAnyCharacter; }

  // Skips the name after \p or \x: \pL, \p{Greek}, \x7f, \x{10ffff}.
  void skip_name() {
    if (!rest_.starts_with('{')) return rest_.remove_prefix(std::min<size_t>(rest_.size(), 1));
    rest_.remove_prefix(std::min(rest_.find('}'), rest_.size() - 1) + 1);
  }

  void unicode_class() {
    skip_name();
    ++unicode_classes_;
    atom(kUnicodeClass);
  }

  // Reads all elements of a class. The first one may be ].
  void character_class() {
    uint64_t all = kCharacter;
    bool is_first = true;
    if (rest_.starts_with('^')) all = all_but();
    while (!rest_.empty() && (rest_[0] != ']' || is_first)) {
      is_first = is_first && rest_[0] == '^';
      const char c = take();
      if (c == '\\' && !rest_.empty()) {
        const char of = take();
        const bool is_unicode = of == 'p' || of == 'P';
        unicode_classes_ += is_unicode ? 1 : 0;
        all += is_unicode ? kUnicodeClass : is_one_of(of, "DSWx") ? 2 * kRange : kWord;
      } else {
        all += static_cast<unsigned char>(c) >= 0x80 || is_folding_ ? kRange : 1;
      }
    }
    if (!rest_.empty()) take();
    atom(capped(all));
  }

  // {n}, {n,}, {n,m}: counts the larger number. RE2 accepts up to 1000.
  void repetition() {
    uint64_t most = 0, number = 0;
    while (!rest_.empty() && (is_digit(rest_[0]) || rest_[0] == ',')) {
      const char c = take();
      number = c == ',' ? 0 : std::min<uint64_t>(number * 10 + static_cast<uint64_t>(c - '0'), 2'000);
      most = std::max(most, number);
    }
    if (rest_.starts_with('}')) take();
    repetitions_ += most + 1;
    last_ = capped((last_ + 2) * (most + 1));
  }

  std::string_view rest_;
  const bool is_folding_;
  std::vector<uint64_t> groups_;  // instructions of each open group, without the last piece
  uint64_t last_ = 0;             // of the last piece
  uint64_t repetitions_ = 0, unicode_classes_ = 0;
};

}  // namespace

PatternBound bound_of(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax)
    return {0, kBaseSteps, 0};  // refused before anything is done with it
  return Reading(pattern).run(pattern.size());
}

}  // namespace sliced::cel
