#include "reactor/reconciler.h"

#include <gtest/gtest.h>

#include <vector>

#include "t/fake/fake_scheduler.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct ReconcilerTest : testing::Test {
  struct Run {
    Millis at;
    Reconciler::Done done;
  };
  Reconciler::Start note() {
    return [this](Reconciler::Done done) {
      runs.push_back({scheduler.now().time_since_epoch(), std::move(done)});
    };
  }
  std::vector<int64_t> times() const {
    std::vector<int64_t> all;
    for (const Run& run : runs) all.push_back(run.at.count());
    return all;
  }
  static double no_jitter() { return 0.0; }

  fake::FakeScheduler scheduler;
  std::vector<Run> runs;
};

TEST_F(ReconcilerTest, CoalescesABurst) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  for (int i = 0; i < 100; ++i) reconciler.mark(50ms);
  EXPECT_TRUE(runs.empty());
  scheduler.advance(49ms);
  EXPECT_TRUE(runs.empty());
  scheduler.advance(1ms);
  EXPECT_EQ(times(), std::vector<int64_t>{50});
  runs[0].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_TRUE(reconciler.idle());
}

TEST_F(ReconcilerTest, RunsAMarkWithoutDelayOnTheNextTurn) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  EXPECT_TRUE(runs.empty());
  scheduler.advance(0ms);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(ReconcilerTest, CoalescesMarksDuringARun) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  for (int i = 0; i < 10; ++i) reconciler.mark(20ms);
  scheduler.advance(100ms);
  EXPECT_EQ(runs.size(), 1u) << "at most one run at a time";
  EXPECT_FALSE(reconciler.idle());
  runs[0].done(true);
  scheduler.advance(0ms);
  EXPECT_EQ(times(), (std::vector<int64_t>{0, 100})) << "it was due already";
  runs[1].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(ReconcilerTest, KeepsTheDueTimeOfAMarkDuringARun) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  reconciler.mark(500ms);
  runs[0].done(true);
  scheduler.advance(499ms);
  EXPECT_EQ(runs.size(), 1u);
  scheduler.advance(1ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(ReconcilerTest, JitterSpreadsRetries) {
  Reconciler reconciler(scheduler, note(), [] { return 0.5; });
  reconciler.mark();
  scheduler.advance(0ms);
  runs[0].done(false);
  scheduler.advance(1199ms);
  EXPECT_EQ(runs.size(), 1u);
  scheduler.advance(1ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(ReconcilerTest, AMarkReplacesARetry) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  runs[0].done(false);
  scheduler.advance(100ms);
  reconciler.mark();
  scheduler.advance(0ms);
  EXPECT_EQ(times(), (std::vector<int64_t>{0, 100}));
  runs[1].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(ReconcilerTest, DoneMayBeCalledFromWithinStart) {
  int started = 0;
  Reconciler reconciler(scheduler, [&](Reconciler::Done done) { done(++started > 1); }, no_jitter);
  reconciler.mark(50ms);
  scheduler.advance(50ms);
  EXPECT_EQ(started, 1);
  scheduler.advance(1h);
  EXPECT_EQ(started, 2) << "retried once, good since";
}

TEST_F(ReconcilerTest, CountsOnlyTheFirstDoneOfARun) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  const auto stale = runs[0].done;
  stale(true);
  stale(false);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
  reconciler.mark();
  scheduler.advance(0ms);
  stale(true);
  reconciler.mark();
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u) << "the second run is still under way";
}

TEST_F(ReconcilerTest, ADroppedDoneIsAFailure) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  runs[0].done = nullptr;
  scheduler.advance(800ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(ReconcilerTest, DoneMayOutliveTheQueue) {
  auto reconciler = std::make_unique<Reconciler>(scheduler, note(), no_jitter);
  reconciler->mark();
  scheduler.advance(0ms);
  reconciler.reset();
  runs[0].done(false);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(ReconcilerTest, PrefersTheEarlierDueTime) {
  Reconciler shorter_later(scheduler, note(), no_jitter);
  shorter_later.mark(100ms);
  shorter_later.mark(10ms);
  scheduler.advance(1s);
  EXPECT_EQ(times(), std::vector<int64_t>{10});
  Reconciler longer_later(scheduler, note(), no_jitter);
  longer_later.mark(10ms);
  longer_later.mark(100ms);
  scheduler.advance(1s);
  EXPECT_EQ(times(), (std::vector<int64_t>{10, 1010}));
}

TEST_F(ReconcilerTest, BacksOffAfterFailuresAndResetsAfterSuccess) {
  Reconciler reconciler(scheduler, note(), no_jitter);
  reconciler.mark();
  scheduler.advance(0ms);
  for (int failures = 0; failures < 3; ++failures) {
    runs.back().done(false);
    scheduler.advance(5s);
  }
  EXPECT_EQ(times(), (std::vector<int64_t>{0, 800, 6600, 13200})) << "0.8, 1.6, 3.2 s after each failure";
  runs.back().done(true);
  reconciler.mark();
  scheduler.advance(0ms);
  runs.back().done(false);
  scheduler.advance(800ms);
  EXPECT_EQ(runs.size(), 6u) << "the first wait again";
}

TEST_F(ReconcilerTest, StartMustNotDestroyIt) {
  std::unique_ptr<Reconciler> reconciler;
  reconciler = std::make_unique<Reconciler>(scheduler, [&](const auto&) { reconciler.reset(); });
  reconciler->mark();
  EXPECT_DEATH(scheduler.advance(1h), "destroyed by its own callback: Reconciler");
}

TEST_F(ReconcilerTest, StartMayMark) {
  int started = 0;
  Reconciler reconciler(scheduler, [&](Reconciler::Done done) {
    if (++started == 1) reconciler.mark();
    done(true);
  });
  reconciler.mark();
  scheduler.advance(1s);
  EXPECT_EQ(started, 2);
  EXPECT_TRUE(reconciler.idle());
}

}  // namespace
}  // namespace sliced::reactor
