#include "watchers/outage.h"

#include <gtest/gtest.h>

namespace sliced::watchers {
namespace {

using Phase = Outage::Phase;

// Each row goes on from the one before. A machine that forgets a state writes by old policies, or never
// again.
TEST(Outage, EachStateFollowsFromThePreviousOne) {
  const struct {
    const char* why;
    size_t live, unreachable, denied;
    Phase phase;
  } rows[] = {
      {"start: nobody has answered", 0, 0, 0, Phase::kServed},
      {"all are followed", 4, 0, 0, Phase::kServed},
      {"one alone is unreachable", 3, 1, 0, Phase::kServed},
      {"one alone is denied for good", 3, 0, 1, Phase::kServed},
      {"the server is away", 0, 4, 0, Phase::kAway},
      {"still", 0, 3, 1, Phase::kAway},
      {"one is back, one is denied", 1, 2, 1, Phase::kCatchingUp},
      {"three are back, one is denied", 3, 0, 1, Phase::kCatchingUp},
      {"away again meanwhile", 0, 4, 0, Phase::kAway},
      {"all are back at once", 4, 0, 0, Phase::kServed},
      {"nobody is followed because all are denied", 0, 0, 4, Phase::kServed},
      {"all are followed again", 4, 0, 0, Phase::kServed},
      {"two are lost", 2, 2, 0, Phase::kServed},
      {"one of them returns", 3, 1, 0, Phase::kCatchingUp},
      {"and the other", 4, 0, 0, Phase::kServed},
      {"two are lost, and two that waited start", 2, 2, 0, Phase::kServed},
      {"that is not a return", 3, 2, 0, Phase::kServed},
  };
  Outage outage;
  for (const auto& row : rows)
    EXPECT_EQ(outage.note(row.live, row.unreachable, row.denied), row.phase) << row.why;
}

TEST(Outage, CatchingUpIsBounded) {
  Outage outage;
  outage.note(0, 4, 0);
  outage.give_up();
  EXPECT_FALSE(outage.may_write()) << "while the server is away there is nobody to write to";
  outage.note(3, 1, 0);
  EXPECT_FALSE(outage.may_write());
  outage.give_up();
  EXPECT_TRUE(outage.may_write());
  outage.note(3, 1, 0);
  EXPECT_TRUE(outage.may_write()) << "one source that stays away holds nothing up for ever";
}

}  // namespace
}  // namespace sliced::watchers
