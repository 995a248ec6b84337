#include "daemon/decider.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "t/fake/fake_executor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;
using Whys = std::vector<std::string>;

struct DeciderTest : testing::Test, DecisionOwner {
  // A DeviceExposurePolicy alone makes a decision one that may take long.
  Decider::InputsPtr inputs() const {
    auto out = std::make_shared<policy::Inputs>();
    out->inventory = std::make_shared<const hotplug::Inventory>();
    std::vector<Shared<policy::ExposurePolicy>> exposures;
    if (takes_long) exposures.push_back(policy::ExposurePolicy{.id = {"p"}});
    out->policies =
        std::make_shared<const policy::PolicySet>(policy::make_policy_set({}, {}, std::move(exposures)));
    return out;
  }
  // Decisions take half a second from here on.
  void decide_slowly() {
    takes_long = true;
    executor.answer_after = 500ms;
  }
  void run(Millis time) { scheduler.advance(time); }

  bool is_ready = true, takes_long = false, changes = true;
  Whys decided;
  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::MemoryLog log;
  Decider decider{{scheduler, executor, log, [] { return 0.0; }}, *this};

  // DecisionOwner
  Decider::InputsPtr prepare() override { return is_ready ? inputs() : nullptr; }
  bool awaits_sources() const override { return !is_ready; }
  bool conclude(policy::Decision, const std::string& why) override {
    decided.push_back(why);
    if (on_conclude) on_conclude();
    return changes;
  }
  std::function<void()> on_conclude;
};

TEST_F(DeciderTest, DecidesTheFirstChangeImmediatelyAndCoalescesTheNext) {
  decider.mark("a");
  EXPECT_EQ(decided, Whys{}) << "never from inside mark()";
  run(0ms);
  EXPECT_EQ(decided, Whys{"a"});
  EXPECT_TRUE(decider.idle());
  decider.mark("b");
  run(20ms);
  decider.mark("c");
  decider.mark("b");
  run(Decider::kCoalesce - 21ms);
  EXPECT_EQ(decided, Whys{"a"});
  run(1ms);
  EXPECT_EQ(decided, (Whys{"a", "b; c"}));
}

TEST_F(DeciderTest, AChangeWithoutEffectOpensNoWindow) {
  changes = false;
  decider.mark("a");
  run(0ms);
  decider.mark("b");
  run(Decider::kYield);
  EXPECT_EQ(decided, (Whys{"a", "b"}));
}

TEST_F(DeciderTest, DecidesAgainAfterAnAwaitedSource) {
  is_ready = false;
  decider.mark("a");
  run(1s);
  EXPECT_TRUE(decider.idle());
  is_ready = true;
  run(1s);
  EXPECT_EQ(decided, Whys{});
  decider.mark("b");
  run(0ms);
  EXPECT_EQ(decided, Whys{"b"});
}

TEST_F(DeciderTest, DecidesChangesThatArriveDuringADecisionNext) {
  changes = false;
  decider.mark("a");
  Decider* inner = &decider;
  is_ready = true;
  run(0ms);
  inner->mark("b");
  EXPECT_FALSE(decider.idle());
  run(Decider::kYield);
  EXPECT_EQ(decided, (Whys{"a", "b"}));
}

// Red when an outdated decision is applied, or when endless changes prevent every decision.
TEST_F(DeciderTest, RepeatsAnOvertakenDecisionOnce) {
  decide_slowly();
  decider.mark("a");
  run(100ms);
  EXPECT_TRUE(decider.is_deciding());
  decider.mark("b");
  run(450ms);
  EXPECT_EQ(decided, Whys{}) << "overtaken";
  decider.mark("c");
  run(500ms);
  EXPECT_EQ(decided, Whys{"a; b"}) << "not twice in a row";
  run(1s);
  EXPECT_EQ(decided, (Whys{"a; b", "c"}));
  EXPECT_TRUE(decider.idle());
}

TEST_F(DeciderTest, RepeatsAVoidDecisionAlways) {
  decide_slowly();
  decider.mark("a");
  for (const char* why : {"b", "c", "d"}) {
    run(300ms);
    decider.mark_void(why);
    run(200ms);
    EXPECT_EQ(decided, Whys{}) << why;
  }
  run(500ms);
  EXPECT_EQ(decided, Whys{"a; b; c; d"});
}

TEST_F(DeciderTest, DropsADecisionThatLacksASource) {
  decide_slowly();
  decider.mark("a");
  run(100ms);
  is_ready = false;
  run(1s);
  EXPECT_EQ(decided, Whys{});
  EXPECT_TRUE(decider.idle());
}

TEST_F(DeciderTest, MayDecideADueChangeNow) {
  decider.decide_now();
  EXPECT_EQ(decided, Whys{}) << "nothing is due";
  decider.mark("a");
  run(0ms);
  decider.mark("b");
  decider.decide_now();
  EXPECT_EQ(decided, (Whys{"a", "b"}));
}

TEST_F(DeciderTest, DecidingNowIncludesPendingChanges) {
  decide_slowly();
  decider.mark("a");
  run(100ms);
  decider.mark("b");
  run(450ms);  // the second in a row, which changes alone do not overtake
  decider.mark("c");
  decider.decide_now();
  run(500ms);
  EXPECT_EQ(decided, Whys{});
  run(500ms);
  EXPECT_EQ(decided, Whys{"a; b; c"});
}

// Red when anything follows from a decision that is not made in time, or when it is not tried again.
TEST_F(DeciderTest, RetriesADecisionThatTakesTooLong) {
  takes_long = true;
  executor.hang_next = 2;
  decider.mark("a");
  run(Decider::kDecisionMax);
  EXPECT_EQ(decider.late(), "it was not made within 5000 ms");
  EXPECT_FALSE(decider.idle());
  EXPECT_EQ(executor.jobs, 1u) << "not at once";
  run(1s + 2 * Decider::kDecisionMax);
  EXPECT_EQ(executor.jobs, 2u) << "the second had twice the time";
  EXPECT_EQ(decided, Whys{});
  run(3s);
  EXPECT_EQ(decided, Whys{"a"});
  EXPECT_EQ(decider.late(), "");
  EXPECT_EQ(log.count("no decision in time"), 1u) << log.all();
  EXPECT_EQ(log.count("decision in time again"), 1u);
}

// Workers are needed by others too.
TEST_F(DeciderTest, BoundsAbandonedDecisions) {
  takes_long = true;
  executor.hang_next = 1'000;
  executor.keeps_hung_work = true;
  decider.mark("a");
  run(30min);
  EXPECT_EQ(executor.jobs, Decider::kAbandonedMax);
  EXPECT_EQ(decider.late(), "3 that were given up still run");
  executor.hang_next = 0;
  executor.hung_work.front()();
  EXPECT_EQ(decided, Whys{}) << "it ended after it was abandoned";
  executor.hung_work.clear();
  run(2min);
  EXPECT_EQ(decided, Whys{"a"});
}

TEST_F(DeciderTest, IsSilentWhenDroppedDuringADecision) {
  fake::FakeExecutor slow(scheduler);
  slow.answer_after = 500ms;
  takes_long = true;
  {
    Decider dropped({scheduler, slow, log, [] { return 0.0; }}, *this);
    dropped.mark("a");
    run(100ms);
  }
  run(1s);
  EXPECT_EQ(decided, Whys{});
}

// The decision continues after prepare() and conclude() have returned.
TEST_F(DeciderTest, EndsTheProcessIfItsHandlerDestroysIt) {
  const DeciderPorts ports{scheduler, executor, log, [] { return 0.0; }};
  std::unique_ptr<Decider> doomed;
  doomed = std::make_unique<Decider>(ports, *this);
  on_conclude = [&] { doomed.reset(); };
  doomed->mark("a");
  EXPECT_DEATH(run(0ms), "destroyed by its own callback: Decider");
}

}  // namespace
}  // namespace sliced::daemon
