#include "kubelet/interfaces/hook_time.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"

namespace sliced::kubelet {
namespace hook_time_test {
namespace {

// Red when failures of one namespace have more than a tenth of the runtime's time, however many of its pods are tried again.
TEST(HookTimeTest, FailuresOfANamespaceHaveATenthOfTheTime) {
  HookTime time(Millis{500});
  const TimePoint begin{};
  TimePoint now = begin;
  Millis failed{0};
  for (int call = 0; call < 10'000; ++call) {
    if (!time.refusal("ns", now).empty()) {
      now += Millis{10};
      continue;
    }
    now += Millis{1'800}, failed += Millis{1'800};
    time.note("ns", Millis{1'800}, "late", now);
    EXPECT_EQ(time.refusal("other", now), "");
  }
  EXPECT_LE(failed * 10, now - begin + Millis{18'000});
  EXPECT_GT(failed * 12, now - begin) << "and it is tried again";
}

TEST(HookTimeTest, OnlySlowFailuresCountUntilOneSucceeds) {
  HookTime time(Millis{500});
  const TimePoint now{};
  time.note("ns", Millis{499}, "busy", now);
  EXPECT_EQ(time.refusal("ns", now), "");
  time.note("ns", Millis{1'800}, "", now);
  EXPECT_EQ(time.refusal("ns", now), "");
  time.note("ns", Millis{500}, "plugin x: late", now);
  fixture::expect_golden(time.refusal("ns", now));
  EXPECT_NE(time.refusal("ns", now + Millis{4'499}), "");
  EXPECT_EQ(time.refusal("ns", now + Millis{4'500}), "");
  time.note("ns", Millis{1'800}, "", now);
  EXPECT_EQ(time.refusal("ns", now), "") << "a call that was under way has succeeded";
}

}  // namespace
}  // namespace hook_time_test
}  // namespace sliced::kubelet
