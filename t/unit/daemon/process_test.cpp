#include "daemon/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "daemon/host_process.h"
#include "reactor/signal.h"

namespace sliced::daemon {
namespace {

// `| head`: the reader has what it asked for.
TEST(Print, IgnoresAClosedPipe) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  testing::internal::CaptureStderr();
  const bool is_printed = print("a line\n");
  const std::string said = testing::internal::GetCapturedStderr();
  ::dup2(before, STDOUT_FILENO);
  ::close(before), ::close(ends[1]);
  std::clearerr(stdout);
  EXPECT_TRUE(is_printed);
  EXPECT_EQ(said, "");
}

// Red when the process waits for what a worker does: SIGTERM would be answered when that ends, and it never
// does.
TEST(LeavingDeathTest, AHangingWorkerDoesNotDelayTheExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        config::Options options;
        options.command = config::Command::kRun;
        options.host_root = testing::TempDir();
        auto process = HostProcess::open_host_only(options);
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

// Red when another file gets the number of standard output that was closed: what is printed is lost, and the exit status says
// that it is there.
TEST(StandardFilesDeathTest, PrintingToAClosedPipeFails) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::close(STDIN_FILENO);
        ::close(STDOUT_FILENO);
        open_standard_files();
        const int next = ::open("/dev/null", O_WRONLY);
        char c = 0;
        _exit(next > STDERR_FILENO && !print("lost\n") && ::read(STDIN_FILENO, &c, 1) < 0 ? 7 : 3);
      },
      testing::ExitedWithCode(7), "standard output cannot be written");
}

// Red when `plan` waits 30 s for the repair of an invalid kubeconfig.
TEST(Opening, AnInvalidKubeconfigEndsAOneShotCommand) {
  const std::string path = testing::TempDir() + "/no-kubeconfig";
  std::ofstream(path) << "root:x:0:0\n";
  config::Options options;
  options.host_root = testing::TempDir();
  options.cluster = config::KubeconfigFile{path};
  options.command = config::Command::kPlan;
  const auto refused = Process::open(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("not a kubeconfig"), std::string::npos) << refused.error().what;
  options.command = config::Command::kRun;
  EXPECT_TRUE(Process::open(options)) << "a daemon waits for it";
}

// Red when another program reports that sliced has lost lines.
TEST(Process, ReportsLostLinesUnderTheProgramsName) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::fflush(stdout);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(ends[1], STDOUT_FILENO);
  std::string read(size_t{1} << 20, 0);
  {
    config::Options options;
    options.program = config::Program::kController;
    options.command = config::Command::kAggregate;
    const auto process = Process::open_bare(options);
    while (process->out.lost() == 0) process->out.put(std::string(size_t{1} << 19, 'x') + "\n");
    for (size_t at = 0; read.find("texts lost") == std::string::npos ||
                        read.find('\n', read.find("texts lost")) == std::string::npos;) {
      if (at == read.size()) read.resize(2 * at);
      const ssize_t some = ::read(ends[0], read.data() + at, read.size() - at);
      if (some <= 0) break;
      at += static_cast<size_t>(some);
    }
  }
  ::dup2(before, STDOUT_FILENO);
  ::close(before), ::close(ends[0]), ::close(ends[1]);
  const size_t at = read.find(" texts lost");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(std::string_view(read).substr(0, at).ends_with("\nsliced-controller: 1"))
      << read.substr(at < 40 ? 0 : at - 40, 80);
}

// Red when the name of an object controls the terminal of a user.
TEST(Complain, EscapesForeignText) {
  testing::internal::CaptureStderr();
  print_error("policy \x1b[2J: \"x\"\n  ^\xff");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "sliced: policy \\x1b[2J: \"x\"\n  ^\\xff\n");
}

}  // namespace
}  // namespace sliced::daemon
