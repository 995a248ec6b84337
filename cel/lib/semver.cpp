#include "cel/lib/semver.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "kube/objects/resource_slice.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

bool is_numeric(std::string_view identifier) {
  return std::all_of(identifier.begin(), identifier.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<uint64_t> decode_number(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// Removes the part up to the next dot, including the dot. Prereleases may be long, so no list is built.
std::string_view take_identifier(std::string_view& rest) {
  const size_t dot = std::min(rest.find('.'), rest.size());
  const std::string_view identifier = rest.substr(0, dot);
  rest.remove_prefix(std::min(dot + 1, rest.size()));
  return identifier;
}

std::optional<Semver> decode(std::string_view text) {
  if (!kube::is_semver(text)) return std::nullopt;
  text = text.substr(0, text.find('+'));
  const size_t dash = std::min(text.find('-'), text.size());
  Semver version;
  version.prerelease = text.substr(std::min(dash + 1, text.size()));
  // A numeric identifier must fit too, because it is compared as a number.
  for (std::string_view rest = version.prerelease; !rest.empty();) {
    const std::string_view identifier = take_identifier(rest);
    if (!identifier.empty() && is_numeric(identifier) && !decode_number(identifier)) return std::nullopt;
  }
  const auto parts = split(text.substr(0, dash), '.');
  const auto major = decode_number(parts[0]), minor = decode_number(parts[1]),
             patch = decode_number(parts[2]);
  if (!major || !minor || !patch) return std::nullopt;
  version.major = *major;
  version.minor = *minor;
  version.patch = *patch;
  return version;
}

// Converts the loose form to the strict one; other text stays invalid.
std::string tightened(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const size_t suffix = std::min(text.find_first_of("-+"), text.size());
  constexpr auto kDotsMax = 2;
  if (std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(suffix), '.') > kDotsMax)
    return std::string(text);
  std::vector<std::string> numbers;
  for (const std::string_view part : split(text.substr(0, suffix), '.'))
    numbers.emplace_back(
        part.substr(part.empty() ? 0 : std::min(part.find_first_not_of('0'), part.size() - 1)));
  if (suffix == text.size()) {
    while (numbers.size() < 3) numbers.emplace_back("0");
  } else if (numbers.size() == 3 && numbers[2].empty()) {
    numbers[2] = "0";  // "1.2.-a" is 1.2.0-a upstream
  }
  return join(numbers, ".").append(text.substr(suffix));
}

Error refused(std::string_view text) {
  return {Errc::kInvalid, "not a semantic version: " + in_quotes(text)};
}

std::strong_ordering compare_identifiers(std::string_view a, std::string_view b) {
  const bool number = is_numeric(a);
  if (number != is_numeric(b)) return number ? std::strong_ordering::less : std::strong_ordering::greater;
  // Numbers have no leading zeros: the longer one is larger.
  if (number && a.size() != b.size()) return a.size() <=> b.size();
  return a <=> b;
}

}  // namespace

Result<Semver> decode_semver(std::string_view text) {
  if (auto version = decode(text)) return *std::move(version);
  return refused(text);
}

Result<Semver> decode_loose_semver(std::string_view text) {
  if (auto version = decode(tightened(text))) return *std::move(version);
  return refused(text);
}

std::strong_ordering Semver::operator<=>(const Semver& other) const {
  if (const auto order = major <=> other.major; order != 0) return order;
  if (const auto order = minor <=> other.minor; order != 0) return order;
  if (const auto order = patch <=> other.patch; order != 0) return order;
  if (prerelease.empty() || other.prerelease.empty()) return prerelease.empty() <=> other.prerelease.empty();
  std::string_view ours = prerelease, theirs = other.prerelease;
  while (!ours.empty() && !theirs.empty()) {
    const auto order = compare_identifiers(take_identifier(ours), take_identifier(theirs));
    if (order != 0) return order;
  }
  return theirs.empty() <=> ours.empty();
}

}  // namespace sliced::cel
