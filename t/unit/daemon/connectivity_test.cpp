#include "daemon/connectivity.h"

#include <gtest/gtest.h>

#include <memory>

#include "t/fake/fake_scheduler.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;
using watchers::SyncState;
using State = SyncState::State;

struct FakeSource final : watchers::Source {
  void start() override {}
  void retry_now() override { ++retries; }
  bool is_told_to_wait() const override { return told; }
  void park(bool is) override { parked = is; }
  const SyncState& sync_state() const override { return now; }
  const watchers::WatchEnds& watch_ends() const override {
    static const watchers::WatchEnds kNone;
    return kNone;
  }
  uint64_t decoded() const override { return 0; }

  SyncState now;
  int retries = 0;
  bool parked = false, told = false;
};

struct ReachTest : testing::Test {
  void stand(State a, State b, State c) {
    size_t i = 0;
    for (const State state : {a, b, c}) sources[i++].now.state = state;
    reach.note();
    scheduler.advance(0ms);
  }
  void go_away() {
    stand(State::kLive, State::kLive, State::kLive);
    stand(State::kUnreachable, State::kUnreachable, State::kUnreachable);
    over = followed = 0;
  }
  int retries() const { return sources[0].retries + sources[1].retries + sources[2].retries; }

  FakeSource sources[3];
  int over = 0, followed = 0;
  fake::FakeScheduler scheduler;
  Connectivity reach{scheduler,
                     [] { return 0.5; },
                     {&sources[0], &sources[1], &sources[2]},
                     [this](const Connectivity::Change& change) {
                       over += change.is_over ? 1 : 0;
                       followed += change.is_followed ? 1 : 0;
                     }};
};

TEST_F(ReachTest, ReportsOnASeparateTurnAndOnceForAllSources) {
  for (FakeSource& source : sources) {
    source.now.state = State::kLive;
    reach.note();
  }
  EXPECT_EQ(followed, 0);
  scheduler.advance(0ms);
  EXPECT_EQ(followed, 1);
  EXPECT_EQ(over, 0) << "nothing was away";
  EXPECT_TRUE(reach.may_write());
}

TEST_F(ReachTest, OneSourceProbesForAll) {
  go_away();
  EXPECT_FALSE(reach.may_write());
  EXPECT_FALSE(sources[0].parked);
  EXPECT_TRUE(sources[1].parked && sources[2].parked);
}

TEST_F(ReachTest, AfterOneSuccessTheOthersRetry) {
  go_away();
  stand(State::kLive, State::kUnreachable, State::kDenied);
  EXPECT_FALSE(sources[1].parked || sources[2].parked);
  EXPECT_EQ(sources[0].retries, 0);
  EXPECT_EQ(retries(), 2) << "at once";
  scheduler.advance(250ms);
  EXPECT_EQ(retries(), 4);
  EXPECT_FALSE(reach.may_write());
  stand(State::kLive, State::kLive, State::kLive);
  EXPECT_TRUE(reach.may_write());
  EXPECT_EQ(over, 1);
  EXPECT_EQ(followed, 1);
  scheduler.advance(10s);
  EXPECT_EQ(retries(), 4);
}

TEST_F(ReachTest, AllowsTwoSecondsForTheOthers) {
  go_away();
  stand(State::kLive, State::kUnreachable, State::kLive);
  scheduler.advance(1999ms);
  EXPECT_FALSE(reach.may_write());
  scheduler.advance(1ms);
  EXPECT_TRUE(reach.may_write());
  EXPECT_EQ(over, 1);
  EXPECT_EQ(retries(), 8);
}

TEST_F(ReachTest, HonoursRetryAfter) {
  go_away();
  sources[1].told = true;
  stand(State::kLive, State::kUnreachable, State::kLive);
  scheduler.advance(30s);
  EXPECT_FALSE(reach.may_write());
  sources[1].told = false;
  scheduler.advance(2s + 250ms);  // the step that was under way, and those that are left
  EXPECT_TRUE(reach.may_write());
}

}  // namespace
}  // namespace sliced::daemon
