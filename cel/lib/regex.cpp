#include "cel/lib/regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string>

#include "cel/lib/utf8_text.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

Error refused(Errc code, std::string_view why) { return {code, "regular expression: " + std::string(why)}; }

bool has_byte_class(std::string_view pattern) {
  for (size_t at = pattern.find('\\'); at < pattern.size(); at = pattern.find('\\', at + 2))
    if (pattern.substr(at).starts_with("\\C")) return true;
  return false;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

// Returns the leftmost match that begins at `from` or later.
std::optional<std::string_view> search(const re2::RE2& pattern, std::string_view text, size_t from) {
  re2::StringPiece found;
  if (!pattern.Match(piece(text), from, text.size(), re2::RE2::UNANCHORED, &found, 1)) return std::nullopt;
  return text.substr(static_cast<size_t>(found.data() - text.data()), found.size());
}

}  // namespace

uint64_t Regex::steps_of_search(size_t bytes, uint64_t instructions) {
  // A state of n instructions is made in at most 25 ns * n.
  return 8 + bytes * (2 + instructions / 4);
}

Result<Regex> Regex::compile(std::string_view pattern, const PatternBound& bound) {
  if (pattern.size() > kPatternBytesMax || code_points(pattern) > kPatternMax)
    return refused(Errc::kTooLarge, "a pattern longer than " + std::to_string(kPatternMax) + " characters");
  if (has_byte_class(pattern)) return refused(Errc::kInvalid, "\\C is not supported");
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(static_cast<int64_t>(bound.memory));
  auto compiled = std::make_shared<const re2::RE2>(piece(pattern), options);
  if (compiled->ok()) return Regex(std::move(compiled), bound.instructions);
  const bool large = compiled->error_code() == re2::RE2::ErrorPatternTooLarge;
  return refused(large ? Errc::kTooLarge : Errc::kInvalid, escaped(compiled->error()));
}

uint64_t Regex::program_size() const {
  return static_cast<uint64_t>(std::max(pattern_->ProgramSize(), pattern_->ReverseProgramSize()));
}

bool Regex::matches(std::string_view text) const {
  return pattern_->Match(piece(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

std::string_view Regex::find(std::string_view text) const {
  return search(*pattern_, text, 0).value_or(std::string_view());
}

Result<std::vector<std::string_view>> Regex::find_all(std::string_view text, int64_t limit, size_t found_max,
                                                      const MaySearch& may_search) const {
  std::vector<std::string_view> all;
  size_t from = 0;
  std::optional<size_t> last_end;
  while (from <= text.size() && (limit < 0 || static_cast<int64_t>(all.size()) < limit)) {
    if (!may_search(text.size() - from)) break;
    const auto found = search(*pattern_, text, from);
    if (!found) break;
    const auto begin = static_cast<size_t>(found->data() - text.data());
    const size_t end = begin + found->size();
    if (!found->empty() || last_end != begin) {
      if (all.size() == found_max)
        return refused(Errc::kTooLarge, "more than " + std::to_string(found_max) + " matches");
      all.push_back(*found);
    }
    last_end = end;
    // After an empty match the search continues after the next character.
    from = found->empty() ? end + std::max<size_t>(1, char_at(text.substr(end), 0).value_or("").size()) : end;
  }
  return all;
}

}  // namespace sliced::cel
