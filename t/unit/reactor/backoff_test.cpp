#include "reactor/backoff.h"

#include <gtest/gtest.h>

namespace sliced::reactor {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

std::vector<int64_t> waits(Backoff& backoff, int count, TimePoint now = {}) {
  std::vector<int64_t> all;
  for (int i = 0; i < count; ++i) all.push_back(backoff.next(now).count());
  return all;
}

TEST(Backoff, GrowsToTheCap) {
  Backoff backoff([] { return 0.0; });
  EXPECT_EQ(waits(backoff, 8), (std::vector<int64_t>{800, 1600, 3200, 6400, 12800, 25600, 30000, 30000}));
}

TEST(Backoff, JitterIsAShareOfTheBaseAndIsNotCompounded) {
  Backoff backoff([] { return 0.5; });
  EXPECT_EQ(waits(backoff, 3), (std::vector<int64_t>{1200, 2400, 4800}));
  Backoff wide([] { return 0.999999; });
  EXPECT_LT(waits(wide, 8).back(), 60'000) << "at most twice the cap";
}

TEST(Backoff, ResetStartsOver) {
  Backoff backoff([] { return 0.0; });
  waits(backoff, 4);
  backoff.reset();
  EXPECT_EQ(waits(backoff, 2), (std::vector<int64_t>{800, 1600}));
}

TEST(Backoff, DisuseResets) {
  Backoff backoff([] { return 0.0; });
  EXPECT_TRUE(backoff.stale(TimePoint{})) << "never used";
  const TimePoint start{1min};
  waits(backoff, 3, start);
  EXPECT_FALSE(backoff.stale(start + 2min));
  EXPECT_EQ(backoff.next(start + 2min), 6400ms) << "just within the two minutes";
  EXPECT_TRUE(backoff.stale(start + 4min + 1ms));
  EXPECT_EQ(backoff.next(start + 4min + 1ms), 800ms);
}

TEST(Backoff, CopiesAreIndependent) {
  Backoff first([] { return 0.0; }, {.initial = 100ms, .factor = 3.0, .cap = 1s});
  waits(first, 1);
  Backoff second = first;
  EXPECT_EQ(waits(second, 3), (std::vector<int64_t>{300, 900, 1000}));
  EXPECT_EQ(waits(first, 1), (std::vector<int64_t>{300}));
}

TEST(SystemRandom, StaysInItsRangeAndVaries) {
  const Random random = system_random();
  double least = 1.0, most = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const double value = random();
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(most, 1.0);
  EXPECT_GT(most - least, 0.5);
}

}  // namespace
}  // namespace sliced::reactor
