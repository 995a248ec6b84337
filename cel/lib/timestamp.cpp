#include "cel/lib/timestamp.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "cel/lib/ascii.h"
#include "cel/lib/numbers.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

namespace chrono = std::chrono;

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kSecondsMin = -62135596800;  // 0001-01-01T00:00:00Z
constexpr int64_t kSecondsMax = 253402300799;  // 9999-12-31T23:59:59Z

Error out_of_range() { return {Errc::kInvalid, "timestamp overflow: out of range 0001 to 9999"}; }

Result<Timestamp> checked(const Timestamp& time) {
  if (time.seconds < kSecondsMin || time.seconds > kSecondsMax) return out_of_range();
  return time;
}

// Reads text from the left; `ok` becomes false at the first missing part.
struct Reader {
  std::string_view rest;
  bool ok = true;

  bool starts(std::string_view any) const { return !rest.empty() && any.find(rest[0]) != any.npos; }
  void skip(char c) {
    if (!rest.starts_with(c)) ok = false;
    if (ok) rest.remove_prefix(1);
  }
  int number(size_t digits_min, size_t digits_max, int max) {
    int value = 0;
    size_t size = 0;
    for (; size < digits_max && size < rest.size() && is_digit(rest[size]); ++size)
      value = value * 10 + (rest[size] - '0');
    rest.remove_prefix(size);
    if (size < digits_min || value > max) ok = false;
    return value;
  }
  int nanos() {
    int value = 0, digits = 0;
    for (; starts("0123456789"); rest.remove_prefix(1), ++digits)
      if (digits < 9) value = value * 10 + (rest[0] - '0');
    if (digits == 0) ok = false;
    for (; digits < 9; ++digits) value *= 10;
    return value;
  }
  int zone_minutes() {
    if (rest == "Z") {
      rest = {};
      return 0;
    }
    const bool west = rest.starts_with('-');
    if (!west && !rest.starts_with('+')) ok = false;
    if (!ok) return 0;
    rest.remove_prefix(1);
    const int hours = number(2, 2, 24);
    skip(':');
    const int all = hours * 60 + number(2, 2, 60);
    return west ? -all : all;
  }
};

std::optional<Timestamp> read_timestamp(std::string_view text) {
  Reader reader{text};
  const auto year = chrono::year(reader.number(4, 4, 9999));
  reader.skip('-');
  const auto month = chrono::month(static_cast<unsigned>(reader.number(2, 2, 12)));
  reader.skip('-');
  const auto day = chrono::day(static_cast<unsigned>(reader.number(2, 2, 31)));
  reader.skip('T');
  const int hour = reader.number(1, 2, 23);  // one digit is Go's leniency
  reader.skip(':');
  const int minute = reader.number(2, 2, 59);
  reader.skip(':');
  const int second = reader.number(2, 2, 59);
  Timestamp time;
  if (reader.starts(".,")) {
    reader.rest.remove_prefix(1);
    time.nanos = reader.nanos();
  }
  const int zone = reader.zone_minutes();
  const chrono::year_month_day date(year, month, day);
  if (!reader.ok || !reader.rest.empty() || !date.ok()) return std::nullopt;
  const int64_t days = chrono::sys_days(date).time_since_epoch().count();
  time.seconds = ((days * 24 + hour) * 60 + minute - zone) * 60 + second;
  time.zone_minutes = static_cast<int16_t>(zone);
  return time;
}

// Units of a duration's text, the longer of two that begin alike first.
constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
    {"ns", 1},         {"us", 1'000},        {"\u00b5s", 1'000},    {"\u03bcs", 1'000},
    {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

constexpr uint64_t kNanosEnd = uint64_t{1} << 63;

// Removes "1.5h" from the start of rest, in nanos; nullopt if it is missing or exceeds 2^63.
std::optional<uint64_t> take_span(std::string_view& rest) {
  uint64_t whole = 0, fraction = 0;
  double scale = 1;
  bool any = false;
  for (; !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), any = true) {
    if (whole > kNanosEnd / 10) return std::nullopt;
    whole = whole * 10 + static_cast<uint64_t>(rest[0] - '0');
  }
  if (rest.starts_with('.')) {
    for (rest.remove_prefix(1); !rest.empty() && is_digit(rest[0]); rest.remove_prefix(1), any = true) {
      if (fraction > (kNanosEnd - 1) / 10 - 1) continue;  // too fine to count
      fraction = fraction * 10 + static_cast<uint64_t>(rest[0] - '0');
      scale *= 10;
    }
  }
  const size_t size = std::min(rest.find_first_of(".0123456789"), rest.size());
  const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                  [&](const auto& known) { return known.first == rest.substr(0, size); });
  if (!any || unit == std::end(kUnits)) return std::nullopt;
  rest.remove_prefix(size);
  if (whole > kNanosEnd / unit->second) return std::nullopt;
  const double part = static_cast<double>(fraction) * (static_cast<double>(unit->second) / scale);
  return whole * unit->second + static_cast<uint64_t>(part);
}

std::optional<Duration> read_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{};
  if (text.empty()) return std::nullopt;
  uint64_t nanos = 0;
  while (!text.empty()) {
    const auto span = take_span(text);
    if (!span || *span > kNanosEnd - nanos) return std::nullopt;
    nanos += *span;
  }
  if (nanos > kNanosEnd - (negative ? 0 : 1)) return std::nullopt;
  return Duration{static_cast<int64_t>(negative ? 0 - nanos : nanos)};
}

}  // namespace

std::strong_ordering Timestamp::operator<=>(const Timestamp& other) const {
  if (const auto order = seconds <=> other.seconds; order != 0) return order;
  return nanos <=> other.nanos;
}

Result<Timestamp> decode_timestamp(std::string_view text) {
  const auto time = read_timestamp(text);
  if (!time) return Error{Errc::kInvalid, "not a timestamp of RFC 3339: " + in_quotes(text)};
  return checked(*time);
}

Result<Timestamp> timestamp_of(int64_t seconds) { return checked({seconds}); }

std::string encode_timestamp(const Timestamp& time) {
  const auto zone = chrono::minutes(time.zone_minutes);
  const auto part = [&](TimePart field) { return static_cast<int>(time_part(time, field, zone)); };
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", part(TimePart::kFullYear),
                part(TimePart::kMonth) + 1, part(TimePart::kDate), part(TimePart::kHours),
                part(TimePart::kMinutes), part(TimePart::kSeconds));
  std::string text = buffer;
  if (time.nanos != 0) {
    std::snprintf(buffer, sizeof buffer, ".%09d", static_cast<int>(time.nanos));
    text += buffer;
    text.erase(text.find_last_not_of('0') + 1);
  }
  if (time.zone_minutes == 0) return text += 'Z';
  const int minutes = time.zone_minutes < 0 ? -time.zone_minutes : time.zone_minutes;
  std::snprintf(buffer, sizeof buffer, "%c%02d:%02d", time.zone_minutes < 0 ? '-' : '+', minutes / 60,
                minutes % 60);
  return text += buffer;
}

Result<Duration> decode_duration(std::string_view text) {
  if (const auto span = read_duration(text)) return *span;
  return Error{Errc::kInvalid, "not a duration, or out of range: " + in_quotes(text)};
}

std::string encode_duration(const Duration& span) {
  const double fraction = static_cast<double>(span.nanos % kNanosPerSecond) / 1e9;
  const int64_t whole = span.nanos / kNanosPerSecond;
  const double seconds = static_cast<double>(whole) + fraction;
  char buffer[64];
  char* end = std::to_chars(buffer, buffer + sizeof buffer, seconds, std::chars_format::fixed).ptr;
  return std::string(buffer, end) + "s";
}

Result<Timestamp> add(const Timestamp& time, const Duration& span) {
  Timestamp sum = time;
  int64_t nanos = time.nanos + span.nanos % kNanosPerSecond;
  sum.seconds += span.nanos / kNanosPerSecond;
  if (nanos < 0 || nanos >= kNanosPerSecond) {
    sum.seconds += nanos < 0 ? -1 : 1;
    nanos += nanos < 0 ? kNanosPerSecond : -kNanosPerSecond;
  }
  sum.nanos = static_cast<int32_t>(nanos);
  return checked(sum);
}

Result<Timestamp> subtract(const Timestamp& time, const Duration& span) {
  const auto negative = negate(span.nanos);
  if (!negative) return negative.error();
  return add(time, Duration{*negative});
}

Result<Duration> subtract(const Timestamp& a, const Timestamp& b) {
  const __int128 nanos = static_cast<__int128>(a.seconds - b.seconds) * kNanosPerSecond + (a.nanos - b.nanos);
  if (nanos < INT64_MIN || nanos > INT64_MAX) return Error{Errc::kInvalid, "duration overflow: out of range"};
  return Duration{static_cast<int64_t>(nanos)};
}

Result<Duration> add(const Duration& a, const Duration& b) {
  const auto sum = add(a.nanos, b.nanos);
  if (!sum) return sum.error();
  return Duration{*sum};
}

Result<Duration> subtract(const Duration& a, const Duration& b) {
  const auto difference = subtract(a.nanos, b.nanos);
  if (!difference) return difference.error();
  return Duration{*difference};
}

int64_t time_part(const Timestamp& time, TimePart part, chrono::minutes offset) {
  const chrono::sys_seconds moment(chrono::seconds(time.seconds) + offset);
  const auto day = chrono::floor<chrono::days>(moment);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(moment - day);
  switch (part) {
    case TimePart::kFullYear:
      return static_cast<int>(date.year());
    case TimePart::kMonth:
      return static_cast<unsigned>(date.month()) - 1;
    case TimePart::kDayOfYear:
      return (day - chrono::sys_days(date.year() / chrono::January / 1)).count();
    case TimePart::kDayOfMonth:
      return static_cast<unsigned>(date.day()) - 1;
    case TimePart::kDate:
      return static_cast<unsigned>(date.day());
    case TimePart::kDayOfWeek:
      return chrono::weekday(day).c_encoding();
    case TimePart::kHours:
      return clock.hours().count();
    case TimePart::kMinutes:
      return clock.minutes().count();
    case TimePart::kSeconds:
      return clock.seconds().count();
    case TimePart::kMilliseconds:
      return time.nanos / 1'000'000;
  }
  return 0;
}

Result<chrono::minutes> decode_zone(std::string_view text) {
  if (text.empty() || text == "UTC" || text == "GMT") return chrono::minutes(0);
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Error{Errc::kInvalid,
                 "time zone " + in_quotes(text) + ": only UTC and offsets such as +05:30 are known"};
  }
  const auto hours = to_int(text.substr(0, colon)), minutes = to_int(text.substr(colon + 1));
  if (!hours || !minutes || *hours < -99 || *hours > 99 || *minutes < 0 || *minutes > 99)
    return Error{Errc::kInvalid, "time zone " + in_quotes(text) + ": expected an offset such as +05:30"};
  return chrono::minutes(*hours * 60 + (text.starts_with('-') ? -*minutes : *minutes));
}

int64_t whole_hours(const Duration& span) { return span.nanos / (3600 * kNanosPerSecond); }
int64_t whole_minutes(const Duration& span) { return span.nanos / (60 * kNanosPerSecond); }
int64_t whole_seconds(const Duration& span) { return span.nanos / kNanosPerSecond; }
int64_t whole_milliseconds(const Duration& span) { return span.nanos / 1'000'000; }

}  // namespace sliced::cel
