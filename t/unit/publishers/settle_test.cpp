#include "publishers/settle.h"

#include <gtest/gtest.h>

namespace sliced::publishers {
namespace settle_test {

using namespace std::chrono_literals;

TimePoint at(int64_t ms) { return TimePoint{Millis{ms}}; }

TEST(Settler, AWindowEndsAfterQuietOrAfterTheLongest) {
  Settler settler(100ms, 1000ms);
  settler.touch("vf1", "pf", at(0));
  settler.touch("vf2", "pf", at(80));
  EXPECT_EQ(settler.next_deadline(), at(180));
  EXPECT_FALSE(settler.expire(at(179)));
  EXPECT_TRUE(settler.settling("vf1"));
  EXPECT_TRUE(settler.expire(at(180)));
  EXPECT_FALSE(settler.settling("vf1"));
  EXPECT_FALSE(settler.settling("vf2"));

  for (int ms = 0; ms < 2000; ms += 50) {
    settler.touch("vf3", "pf", at(10'000 + ms));
    if (ms == 1000) {
      EXPECT_TRUE(settler.expire(at(11'000))) << "a PF that never gets quiet is not held back for ever";
    }
  }
}

TEST(Settler, GroupsAreApartAndForgottenDevicesLeave) {
  Settler settler(100ms, 1000ms);
  settler.touch("a", "pf1", at(0));
  settler.touch("b", "pf2", at(50));
  EXPECT_TRUE(settler.expire(at(100)));
  EXPECT_FALSE(settler.settling("a"));
  EXPECT_TRUE(settler.settling("b"));
  settler.forget("b");
  EXPECT_EQ(settler.next_deadline(), std::nullopt);
}

}  // namespace settle_test
}  // namespace sliced::publishers
