#include "cel/lib/timestamp.h"

#include <gtest/gtest.h>

#include "t/unit/cel/lib/expect.h"

namespace sliced::cel {

static std::string shown(const Timestamp& time) { return encode_timestamp(time); }
static std::string shown(const Duration& span) { return encode_duration(span); }

namespace {

Timestamp at(std::string_view text) {
  const auto time = decode_timestamp(text);
  EXPECT_TRUE(time) << text;
  return time.value_or(Timestamp());
}
Duration span(std::string_view text) {
  const auto duration = decode_duration(text);
  EXPECT_TRUE(duration) << text;
  return duration.value_or(Duration());
}

TEST(CelTimestamp, ReadsAndWritesRfc3339) {
  EXPECT_EQ(at("2009-02-13T23:31:30Z").seconds, 1234567890);
  EXPECT_EQ(at("1969-12-31T23:59:59.5Z"), (Timestamp{-1, 500'000'000}));
  EXPECT_EQ(at("2009-02-13T23:31:30+01:30"), at("2009-02-13T22:01:30Z")) << "a zone is not part of the value";
  for (const auto& [text, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
           {"2009-02-13T23:31:30+00:00", "2009-02-13T23:31:30Z"},
           {"2009-02-13T23:31:30-00:00", "2009-02-13T23:31:30Z"},
           {"2009-02-13T23:31:30.123456789+01:30", "2009-02-13T23:31:30.123456789+01:30"},
           {"2009-02-13T23:31:30.100-02:00", "2009-02-13T23:31:30.1-02:00"},
           {"2009-02-13T23:31:30,5Z", "2009-02-13T23:31:30.5Z"},
           {"2009-02-13T23:31:30.12345678999Z", "2009-02-13T23:31:30.123456789Z"},
           {"2009-02-13T3:59:50Z", "2009-02-13T03:59:50Z"},
           {"2009-02-13T23:31:30+05:60", "2009-02-13T23:31:30+06:00"},
           {"2008-02-29T00:00:00Z", "2008-02-29T00:00:00Z"},
           {"0000-12-31T23:00:00-01:00", "0000-12-31T23:00:00-01:00"},
           {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
           {"9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"}})
    EXPECT_EQ(encode_timestamp(at(text)), canonical);
}

// What a lenient reader lets through; the last ones are beyond the range only once they are in UTC.
TEST(CelTimestamp, RefusesEverythingElse) {
  for (const char* text : {"",
                           "2009-2-13T23:31:30Z",
                           "2009-02-13 23:31:30Z",
                           "2009-02-13t23:31:30Z",
                           "2009-02-13T23:31:30z",
                           "2009-02-30T23:31:30Z",
                           "2009-13-01T00:00:00Z",
                           "2009-00-01T00:00:00Z",
                           "2009-01-00T00:00:00Z",
                           "2009-02-13T24:00:00Z",
                           "2009-02-13T23:60:00Z",
                           "2009-02-13T23:59:60Z",
                           "2009-02-13T23:31:30+25:00",
                           "2009-02-13T23:31:30+0530",
                           "2009-02-13T23:31:30+05",
                           "2009-02-13T23:31Z",
                           "2009-02-13T23:31:30",
                           "2009-02-13T23:31:30.Z",
                           "02009-02-13T23:31:30Z",
                           "10000-01-01T00:00:00Z",
                           "2009-02-13T23:31:30Z ",
                           "+009-02-13T23:31:30Z",
                           "0001-01-01T00:00:00+01:00",
                           "9999-12-31T23:59:59-00:01"})
    EXPECT_FALSE(decode_timestamp(text)) << text;
  EXPECT_EQ(shown(timestamp_of(253402300799)), "9999-12-31T23:59:59Z");
  EXPECT_EQ(shown(timestamp_of(-62135596800)), "0001-01-01T00:00:00Z");
  for (const int64_t seconds : {int64_t{253402300800}, int64_t{-62135596801}, INT64_MAX, INT64_MIN})
    EXPECT_FALSE(timestamp_of(seconds)) << seconds;
}

TEST(CelDuration, ReadsGoDurations) {
  for (const auto& [text, nanos] : std::initializer_list<std::pair<const char*, int64_t>>{
           {"0", 0},
           {"-0", 0},
           {"+0", 0},
           {"1h30m", 5'400'000'000'000},
           {"1m1h", 3'660'000'000'000},
           {"1s1s", 2'000'000'000},
           {"-1.5ms", -1'500'000},
           {".5s", 500'000'000},
           {"5.s", 5'000'000'000},
           {"100us", 100'000},
           {"100\u00b5s", 100'000},
           {"100\u03bcs", 100'000},
           {"1.0000000001s", 1'000'000'000},
           {"0.3333333333333333333h", 1'200'000'000'000},
           {"0.33333333333333333333333333333333h", 1'200'000'000'000},
           {"9223372036.854775807s", INT64_MAX},
           {"2562047h47m16.854775807s", INT64_MAX},
           {"-9223372036854775808ns", INT64_MIN}})
    EXPECT_EQ(span(text).nanos, nanos) << text;
  for (const char* text : {"", "-", "+", "1", "1d", ".s", "s", "1S", "1e3s", "- 1s", "-1h-1m", "1 s", "1s ",
                           "9223372036.854775808s", "9223372036854775808ns", "-9223372036854775809ns",
                           "99999999999999999999h", "320000000000s", "2562047h48m"})
    EXPECT_FALSE(decode_duration(text)) << text;
}

// Kubernetes writes the nearest double, so that nanos get lost in long spans.
TEST(CelDuration, WritesSeconds) {
  for (const auto& [text, canonical] : std::initializer_list<std::pair<const char*, const char*>>{
           {"0", "0s"},
           {"1h30m", "5400s"},
           {"-1.5ms", "-0.0015s"},
           {"1ns", "0.000000001s"},
           {"0.1s", "0.1s"},
           {"1000000h", "3600000000s"},
           {"123456789.123456789s", "123456789.12345679s"},
           {"-9223372036854775808ns", "-9223372036.854776s"}})
    EXPECT_EQ(encode_duration(span(text)), canonical);
}

// Sums of nanos and seconds apart forget the carry; sums in int64 wrap.
TEST(CelTimestamp, AddsAndSubtracts) {
  EXPECT_EQ(shown(add(at("2009-02-13T23:00:00Z"), span("240s"))), "2009-02-13T23:04:00Z");
  EXPECT_EQ(shown(subtract(at("2009-02-13T23:10:00Z"), span("600s"))), "2009-02-13T23:00:00Z");
  EXPECT_EQ(shown(add(at("2009-02-13T23:31:30.9+01:30"), span("0.2s"))), "2009-02-13T23:31:31.1+01:30");
  EXPECT_EQ(shown(add(at("0001-01-01T00:00:01.000000001Z"), span("-999999999ns"))),
            "0001-01-01T00:00:00.000000002Z");
  EXPECT_FALSE(add(at("9999-12-31T23:59:59.9Z"), span("0.2s")));
  EXPECT_FALSE(subtract(at("0001-01-01T00:00:00Z"), span("1ns")));
  EXPECT_FALSE(subtract(at("2009-01-01T00:00:00Z"), Duration{INT64_MIN}));
  EXPECT_EQ(shown(subtract(at("2009-02-13T23:31:00Z"), at("2009-02-13T23:29:00.5Z"))), "119.5s");
  EXPECT_EQ(subtract(at("2262-04-11T23:47:16.854775807Z"), at("1970-01-01T00:00:00Z"))->nanos, INT64_MAX);
  EXPECT_FALSE(subtract(at("2262-04-11T23:47:16.854775808Z"), at("1970-01-01T00:00:00Z")));
  EXPECT_FALSE(subtract(at("0001-01-01T00:00:00Z"), at("9999-12-31T23:59:59Z")));
  EXPECT_EQ(shown(add(span("1s"), span("-2s"))), "-1s");
  EXPECT_EQ(shown(subtract(span("1s"), span("0.25s"))), "0.75s");
  EXPECT_FALSE(add(Duration{INT64_MAX}, Duration{1}));
  EXPECT_FALSE(subtract(span("1s"), Duration{INT64_MIN}));
  EXPECT_LT(at("2009-02-13T23:29:00.1Z"), at("2009-02-13T23:29:00.2Z"));
  EXPECT_LT(at("1969-12-31T23:59:59.9Z"), at("1970-01-01T00:00:00Z"));
}

// Months and days count from 0 but for getDate; a truncating division goes wrong before 1970.
TEST(CelTimestamp, Parts) {
  const struct {
    const char* time;
    const char* zone;
    TimePart part;
    int64_t value;
  } rows[] = {
      {"2009-02-13T23:31:30Z", "", TimePart::kFullYear, 2009},
      {"2009-02-13T23:31:30Z", "", TimePart::kMonth, 1},
      {"2009-02-13T23:31:30Z", "", TimePart::kDayOfMonth, 12},
      {"2009-02-13T23:31:30Z", "", TimePart::kDate, 13},
      {"2009-02-13T23:31:30Z", "", TimePart::kDayOfWeek, 5},
      {"2009-02-15T23:31:30Z", "", TimePart::kDayOfWeek, 0},
      {"2009-02-13T23:31:30Z", "", TimePart::kDayOfYear, 43},
      {"2008-12-31T23:31:30Z", "", TimePart::kDayOfYear, 365},
      {"2009-02-13T23:31:30+01:30", "", TimePart::kHours, 22},
      {"2009-02-13T23:31:30Z", "UTC", TimePart::kMinutes, 31},
      {"2009-02-13T23:31:30Z", "-00:00", TimePart::kSeconds, 30},
      {"2009-02-13T23:31:20.123456789Z", "", TimePart::kMilliseconds, 123},
      {"2009-02-13T23:31:30Z", "+05:30", TimePart::kHours, 5},
      {"2009-02-13T23:31:30Z", "05:30", TimePart::kDate, 14},
      {"2009-02-13T23:31:30Z", "-09:30", TimePart::kMinutes, 1},
      {"2009-02-13T23:31:30Z", "-00:40", TimePart::kMinutes, 51},
      {"1969-12-31T23:59:59.5Z", "", TimePart::kMilliseconds, 500},
      {"1969-12-31T22:59:59.5Z", "", TimePart::kHours, 22},
      {"9999-12-31T23:59:59Z", "+01:00", TimePart::kFullYear, 10000},
      {"0001-01-01T00:00:00Z", "-01:00", TimePart::kFullYear, 0},
  };
  for (const auto& row : rows) {
    const auto zone = decode_zone(row.zone);
    ASSERT_TRUE(zone) << row.zone;
    EXPECT_EQ(time_part(at(row.time), row.part, *zone), row.value)
        << row.time << " " << row.zone << " " << int(row.part);
  }
  for (const char* zone :
       {"Australia/Sydney", "utc", "Z", "+0530", "05:30:00", "+100:00", "a:b", ":", "+05:-30"})
    EXPECT_EQ(decode_zone(zone).error().code, Errc::kInvalid) << zone;
}

TEST(CelDuration, Parts) {
  EXPECT_EQ(whole_hours(span("10000s")), 2);
  EXPECT_EQ(whole_minutes(span("10000s")), 166);
  EXPECT_EQ(whole_seconds(span("10000s")), 10000);
  EXPECT_EQ(whole_hours(span("-90m")), -1);
  EXPECT_EQ(whole_seconds(span("-1.9s")), -1);
  EXPECT_EQ(whole_milliseconds(span("1.5s")), 1500);
  EXPECT_EQ(whole_milliseconds(span("-1.5009s")), -1500);
}

}  // namespace
}  // namespace sliced::cel
