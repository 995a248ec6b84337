#include "reactor/open_files.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "reactor/child.h"
#include "reactor/descriptor.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace open_files_test {
namespace {

struct OpenFilesTest : fixture::LoopTest {
  OpenFilesTest() {
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{kFew, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~OpenFilesTest() override { ::setrlimit(RLIMIT_NOFILE, &before); }

  std::string said(const std::string& script) {
    std::optional<ChildResult> result;
    const auto child = Child::start(loop, {.argv = {"/bin/sh", "-c", script}},
                                    [&](ChildResult got) { result = std::move(got); });
    if (!child) return child.error().what;
    EXPECT_TRUE(run_until([&] { return result.has_value(); }));
    return result->out + result->err;
  }

  static constexpr rlim_t kFew = 64;
  rlimit before{};
};

// Red when a program that closes all that it might have, or asks select(2), finds another limit than it had before.
TEST_F(OpenFilesTest, RaisesTheLimitOfThisProcessAndNotOfItsChildren) {
  EXPECT_EQ(said("ulimit -Sn"), "64\n");
  const auto raised = raise_open_files();
  ASSERT_TRUE(raised) << raised.error().what;
  EXPECT_EQ(raised->before, kFew);
  EXPECT_EQ(raised->now, std::min<uint64_t>(before.rlim_max, kOpenFilesMax));
  EXPECT_GT(raised->now, kFew);
  EXPECT_EQ(said("ulimit -Sn"), "64\n");
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, raised->now);
  EXPECT_EQ(raise_open_files()->now, raised->now) << "once more";
  EXPECT_EQ(
      said("ulimit -Sn; ulimit -Hn"),
      "64\n" +
          (before.rlim_max == RLIM_INFINITY ? std::string("unlimited") : std::to_string(before.rlim_max)) +
          "\n");
}

// Red when a program cannot be started because the open files of this process reach its former limit.
TEST_F(OpenFilesTest, StartsProgramsBeyondTheirOwnLimit) {
  ASSERT_TRUE(raise_open_files());
  std::vector<Descriptor> many;
  for (rlim_t i = 0; i < 2 * kFew; ++i) many.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(many.back());
  EXPECT_EQ(said("read line || echo nothing; ulimit -Sn"), "nothing\n64\n");
}

}  // namespace
}  // namespace open_files_test
}  // namespace sliced::reactor
