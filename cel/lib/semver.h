#pragma once
// Versions by semver.org 2.0.0, as CEL in Kubernetes compares them (semver(), isSemver()).
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// Build metadata is checked when it is read, and then dropped: nothing that CEL can ask depends on it.
struct Semver {
  uint64_t major = 0;
  uint64_t minor = 0;
  uint64_t patch = 0;
  std::string prerelease;  // "alpha.1"; empty for a release

  /// By precedence: numbers by value, prereleases before their release, numeric identifiers before others.
  std::strong_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const = default;
};

/// "1.2.3-alpha.1+build", nothing else. kInvalid also for numbers beyond 64 bits. What major() and its like
/// return to CEL is the number's bits read as an int.
Result<Semver> decode_semver(std::string_view text);
/// Accepts in addition a leading "v", leading zeros of the three numbers, and no patch or minor ("v1.2"
/// is 1.2.0) where no prerelease or build follows.
Result<Semver> decode_loose_semver(std::string_view text);

}  // namespace sliced::cel
