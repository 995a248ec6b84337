#pragma once
// Versions by semver.org 2.0.0 of Kubernetes' CEL library (semver(), isSemver()).
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// Build metadata is validated, and then dropped: CEL cannot read it.
struct Semver {
  uint64_t major = 0;
  uint64_t minor = 0;
  uint64_t patch = 0;
  std::string prerelease;  // "alpha.1"; empty for a release

  /// By precedence: numbers by value, prereleases before their release, numeric identifiers before others.
  std::strong_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const = default;
};

/// Decodes "1.2.3-alpha.1+build". Errors: kInvalid for other texts and for numbers beyond 64 bits. CEL's
/// major() and similar functions return the number's bits as an int.
Result<Semver> decode_semver(std::string_view text);
/// Also accepts a leading "v", leading zeros of the three numbers, and a missing patch or minor ("v1.2" is
/// 1.2.0) without a prerelease or build.
Result<Semver> decode_loose_semver(std::string_view text);

}  // namespace sliced::cel
