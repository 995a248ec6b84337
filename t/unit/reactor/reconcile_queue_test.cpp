#include "reactor/reconcile_queue.h"

#include <gtest/gtest.h>

#include <vector>

#include "t/fake/fake_scheduler.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct QueueTest : testing::Test {
  struct Run {
    std::string key;
    Millis at;
    ReconcileQueue::Done done;
  };
  ReconcileQueue::Start note() {
    return [this](const std::string& key, ReconcileQueue::Done done) {
      runs.push_back({key, scheduler.now().time_since_epoch(), std::move(done)});
    };
  }
  std::vector<int64_t> times(const std::string& key) {
    std::vector<int64_t> all;
    for (const Run& run : runs)
      if (run.key == key) all.push_back(run.at.count());
    return all;
  }
  static double no_jitter() { return 0.0; }

  fake::FakeScheduler scheduler;
  std::vector<Run> runs;
};

TEST_F(QueueTest, ABurstIsOneRun) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  for (int i = 0; i < 100; ++i) queue.mark("node", 50ms);
  EXPECT_TRUE(runs.empty());
  scheduler.advance(49ms);
  EXPECT_TRUE(runs.empty());
  scheduler.advance(1ms);
  EXPECT_EQ(times("node"), std::vector<int64_t>{50});
  runs[0].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
  EXPECT_TRUE(queue.idle());
}

TEST_F(QueueTest, TheEarlierDueTimeWinsInEitherOrder) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("shorter later", 100ms);
  queue.mark("shorter later", 10ms);
  queue.mark("longer later", 10ms);
  queue.mark("longer later", 100ms);
  scheduler.advance(1s);
  EXPECT_EQ(times("shorter later"), std::vector<int64_t>{10});
  EXPECT_EQ(times("longer later"), std::vector<int64_t>{10});
}

TEST_F(QueueTest, AMarkWithoutDelayDoesNotRunAtOnce) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  EXPECT_TRUE(runs.empty());
  scheduler.advance(0ms);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(QueueTest, MarksDuringARunAreOneMoreRun) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  scheduler.advance(0ms);
  for (int i = 0; i < 10; ++i) queue.mark("key", 20ms);
  scheduler.advance(100ms);
  EXPECT_EQ(runs.size(), 1u) << "at most one run per key";
  EXPECT_FALSE(queue.idle());
  runs[0].done(true);
  scheduler.advance(0ms);
  EXPECT_EQ(times("key"), (std::vector<int64_t>{0, 100})) << "it was due already";
  runs[1].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, ADelayedMarkDuringARunKeepsItsDueTime) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  scheduler.advance(0ms);
  queue.mark("key", 500ms);
  runs[0].done(true);
  scheduler.advance(499ms);
  EXPECT_EQ(runs.size(), 1u);
  scheduler.advance(1ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, KeysDoNotWaitForOneAnother) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("a");
  queue.mark("b");
  scheduler.advance(0ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, FailuresBackOffPerKeyAndSuccessForgets) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("bad");
  scheduler.advance(0ms);
  for (int failures = 0; failures < 3; ++failures) {
    runs.back().done(false);
    scheduler.advance(5s);
  }
  EXPECT_EQ(times("bad"), (std::vector<int64_t>{0, 800, 6600, 13200}))
      << "0.8, 1.6, 3.2 s after each failure";
  queue.mark("good");
  scheduler.advance(0ms);
  EXPECT_EQ(times("good").size(), 1u) << "not slowed down by its neighbour";
  runs[3].done(true);
  queue.mark("bad");
  scheduler.advance(0ms);
  runs.back().done(false);
  scheduler.advance(800ms);
  EXPECT_EQ(times("bad").size(), 6u) << "the first wait again";
}

TEST_F(QueueTest, JitterSpreadsRetries) {
  ReconcileQueue queue(scheduler, note(), [] { return 0.5; });
  queue.mark("key");
  scheduler.advance(0ms);
  runs[0].done(false);
  scheduler.advance(1199ms);
  EXPECT_EQ(runs.size(), 1u);
  scheduler.advance(1ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, AMarkBringsARetryForwardAndReplacesIt) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  scheduler.advance(0ms);
  runs[0].done(false);
  scheduler.advance(100ms);
  queue.mark("key");
  scheduler.advance(0ms);
  EXPECT_EQ(times("key"), (std::vector<int64_t>{0, 100}));
  runs[1].done(true);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, DoneMayBeCalledFromWithinStart) {
  int started = 0;
  ReconcileQueue queue(
      scheduler, [&](const std::string&, ReconcileQueue::Done done) { done(++started > 1); }, no_jitter);
  queue.mark("key", 50ms);
  scheduler.advance(50ms);
  EXPECT_EQ(started, 1);
  scheduler.advance(1h);
  EXPECT_EQ(started, 2) << "retried once, good since";
}

TEST_F(QueueTest, OnlyTheFirstDoneOfARunCounts) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  scheduler.advance(0ms);
  const auto stale = runs[0].done;
  stale(true);
  stale(false);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
  queue.mark("key");
  scheduler.advance(0ms);
  stale(true);
  queue.mark("key");
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 2u) << "the second run is still under way";
}

TEST_F(QueueTest, ARunWhoseDoneIsDroppedHasFailed) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("key");
  scheduler.advance(0ms);
  runs[0].done = nullptr;
  scheduler.advance(800ms);
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(QueueTest, DoneIsHarmlessAfterTheQueue) {
  auto queue = std::make_unique<ReconcileQueue>(scheduler, note(), no_jitter);
  queue->mark("key");
  queue->mark("other", 5s);
  scheduler.advance(0ms);
  queue.reset();
  runs[0].done(false);
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
}

TEST_F(QueueTest, StartMayDestroyTheQueue) {
  std::unique_ptr<ReconcileQueue> queue;
  int started = 0;
  queue = std::make_unique<ReconcileQueue>(
      scheduler, [&, canary = std::make_shared<int>(7)](const std::string& key, auto done) {
        ++started;
        queue.reset();
        EXPECT_EQ(*canary, 7);
        EXPECT_EQ(key, "a");
        done(false);
      });
  queue->mark("a");
  queue->mark("b");
  scheduler.advance(1h);
  EXPECT_EQ(started, 1);
}

TEST_F(QueueTest, StartMayMarkItsOwnKeyAndOthers) {
  std::vector<std::string> order;
  ReconcileQueue queue(scheduler, [&](const std::string& key, ReconcileQueue::Done done) {
    order.push_back(key);
    if (order.size() == 1) queue.mark("b"), queue.mark(key);
    done(true);
  });
  queue.mark("a");
  scheduler.advance(1s);
  EXPECT_EQ(order, (std::vector<std::string>{"a", "a", "b"}));
}

TEST_F(QueueTest, ForgettingDropsMarksAndRetries) {
  ReconcileQueue queue(scheduler, note(), no_jitter);
  queue.mark("marked", 10ms);
  queue.mark("running");
  scheduler.advance(0ms);
  queue.forget("marked");
  queue.forget("running");
  runs[0].done(false);
  EXPECT_TRUE(queue.idle());
  scheduler.advance(1h);
  EXPECT_EQ(runs.size(), 1u);
  queue.mark("running");
  scheduler.advance(0ms);
  EXPECT_EQ(runs.size(), 2u) << "a new mark counts";
}

}  // namespace
}  // namespace sliced::reactor
