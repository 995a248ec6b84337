#include "publishers/pod_poll.h"

#include <gtest/gtest.h>

#include <memory>

#include "t/fake/fake_scheduler.h"

namespace sliced::publishers {
namespace {

using namespace std::chrono_literals;
using Coverage = EvidenceSource::Coverage;

struct PodPollTest : testing::Test {
  fake::FakeScheduler scheduler;
  int late = 0, due = 0;
  PodPoll look{scheduler, [] { return 0.0; }, [this] { ++late; }, [this] { ++due; }};
};

TEST_F(PodPollTest, DoesNotWaitForAPollThatCannotHelp) {
  look.request();
  look.begin();
  EXPECT_FALSE(look.is_due() || look.is_begun() || look.is_awaited(true));
  scheduler.advance(1min);
  EXPECT_EQ(late, 0);
}

TEST_F(PodPollTest, IsDueOnceAnEntryWaitsForIt) {
  look.open();
  EXPECT_FALSE(look.is_due());
  EXPECT_TRUE(look.is_awaited(false)) << "so that a decision finds out whether anything does";
  EXPECT_TRUE(look.request());
  EXPECT_FALSE(look.request()) << "the first time only";
  EXPECT_TRUE(look.is_due());
}

TEST_F(PodPollTest, WaitsBrieflyWithoutExposurePolicies) {
  look.open();
  look.request();
  look.begin();
  scheduler.advance(PodPoll::kMax - 1ms);
  EXPECT_TRUE(look.is_begun() && look.is_awaited(false));
  EXPECT_EQ(late, 0);
  scheduler.advance(1ms);
  EXPECT_EQ(late, 1);
  EXPECT_FALSE(look.is_begun() || look.is_awaited(false));
  EXPECT_TRUE(look.is_awaited(true)) << "with any of them for as long as it takes";
  EXPECT_TRUE(look.is_due());
}

// Red when VFs are offered before a node of a large cluster has had its turn.
TEST_F(PodPollTest, WaitsForItsTurn) {
  look.open();
  look.request();
  look.begin();
  scheduler.advance(1s);
  look.postpone(100s);
  scheduler.advance(100s + PodPoll::kMax - 1ms);
  EXPECT_TRUE(look.is_begun() && look.is_awaited(false));
  EXPECT_EQ(late, 0);
  scheduler.advance(1ms);
  EXPECT_EQ(late, 1);
  EXPECT_FALSE(look.is_begun() || look.is_awaited(false));
  look.postpone(100s);
  EXPECT_FALSE(look.is_awaited(false)) << "nobody waits any more";
}

// Red when a look that fails again and again keeps VFs waiting.
TEST_F(PodPollTest, WaitsOnlyForItsFirstTurn) {
  look.open();
  look.request();
  look.begin();
  look.postpone(1s);
  look.end(Coverage::kFailed);
  scheduler.advance(PodPoll::kMax);
  look.postpone(100s);
  scheduler.advance(1s);
  EXPECT_FALSE(look.is_awaited(false));
}

TEST_F(PodPollTest, EndsWhenItIsCompleteOrImpossible) {
  for (const Coverage how : {Coverage::kWhole, Coverage::kDenied}) {
    look.open();
    look.request();
    look.begin();
    look.end(how);
    EXPECT_FALSE(look.is_requested() || look.is_awaited(true));
    scheduler.advance(1min);
    EXPECT_EQ(late, 0);
  }
}

TEST_F(PodPollTest, RetriesAtGrowingIntervals) {
  look.open();
  look.request();
  look.begin();
  Millis before{0};
  for (int i = 1; i < PodPoll::kFailuresMax; ++i) {
    look.end(Coverage::kFailed);
    EXPECT_FALSE(look.is_due());
    const TimePoint since = scheduler.now();
    for (int waited = 0; waited < 1'000 && due < i; ++waited) scheduler.advance(100ms);
    ASSERT_EQ(due, i);
    EXPECT_TRUE(look.is_due());
    EXPECT_GT(scheduler.now() - since, before);
    before = scheduler.now() - since;
  }
  look.end(Coverage::kFailed);
  EXPECT_FALSE(look.is_requested()) << "the list of claims alone has to tell";
}

TEST_F(PodPollTest, AnObjectThatItsOwnCallbackDestroysEndsTheProcess) {
  std::unique_ptr<PodPoll> doomed;
  doomed = std::make_unique<PodPoll>(scheduler, [] { return 0.0; }, [&] { doomed.reset(); }, [] {});
  doomed->open();
  doomed->begin();
  EXPECT_DEATH(scheduler.advance(PodPoll::kMax), "destroyed by its own callback: PodPoll");
}

}  // namespace
}  // namespace sliced::publishers
