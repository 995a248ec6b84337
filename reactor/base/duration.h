#pragma once
// Text form of durations in flags and files: "5m", "90s", "1m30s", "100ms".
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced {

/// Parses one or more numbers, each with a unit (h, m, s, ms), and returns their sum: "1m1m" is two minutes.
/// Returns nullopt on invalid text, a missing unit (also of "0"), a sign, or overflow.
std::optional<Millis> parse_duration(std::string_view text);

/// Returns the shortest text that parse_duration accepts: "1m30s"; zero is "0s". REQUIRES: not negative.
std::string format_duration(Millis duration);

}  // namespace sliced
