#include "http/grpc/deadline.h"

#include <cstdint>

#include "reactor/base/text.h"

namespace sliced::grpc {
namespace {

// Returns the nanoseconds of a unit; 0 for an unknown unit.
int64_t nanoseconds_of(char unit) {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

constexpr size_t kDigitsMax = 8;
constexpr int64_t kAMillisecond = 1'000'000;
constexpr int64_t kHoursMax = 2'000'000;  // two centuries: longer times would overflow

}  // namespace

std::optional<Millis> decode_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > kDigitsMax + 1 || !starts_with_digit(text)) return std::nullopt;
  const int64_t unit = nanoseconds_of(text.back());
  text.remove_suffix(1);
  const auto number = parse_int(text);
  if (unit == 0 || !number) return std::nullopt;
  if (unit == nanoseconds_of('H') && *number > kHoursMax) return std::chrono::hours(kHoursMax);
  return Millis(*number * unit / kAMillisecond + (*number * unit % kAMillisecond != 0));
}

}  // namespace sliced::grpc
