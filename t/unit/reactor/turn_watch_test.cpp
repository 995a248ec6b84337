#include "reactor/turn_watch.h"

#include <gtest/gtest.h>

#include "reactor/loop.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct Slow {};
struct Quick {};

struct TurnWatchTest : testing::Test {
  uint64_t now_ms = 1'000, cpu_ms = 0;
  TurnWatch watch{{[this] { return now_ms * 1'000'000; }, [this] { return cpu_ms * 1'000'000; }}};

  void call(uint64_t ms, const std::type_info& who) {
    watch.begin("task", who);
    now_ms += ms;
    cpu_ms += ms;
    watch.end();
  }
};

TEST_F(TurnWatchTest, ALongTurnIsReportedWithItsLongestCall) {
  call(30, typeid(Quick));
  call(90, typeid(Slow));
  call(10, typeid(Quick));
  now_ms += 5'000;  // waiting is not part of a turn
  const auto told = watch.end_turn();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->took, 130ms);
  EXPECT_EQ(told->on_cpu, 130ms);
  EXPECT_EQ(told->what_took, 90ms);
  EXPECT_EQ(told->what, "task of reactor/Slow");
}

TEST_F(TurnWatchTest, ShortTurnsAreNotReported) {
  for (int i = 0; i < 100; ++i) {
    call(99, typeid(Slow));
    EXPECT_FALSE(watch.end_turn());
  }
  EXPECT_EQ(watch.long_turns(), 0u);
}

// Red when each of a thousand long turns is a line in the log.
TEST_F(TurnWatchTest, TheSameCallIsReportedOnceInTenMinutes) {
  size_t told = 0;
  for (int i = 0; i < 1'000; ++i) {
    call(200, typeid(Slow));
    told += watch.end_turn().has_value();
  }
  EXPECT_EQ(told, 1u);
  EXPECT_EQ(watch.long_turns(), 1'000u) << "each is counted";
  call(200, typeid(Quick));
  EXPECT_TRUE(watch.end_turn()) << "something else";
  now_ms += 600'000;
  call(200, typeid(Slow));
  const auto again = watch.end_turn();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->unreported, 999u);
}

TEST_F(TurnWatchTest, ANestedCallIsPartOfItsCaller) {
  watch.begin("stream", typeid(Slow));
  call(60, typeid(Quick));
  now_ms += 60;
  watch.end();
  const auto told = watch.end_turn();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->took, 120ms) << "and is not counted twice";
  EXPECT_EQ(told->what, "stream of reactor/Slow");
}

struct LongTurns : fixture::LoopTest {};

// Red when the loop does not look at its tasks. The clock is the real one: waited for is what it shows, not
// how much.
TEST_F(LongTurns, TheLoopReportsItsTasks) {
  std::string heard;
  loop.on_long_turn([&](const LongTurn& turn) { heard = turn.what; });
  const Ticket task = loop.scheduler().after(0ms, [] {
    for (const auto until = Clock::now() + 2 * TurnWatch::kLong; Clock::now() < until;) {
    }
  });
  ASSERT_TRUE(run_until([&] { return !heard.empty(); }));
  EXPECT_EQ(heard.find("task of reactor/"), 0u) << heard;
}

}  // namespace
}  // namespace sliced::reactor
