#pragma once
// CEL's timestamps and durations, with the ranges and texts of Kubernetes (Go's time package). Uses no clock
// and no time zone database: only offsets from UTC.
#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reactor/base/result.h"

namespace sliced::cel {

/// Between the years 0001 and 9999 in UTC.
struct Timestamp {
  int64_t seconds = 0;       // since 1970
  int32_t nanos = 0;         // [0, 10^9), counted forward also before 1970
  int16_t zone_minutes = 0;  // east of UTC, as it was written; affects only the text

  std::strong_ordering operator<=>(const Timestamp& other) const;
  bool operator==(const Timestamp& other) const { return (*this <=> other) == 0; }
};

/// Up to 292 years in both directions, as in Go; the specification of CEL permits 10,000.
struct Duration {
  int64_t nanos = 0;
  auto operator<=>(const Duration& other) const = default;
};

/// RFC 3339: "2009-02-13T23:31:30.5+01:00". Digits finer than nano are truncated. Errors: kInvalid for other
/// texts and outside the range.
Result<Timestamp> decode_timestamp(std::string_view text);
/// timestamp(int): seconds since 1970.
Result<Timestamp> timestamp_of(int64_t seconds);
/// Returns RFC 3339 in the original zone, without zeros at a fraction's end.
std::string encode_timestamp(const Timestamp& time);

/// Decodes Go's "1h30m", "-1.5s", "100us" (h m s ms us ns; "0" requires no unit). Errors: kInvalid for other
/// texts and outside the range.
Result<Duration> decode_duration(std::string_view text);
/// Returns seconds as the nearest double without exponent: "5400s", "-0.0015s".
std::string encode_duration(const Duration& span);

/// Errors: kInvalid outside the result's range.
Result<Timestamp> add(const Timestamp& time, const Duration& span);
Result<Timestamp> subtract(const Timestamp& time, const Duration& span);
Result<Duration> subtract(const Timestamp& a, const Timestamp& b);
Result<Duration> add(const Duration& a, const Duration& b);
Result<Duration> subtract(const Duration& a, const Duration& b);

enum class TimePart {
  kFullYear,
  kMonth,       // from 0
  kDayOfYear,   // from 0
  kDayOfMonth,  // from 0
  kDate,        // day of the month from 1
  kDayOfWeek,   // from 0, which is Sunday
  kHours,
  kMinutes,
  kSeconds,
  kMilliseconds,
};
/// In UTC, independent of the timestamp's zone, or at an offset east of it.
int64_t time_part(const Timestamp& time, TimePart part, std::chrono::minutes offset = {});
/// Decodes "+05:30", "-02:00", "05:30", "UTC", "GMT" or "". Errors: kInvalid for names of zones and other
/// texts.
Result<std::chrono::minutes> decode_zone(std::string_view text);

/// Return the whole span in units, truncated towards zero.
int64_t whole_hours(const Duration& span);
int64_t whole_minutes(const Duration& span);
int64_t whole_seconds(const Duration& span);
int64_t whole_milliseconds(const Duration& span);

}  // namespace sliced::cel
