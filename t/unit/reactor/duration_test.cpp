#include "reactor/base/duration.h"

#include <gtest/gtest.h>

namespace sliced {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, AcceptsOnlyValidDurations) {
  const struct {
    const char* text;
    std::optional<Millis> wanted;
  } rows[] = {
      {"5m", 5min},
      {"90s", 90s},
      {"1m30s", 90s},
      {"100ms", 100ms},
      {"1h1m1s1ms", 3'661'001ms},
      {"30s1m", 90s},
      {"0s", 0ms},
      {"9223372036854775807ms", Millis(INT64_MAX)},
      {"9223372036854775808ms", std::nullopt},
      {"9223372036854775807s", std::nullopt},
      {"9223372036854775807ms1ms", std::nullopt},
      {"99999999999999999999s", std::nullopt},
      {"", std::nullopt},
      {"5", std::nullopt},
      {"m", std::nullopt},
      {"-5m", std::nullopt},
      {"+5m", std::nullopt},
      {"1.5m", std::nullopt},
      {"5 m", std::nullopt},
      {" 5m", std::nullopt},
      {"5m ", std::nullopt},
      {"5d", std::nullopt},
      {"5mm", std::nullopt},
      {"5M", std::nullopt},
      {"5sm", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(parse_duration(row.text), row.wanted) << row.text;
}

TEST(FormatDuration, ReadsBackTheSame) {
  const struct {
    Millis duration;
    const char* wanted;
  } rows[] = {{0ms, "0s"},  {100ms, "100ms"},    {1s, "1s"},           {90s, "1m30s"},
              {5min, "5m"}, {1500ms, "1s500ms"}, {24h + 1ms, "24h1ms"}};
  for (const auto& row : rows) {
    EXPECT_EQ(format_duration(row.duration), row.wanted);
    EXPECT_EQ(parse_duration(row.wanted), row.duration);
  }
}

}  // namespace
}  // namespace sliced
