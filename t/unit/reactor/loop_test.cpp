#include "reactor/loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "reactor/signal.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct LoopFixture : fixture::LoopTest {};

TEST_F(LoopFixture, TasksRunInTheOrderOfTheirDeadlines) {
  std::string order;
  const Ticket late = loop.scheduler().after(30ms, [&] { order += 'c'; });
  const Ticket early = loop.scheduler().after(10ms, [&] { order += 'b'; });
  const Ticket soon = loop.scheduler().after(0ms, [&] { order += 'a'; });
  const Ticket negative = loop.scheduler().after(-5ms, [&] { order += 'A'; });
  EXPECT_EQ(order, "") << "nothing runs from within after()";
  EXPECT_TRUE(run_until([&] { return order.size() == 4; }));
  EXPECT_EQ(order, "aAbc");
}

TEST_F(LoopFixture, ATaskNeverRunsEarly) {
  const auto started = Clock::now();
  std::this_thread::sleep_for(40ms);  // the loop's own time is old now
  bool ran = false;
  const Ticket task = loop.scheduler().after(30ms, [&] { ran = true; });
  ASSERT_TRUE(run_until([&] { return ran; }));
  EXPECT_GE(Clock::now() - started, 70ms);
}

TEST_F(LoopFixture, DroppingATicketCancels) {
  bool ran = false;
  Ticket dropped = loop.scheduler().after(1ms, [&] { ran = true; });
  Ticket next_turn = loop.scheduler().after(0ms, [&] { ran = true; });
  dropped.reset();
  next_turn.reset();
  bool later = false;
  const Ticket sentinel = loop.scheduler().after(20ms, [&] { later = true; });
  ASSERT_TRUE(run_until([&] { return later; }));
  EXPECT_FALSE(ran);
}

TEST_F(LoopFixture, ATaskMayCancelOthersAndDropItsOwnTicket) {
  bool other_ran = false, sentinel_ran = false;
  Ticket other, own;
  own = loop.scheduler().after(5ms, [&, canary = std::make_shared<int>(7)] {
    other.reset();
    own.reset();
    EXPECT_EQ(*canary, 7) << "the captures live until the task has returned";
  });
  other = loop.scheduler().after(5ms, [&] { other_ran = true; });
  const Ticket sentinel = loop.scheduler().after(20ms, [&] { sentinel_ran = true; });
  ASSERT_TRUE(run_until([&] { return sentinel_ran; }));
  EXPECT_FALSE(other_ran);
}

TEST_F(LoopFixture, NextTurnTasksDoNotStarveTimers) {
  int generations = 0;
  bool timer_ran = false;
  std::vector<Ticket> tickets;
  std::function<void()> breed = [&] {
    ++generations;
    if (!timer_ran) tickets.push_back(loop.scheduler().after(0ms, breed));
  };
  breed();
  const Ticket timer = loop.scheduler().after(10ms, [&] { timer_ran = true; });
  EXPECT_TRUE(run_until([&] { return timer_ran; }));
  EXPECT_GT(generations, 1);
}

TEST_F(LoopFixture, NowIsConstantWithinATurn) {
  Millis difference{-1};
  const Ticket task = loop.scheduler().after(1ms, [&] {
    const TimePoint before = loop.now();
    std::this_thread::sleep_for(5ms);
    difference = loop.now() - before;
  });
  ASSERT_TRUE(run_until([&] { return difference >= 0ms; }));
  EXPECT_EQ(difference, 0ms);
}

TEST_F(LoopFixture, ReleasesCancelledTasks) {
  const auto captured = std::make_shared<int>(0);
  Ticket timeout;
  for (int i = 0; i < 10'000; ++i) timeout = loop.scheduler().after(5min, [captured] {});
  EXPECT_EQ(captured.use_count(), 2) << "a dropped ticket frees its captures";
}

TEST_F(LoopFixture, RunEndsIfStopPrecededIt) {
  loop.stop();
  loop.run();
  const Ticket task = loop.scheduler().after(1ms, [&] { loop.stop(); });
  loop.run();
  SUCCEED() << "both returned";
}

TEST_F(LoopFixture, RunsPostsOfOtherThreadsInOrder) {
  std::vector<int> seen;
  const auto home = std::this_thread::get_id();
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i)
      loop.post([&, i] {
        EXPECT_EQ(std::this_thread::get_id(), home);
        seen.push_back(i);
      });
  });
  EXPECT_TRUE(run_until([&] { return seen.size() == 1000; }));
  other.join();
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_F(LoopFixture, APostedTaskMayPost) {
  int depth = 0;
  loop.post([&] { loop.post([&] { depth = 2; }); });
  EXPECT_TRUE(run_until([&] { return depth == 2; }));
}

TEST_F(LoopFixture, SigpipeIsIgnored) {
  struct sigaction now{};
  sigaction(SIGPIPE, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
}

TEST(Loop, WorksInAProcessWithoutStandardStreams) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
    {
      Loop loop;
      loop.turn(Millis{0});
    }
    ::_exit(::open("/dev/null", O_RDONLY) > 2 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Loop, NamesAHandleThatOutlivesIt) {
  auto loop = std::make_unique<Loop>();
  auto leaked = Signal::open(*loop, SIGUSR1, [] {}).value();
  EXPECT_EQ(loop->surviving_handles(), std::vector<std::string>{"signal"});
  leaked.reset();
  EXPECT_EQ(loop->surviving_handles(), std::vector<std::string>{}) << "and only while it does";
}

}  // namespace
}  // namespace sliced::reactor
