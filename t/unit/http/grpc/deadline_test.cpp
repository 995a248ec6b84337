#include "http/grpc/deadline.h"

#include <gtest/gtest.h>

namespace sliced::grpc {
namespace {

using namespace std::chrono_literals;

TEST(GrpcDeadline, TimeoutsOfEachUnitRoundedUp) {
  const struct {
    const char* text;
    std::optional<Millis> is;
  } rows[] = {
      {"1S", 1000ms},
      {"45S", 45s},
      {"999888m", 999888ms},
      {"0m", 0ms},
      {"1M", 1min},
      {"2H", 2h},
      {"1u", 1ms},
      {"1000u", 1ms},
      {"1001u", 2ms},
      {"1n", 1ms},
      {"99999999n", 100ms},
      {"99999999M", Millis{99'999'999LL * 60'000}},
      {"99999999H", std::chrono::hours(2'000'000)},  // a bound of ours
      {"", std::nullopt},
      {"S", std::nullopt},
      {"1", std::nullopt},
      {"1s", std::nullopt},
      {"-1S", std::nullopt},
      {"+1S", std::nullopt},
      {"1.5S", std::nullopt},
      {" 1S", std::nullopt},
      {"1S ", std::nullopt},
      {"123456789S", std::nullopt},
      {"1x2S", std::nullopt},
  };
  for (const auto& row : rows) EXPECT_EQ(decode_timeout(row.text), row.is) << row.text;
}

}  // namespace
}  // namespace sliced::grpc
