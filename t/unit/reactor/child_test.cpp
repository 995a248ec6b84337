#include "reactor/child.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

bool process_exists(int pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

struct ChildTest : fixture::LoopTest {
  void TearDown() override {
    LoopTest::TearDown();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a zombie was left";
  }

  std::optional<ChildResult> run(ChildSpec spec) {
    std::optional<ChildResult> result;
    auto child = Child::start(loop, std::move(spec), [&](ChildResult got) { result = std::move(got); });
    EXPECT_TRUE(child) << child.error().what;
    EXPECT_FALSE(result) << "not from within start()";
    EXPECT_TRUE(run_until([&] { return result.has_value(); }));
    return result;
  }
  static ChildSpec shell(const std::string& script) {
    return {.argv = {"/bin/sh", "-c", script}, .deadline = fixture::patience()};
  }
};

TEST_F(ChildTest, ReturnsStatusAndBothOutputs) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(result->exit_status, 3);
  EXPECT_EQ(result->signal, 0);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_FALSE(result->ok());
}

TEST_F(ChildTest, WritesItsInput) {
  ChildSpec spec = shell("cat");
  spec.input = std::string(300'000, 'x');  // more than a pipe holds
  const auto result = run(spec);
  EXPECT_TRUE(result->ok());
  EXPECT_EQ(result->out, *spec.input);
  spec = shell("cat; echo end");
  spec.input = "";
  EXPECT_EQ(run(spec)->out, "end\n") << "empty input is an end of file";
  EXPECT_EQ(run(shell("cat; echo end"))->out, "end\n") << "and so is none";
}

TEST_F(ChildTest, IgnoresAChildThatDoesNotReadItsInput) {
  ChildSpec spec = shell("exec <&-; echo done");
  spec.input = std::string(300'000, 'x');
  EXPECT_EQ(run(spec)->out, "done\n");
}

TEST_F(ChildTest, PassesOnlyTheGivenEnvironment) {
  ::setenv("CHILD_TEST_SECRET", "ours", 1);
  ChildSpec spec = shell("echo $CHILD_TEST_SECRET-$GIVEN");
  EXPECT_EQ(run(spec)->out, "ours-\n");
  spec.env = {"GIVEN=yes"};
  EXPECT_EQ(run(spec)->out, "-yes\n");
  ::unsetenv("CHILD_TEST_SECRET");
}

TEST_F(ChildTest, OutputIsBounded) {
  ChildSpec spec = shell("head -c 100000 /dev/zero; echo short >&2");
  spec.output_bytes_max = 1000;
  const auto result = run(spec);
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_EQ(result->err, "short\n");
  EXPECT_TRUE(result->truncated);
  EXPECT_TRUE(result->ok()) << "the child was read to its end and never stopped";
}

TEST_F(ChildTest, SendsSigtermThenSigkillAtTheDeadline) {
  // A slow machine needs more than the first deadline to start the shell.
  const auto run_with_time_to_start = [&](ChildSpec spec) {
    auto result = run(spec);
    for (; !result->out.starts_with("begun"); result = run(spec)) spec.deadline *= 2;
    return result;
  };
  ChildSpec polite = shell("trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.05; done");
  polite.deadline = 200ms;
  polite.kill_after = fixture::patience();
  const auto left = run_with_time_to_start(polite);
  EXPECT_TRUE(left->timed_out);
  EXPECT_EQ(left->out, "begun\nbye\n");
  EXPECT_FALSE(left->ok());

  ChildSpec stubborn = shell("trap '' TERM; echo begun; while :; do sleep 0.05; done");
  stubborn.deadline = 100ms;
  stubborn.kill_after = 100ms;
  const auto killed = run_with_time_to_start(stubborn);
  EXPECT_TRUE(killed->timed_out);
  EXPECT_EQ(killed->signal, SIGKILL);
}

TEST_F(ChildTest, TheDeadlineReachesGrandchildren) {
  ChildSpec spec = shell("sleep 1000 & echo $!; wait");
  spec.deadline = 200ms;
  auto result = run(spec);
  while (result->timed_out && result->out.empty()) {  // a slow machine has not come so far
    spec.deadline *= 2;
    result = run(spec);
  }
  EXPECT_TRUE(result->timed_out);
  // Nobody may reap it here (a container's first process), so a zombie will do: its command line is empty.
  const std::string command_line = "/proc/" + std::to_string(std::stoi(result->out)) + "/cmdline";
  EXPECT_TRUE(run_until([&] { return std::ifstream(command_line).peek() == EOF; }));
}

TEST_F(ChildTest, AGrandchildWithOpenOutputDoesNotDelayTheResult) {
  const auto result = run(shell("sleep 1000000 & echo main"));  // for longer than run() waits
  EXPECT_EQ(result->out, "main\n");
  EXPECT_TRUE(result->ok());
}

TEST_F(ChildTest, DroppingItKillsTheWholeGroupAndReaps) {
  bool exited = false;
  auto child =
      Child::start(loop, shell("sleep 1000; echo never"), [&](ChildResult) { exited = true; }).value();
  const int pid = child->pid();
  ASSERT_TRUE(process_exists(pid));
  child.reset();
  EXPECT_TRUE(run_until([&] { return !process_exists(pid); })) << "reaped";
  EXPECT_FALSE(exited);
}

TEST_F(ChildTest, ReapsAChildDroppedAtItsEnd) {
  auto child = Child::start(loop, shell("sleep 1000"), [](ChildResult) {}).value();
  child.reset();  // TearDown() has the only turns
}

TEST_F(ChildTest, MayBeDestroyedByItsCallback) {
  std::unique_ptr<Child> child;
  child = Child::start(loop, shell("exit 0"), [&, canary = std::make_shared<int>(7)](ChildResult) {
            child.reset();
            EXPECT_EQ(*canary, 7);
          }).value();
  EXPECT_TRUE(run_until([&] { return child == nullptr; }));
}

TEST_F(ChildTest, StartErrorsNameTheProgram) {
  const struct {
    const char* why;
    ChildSpec spec;
    Errc code;
    const char* text;
  } rows[] = {
      {"no such program", {.argv = {"/no/such/program"}}, Errc::kNotFound, "run /no/such/program: "},
      {"not in PATH", {.argv = {"no-such-program"}}, Errc::kNotFound, "run no-such-program: "},
      {"not executable", {.argv = {"/etc/passwd"}}, Errc::kDenied, "run /etc/passwd: "},
      {"nothing", {}, Errc::kInvalid, "no program"},
      {"cut by NUL", {.argv = {"/bin/true", std::string("a\0b", 3)}}, Errc::kInvalid, "NUL"},
  };
  for (const auto& row : rows) {
    const auto child = Child::start(loop, row.spec, [](ChildResult) { ADD_FAILURE() << "never started"; });
    ASSERT_FALSE(child) << row.why;
    EXPECT_EQ(child.error().code, row.code) << row.why;
    EXPECT_NE(child.error().what.find(row.text), std::string::npos) << child.error().what;
  }
}

TEST_F(ChildTest, SignalsAreInTheirDefaultState) {
  EXPECT_EQ(run(shell("kill -PIPE $$; echo survived"))->signal, SIGPIPE)
      << "our own ignoring is not inherited";
}

}  // namespace
}  // namespace sliced::reactor
