#include "reactor/timer.h"

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct TimerTest : fixture::LoopTest {};

TEST_F(TimerTest, FiresOnce) {
  int fired = 0;
  Timer timer(loop);
  timer.arm(1ms, [&] { ++fired; });
  EXPECT_TRUE(timer.armed());
  ASSERT_TRUE(run_until([&] { return fired > 0; }));
  run_for(20ms);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(timer.armed());
}

TEST_F(TimerTest, ArmingAgainReplaces) {
  std::string fired;
  Timer timer(loop);
  timer.arm(1ms, [&] { fired += 'a'; });
  timer.arm(5ms, [&] { fired += 'b'; });
  ASSERT_TRUE(run_until([&] { return !fired.empty(); }));
  run_for(20ms);
  EXPECT_EQ(fired, "b");
}

TEST_F(TimerTest, DisarmedAndDestroyedOnesStaySilent) {
  bool fired = false;
  Timer timer(loop);
  timer.arm(1ms, [&] { fired = true; });
  timer.disarm();
  std::make_unique<Timer>(loop)->arm(1ms, [&] { fired = true; });
  run_for(20ms);
  EXPECT_FALSE(fired);
}

TEST_F(TimerTest, MayRearmItselfFromItsCallback) {
  int fired = 0;
  Timer timer(loop);
  std::function<void()> again = [&] {
    if (++fired < 3) timer.arm(1ms, again);
  };
  timer.arm(1ms, again);
  EXPECT_TRUE(run_until([&] { return fired == 3; }));
}

TEST_F(TimerTest, MayBeDestroyedByItsCallback) {
  auto timer = std::make_unique<Timer>(loop);
  timer->arm(1ms, [&, canary = std::make_shared<int>(7)] {
    timer.reset();
    EXPECT_EQ(*canary, 7);
  });
  EXPECT_TRUE(run_until([&] { return timer == nullptr; }));
}

}  // namespace
}  // namespace sliced::reactor
