#include "kubelet/interfaces/hook_time.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"

namespace sliced::kubelet {
namespace hook_time_test {
namespace {

// Red when failures of one namespace have more than a tenth of the runtime's time, however many of its pods are tried again, and
// however short each is.
TEST(HookTimeTest, FailuresUseATenthOfTheTime) {
  for (const Millis took : {Millis{1'800}, Millis{500}, Millis{400}, Millis{20}}) {
    HookTime time(Millis{500});
    const TimePoint begin{};
    TimePoint now = begin;
    Millis failed{0};
    for (int call = 0; call < 10'000; ++call) {
      if (!time.refusal("ns", now).empty()) {
        now += Millis{10};
        continue;
      }
      now += took, failed += took;
      time.record_failure("ns", took, "late", now);
      EXPECT_EQ(time.refusal("other", now), "");
    }
    EXPECT_LE(failed * 10, now - begin + 10 * (Millis{500} + took)) << took.count();
    EXPECT_GT(failed * 12, now - begin) << "and it is tried again";
  }
}

TEST(HookTimeTest, FailuresHaveNoEffectUntilTheyTakeTooLong) {
  HookTime time(Millis{500});
  const TimePoint now{};
  time.record_failure("ns", Millis{500}, "busy", now);
  EXPECT_EQ(time.refusal("ns", now), "");
  time.record_failure("ns", Millis{400}, "plugin x: late", now);
  fixture::expect_golden(time.refusal("ns", now));
  EXPECT_NE(time.refusal("ns", now + Millis{3'980}), "");
  EXPECT_EQ(time.refusal("ns", now + Millis{4'000}), "");
  time.record_failure("ns", Millis{400}, "plugin x: late", now + Millis{9'000});
  EXPECT_EQ(time.refusal("ns", now + Millis{9'000}), "") << "what it took before is repaid";
}

}  // namespace
}  // namespace hook_time_test
}  // namespace sliced::kubelet
