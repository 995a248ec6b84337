#include "cli/process.h"

#include <gtest/gtest.h>

#include <csignal>

#include "reactor/signal.h"

namespace sliced::cli {
namespace {

// Red when the process waits for what a worker does: SIGTERM would be answered when that ends, and it never
// does.
TEST(LeavingDeathTest, AWorkerThatNeverEndsHoldsNobody) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        config::Options options;
        options.command = config::Command::kRun;
        options.host_root = testing::TempDir();
        auto process = Process::open_host_only(options);
        if (!process) _exit(3);
        Process& running = **process;
        const auto job = running.executor->run(
            [] {
              for (volatile bool is_endless = true; is_endless;) {
              }
            },
            Millis{0}, [](bool) {});
        const auto term = reactor::Signal::open(running.loop, SIGTERM, [&] { running.loop.stop(); });
        const auto soon = running.loop.scheduler().after(Millis{1}, [] { raise(SIGTERM); });
        running.run();
        exit(running.leave(7));
      },
      testing::ExitedWithCode(7), "");
}

// Red when what somebody calls an object steers the terminal of who asks about it.
TEST(Complain, WhatOthersWroteSteersNoTerminal) {
  testing::internal::CaptureStderr();
  complain("policy \x1b[2J: \"x\"\n  ^\xff");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "sliced: policy \\x1b[2J: \"x\"\n  ^\\xff\n");
}

}  // namespace
}  // namespace sliced::cli
