#pragma once
// Durations as people write them in flags and files: "5m", "90s", "1m30s", "100ms".
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced {

/// One or more whole numbers each with its unit (h, m, s, ms). nullopt on junk, a missing unit, a sign, or
/// overflow.
/// The sum of its parts in any order and number: "1m1m" is two minutes. "0" wants a unit, too.
std::optional<Millis> parse_duration(std::string_view text);

/// The shortest form that parse_duration reads back the same: "1m30s"; zero is "0s". Never negative.
std::string format_duration(Millis duration);

}  // namespace sliced
