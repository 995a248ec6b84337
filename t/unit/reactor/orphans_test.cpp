#include "reactor/orphans.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <vector>

#include "reactor/child.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

// A child whose own child outlives it: an orphan, which ends immediately or when the pipe's other end is closed.
pid_t leave_orphan(int until_closed) {
  int told[2];
  if (::pipe(told) != 0) return -1;
  const pid_t parent = ::fork();
  if (parent == 0) {
    const pid_t orphan = ::fork();
    if (orphan == 0) {
      char byte;
      if (until_closed >= 0) (void)!::read(until_closed, &byte, 1);
      ::_exit(7);
    }
    ::_exit(::write(told[1], &orphan, sizeof orphan) == sizeof orphan ? 0 : 1);
  }
  pid_t orphan = -1;
  if (::read(told[0], &orphan, sizeof orphan) != sizeof orphan) orphan = -1;
  ::close(told[0]);
  ::close(told[1]);
  ::waitpid(parent, nullptr, 0);
  return orphan;
}

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

struct OrphansTest : fixture::LoopTest {
  OrphansTest() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~OrphansTest() override {
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
};

// Red when zombies pile up, and when a Child's status is taken from it.
TEST_F(OrphansTest, ReapsOrphansAndKeepsTheStatusOfChildren) {
  const pid_t before = leave_orphan(-1);
  auto reaper = OrphanReaper::open(loop);
  ASSERT_TRUE(reaper);
  EXPECT_TRUE(run_until([&] { return !exists(before); })) << "one that was there already";
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Child>> children;
    std::vector<int> statuses;
    std::vector<pid_t> orphans;
    for (int i = 0; i < 4; ++i) {
      orphans.push_back(leave_orphan(-1));
      auto child = Child::start(loop, {.argv = {"/bin/sh", "-c", "exit 3"}},
                                [&](ChildResult result) { statuses.push_back(result.exit_status); });
      ASSERT_TRUE(child);
      children.push_back(*std::move(child));
      orphans.push_back(leave_orphan(-1));
    }
    ASSERT_TRUE(run_until(
        [&] { return statuses.size() == 4 && std::none_of(orphans.begin(), orphans.end(), exists); }));
    EXPECT_EQ(statuses, std::vector<int>(4, 3));
  }
}

TEST_F(OrphansTest, ReapsALateOrphan) {
  int held[2];
  ASSERT_EQ(::pipe2(held, O_CLOEXEC), 0);
  auto reaper = OrphanReaper::open(loop);
  const pid_t orphan = leave_orphan(held[0]);
  handle_ready();
  EXPECT_TRUE(exists(orphan));
  // The orphan has both ends, as a fork does; a byte ends it.
  ASSERT_EQ(::write(held[1], "x", 1), 1);
  EXPECT_TRUE(run_until([&] { return !exists(orphan); }));
  ::close(held[0]);
  ::close(held[1]);
}

TEST_F(OrphansTest, ReapsOnlyAsProcessOne) {
  ASSERT_NE(::getpid(), 1);
  auto reaper = OrphanReaper::open_for_init(loop);
  ASSERT_TRUE(reaper);
  EXPECT_EQ(*reaper, nullptr);
}

// Process 1 of a pid namespace of its own, as in a container.
int run_as_init() {
  Loop loop;
  auto reaper = OrphanReaper::open_for_init(loop);
  if (!reaper || !*reaper) return 11;
  const pid_t orphan = leave_orphan(-1);
  std::optional<int> status;
  auto child = Child::start(loop, {.argv = {"/bin/sh", "-c", "exit 5"}},
                            [&](ChildResult result) { status = result.exit_status; });
  if (!child) return 12;
  while (!status || exists(orphan)) loop.turn(20ms);
  return *status == 5 ? 0 : 15;
}

TEST(Init, ReapsOrphansInItsNamespace) {
  const pid_t outer = ::fork();
  if (outer == 0) {
    const int flags = ::geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID;
    if (::unshare(flags) != 0) ::_exit(21);
    const pid_t init = ::fork();
    if (init == 0) ::_exit(run_as_init());
    int status = 0;
    ::waitpid(init, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 22);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(outer, &status, 0), outer);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0)
      << "11: no reaper, 13: a child's status was lost, 14: a zombie is left, 21: no namespace";
}

}  // namespace
}  // namespace sliced::reactor
