#include "policy/cel/lib/semver.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_identifier_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
bool is_numeric(std::string_view identifier) {
  return std::all_of(identifier.begin(), identifier.end(), is_digit);
}

std::optional<uint64_t> decode_number(std::string_view text, bool loose) {
  if (text.size() > 1 && text[0] == '0') {
    if (!loose) return std::nullopt;
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool are_identifiers(std::string_view text, bool numbers_are_strict) {
  const auto identifiers = split(text, '.');
  return std::all_of(identifiers.begin(), identifiers.end(), [&](std::string_view identifier) {
    if (identifier.empty() || !std::all_of(identifier.begin(), identifier.end(), is_identifier_char))
      return false;
    return !numbers_are_strict || !is_numeric(identifier) || decode_number(identifier, false);
  });
}

// What follows `mark` is cut off the text; nullopt without a mark.
std::optional<std::string_view> cut_after(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

std::optional<Semver> decode(std::string_view text, bool loose) {
  if (loose && text.starts_with('v')) text.remove_prefix(1);
  const auto build = cut_after(text, '+');
  const auto prerelease = cut_after(text, '-');
  if (build && !are_identifiers(*build, false)) return std::nullopt;
  if (prerelease && !are_identifiers(*prerelease, true)) return std::nullopt;
  const auto parts = split(text, '.');
  const bool may_be_short = loose && !build && !prerelease;
  if (parts.size() > 3 || (parts.size() < 3 && !may_be_short)) return std::nullopt;
  Semver version;
  uint64_t* const numbers[] = {&version.major, &version.minor, &version.patch};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (loose && i == 2 && parts[i].empty() && (build || prerelease))
      continue;  // "1.2.-a" is 1.2.0-a upstream
    const auto number = decode_number(parts[i], loose);
    if (!number) return std::nullopt;
    *numbers[i] = *number;
  }
  version.prerelease = prerelease.value_or("");
  return version;
}

Result<Semver> decoded(std::string_view text, bool loose) {
  if (auto version = decode(text, loose)) return *std::move(version);
  return Error{Errc::kInvalid, "not a semantic version: " + in_quotes(text)};
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool number = is_numeric(a);
  if (number != is_numeric(b)) return number ? std::strong_ordering::less : std::strong_ordering::greater;
  // Numbers have no leading zeros: the longer one is larger.
  if (number && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

Result<Semver> decode_semver(std::string_view text) { return decoded(text, false); }
Result<Semver> decode_loose_semver(std::string_view text) { return decoded(text, true); }

std::strong_ordering Semver::operator<=>(const Semver& other) const {
  if (const auto order = major <=> other.major; order != 0) return order;
  if (const auto order = minor <=> other.minor; order != 0) return order;
  if (const auto order = patch <=> other.patch; order != 0) return order;
  if (prerelease.empty() || other.prerelease.empty()) return prerelease.empty() <=> other.prerelease.empty();
  const auto ours = split(prerelease, '.'), theirs = split(other.prerelease, '.');
  return std::lexicographical_compare_three_way(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                                                compare_identifiers);
}

}  // namespace sliced::cel
