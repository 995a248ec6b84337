#include "daemon/debouncer.h"

#include <gtest/gtest.h>

namespace sliced::daemon {
namespace debouncer_test {

using namespace std::chrono_literals;

TimePoint at(int64_t ms) { return TimePoint{Millis{ms}}; }

TEST(Debouncer, AWindowEndsAfterQuietOrItsMaximum) {
  Debouncer debouncer(100ms, 1000ms);
  debouncer.touch("vf1", "pf", at(0));
  debouncer.touch("vf2", "pf", at(80));
  EXPECT_EQ(debouncer.next_deadline(), at(180));
  EXPECT_FALSE(debouncer.expire(at(179)));
  EXPECT_TRUE(debouncer.is_waiting("vf1"));
  EXPECT_TRUE(debouncer.expire(at(180)));
  EXPECT_FALSE(debouncer.is_waiting("vf1"));
  EXPECT_FALSE(debouncer.is_waiting("vf2"));

  for (int ms = 0; ms < 2000; ms += 50) {
    debouncer.touch("vf3", "pf", at(10'000 + ms));
    if (ms == 1000) {
      EXPECT_TRUE(debouncer.expire(at(11'000))) << "a PF that never gets quiet is not held back for ever";
    }
  }
}

TEST(Debouncer, GroupsAreIndependentAndRemovedDevicesLeave) {
  Debouncer debouncer(100ms, 1000ms);
  debouncer.touch("a", "pf1", at(0));
  debouncer.touch("b", "pf2", at(50));
  EXPECT_TRUE(debouncer.expire(at(100)));
  EXPECT_FALSE(debouncer.is_waiting("a"));
  EXPECT_TRUE(debouncer.is_waiting("b"));
  debouncer.forget("b");
  EXPECT_EQ(debouncer.next_deadline(), std::nullopt);
}

}  // namespace debouncer_test
}  // namespace sliced::daemon
