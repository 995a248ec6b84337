#include "reactor/signal.h"

#include <csignal>

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

struct SignalTest : fixture::LoopTest {};

TEST_F(SignalTest, ArrivesOnTheLoop) {
  int raised = 0;
  auto signal = Signal::open(loop, SIGUSR1, [&] { ++raised; }).value();
  std::raise(SIGUSR1);
  EXPECT_EQ(raised, 0) << "not from within the signal handler";
  EXPECT_TRUE(run_until([&] { return raised == 1; }));
}

TEST_F(SignalTest, MustNotBeDestroyedByItsCallback) {
  const auto destroy = [] {
    Loop own;
    std::unique_ptr<Signal> signal;
    signal = Signal::open(own, SIGUSR1, [&] { signal.reset(); }).value();
    std::raise(SIGUSR1);
    own.turn(1s);
    own.turn(1s);
  };
  EXPECT_DEATH(destroy(), "destroyed by its own callback: Signal");
}

TEST_F(SignalTest, KillCannotBeCaught) {
  const auto signal = Signal::open(loop, SIGKILL, [] {});
  ASSERT_FALSE(signal);
  EXPECT_EQ(signal.error().code, Errc::kInvalid);
  EXPECT_EQ(signal.error().what, "signal 9: invalid argument");
}

}  // namespace
}  // namespace sliced::reactor
