#include "reactor/inotify.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {

void PrintTo(const FileEvent& event, std::ostream* out) {
  *out << static_cast<int>(event.kind) << ' ' << event.directory << ' ' << event.name
       << (event.is_directory ? "/" : "");
}

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Kind = FileEvent::Kind;

struct InotifyTest : fixture::LoopTest {
  InotifyTest() {
    char name[] = "/tmp/inotify-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~InotifyTest() override { fs::remove_all(root); }

  std::unique_ptr<Inotify> open() {
    return Inotify::open(loop, [this](const FileEvent& event) { events.push_back(event); }).value();
  }
  void write(const std::string& path, const std::string& text = "x") {
    std::ofstream(root + "/" + path) << text;
  }
  // The order of events is the kernel's, so one more that is known to come closes the list.
  std::vector<FileEvent> collect(Inotify& inotify) {
    const std::string end = root + "/end";
    fs::create_directory(end);
    EXPECT_TRUE(inotify.watch(end));
    std::ofstream(end + "/mark") << "x";
    const auto is_mark = [&](const FileEvent& event) {
      return event.directory == end && event.kind == Kind::kWritten;
    };
    EXPECT_TRUE(run_until([&] { return std::any_of(events.begin(), events.end(), is_mark); }));
    fs::remove_all(end);
    std::erase_if(events,
                  [&](const FileEvent& event) { return event.directory == end || event.name == "end"; });
    return std::exchange(events, {});
  }

  std::string root;
  std::vector<FileEvent> events;
};

TEST_F(InotifyTest, ReportsChangesOfFiles) {
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(root));
  write("a");
  fs::rename(root + "/a", root + "/b");
  fs::remove(root + "/b");
  EXPECT_EQ(collect(*inotify), (std::vector<FileEvent>{{Kind::kCreated, root, "a"},
                                                       {Kind::kWritten, root, "a"},
                                                       {Kind::kMovedOut, root, "a"},
                                                       {Kind::kMovedIn, root, "b"},
                                                       {Kind::kDeleted, root, "b"}}));
}

TEST_F(InotifyTest, ReportsLinksAndDirectories) {
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(root));
  fs::create_symlink("target", root + "/..data");
  fs::create_directory(root + "/sub");
  fs::remove(root + "/sub");
  EXPECT_EQ(collect(*inotify), (std::vector<FileEvent>{{Kind::kCreated, root, "..data"},
                                                       {Kind::kCreated, root, "sub", true},
                                                       {Kind::kDeleted, root, "sub", true}}));
}

TEST_F(InotifyTest, ReportsARemovedDirectoryOnceAndStopsWatching) {
  const std::string deleted = root + "/deleted", moved = root + "/moved";
  fs::create_directory(deleted);
  fs::create_directory(moved);
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(deleted));
  ASSERT_TRUE(inotify->watch(moved));
  fs::remove(deleted);
  fs::rename(moved, root + "/elsewhere");
  std::ofstream(root + "/elsewhere/file") << "x";
  EXPECT_EQ(collect(*inotify), (std::vector<FileEvent>{{Kind::kDirectoryGone, deleted, "", true},
                                                       {Kind::kDirectoryGone, moved, "", true}}));
  fs::create_directory(deleted);
  ASSERT_TRUE(inotify->watch(deleted)) << "the name can be watched again";
  std::ofstream(deleted + "/file") << "x";
  EXPECT_EQ(collect(*inotify).size(), 2u);
}

TEST_F(InotifyTest, WatchingTwiceIsHarmless) {
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(root));
  ASSERT_TRUE(inotify->watch(root));
  write("a");
  EXPECT_EQ(collect(*inotify).size(), 2u);
}

TEST_F(InotifyTest, FollowsANameToItsNewDirectory) {
  const std::string path = root + "/policies";
  fs::create_directory(path);
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(path));
  fs::rename(path, root + "/old");
  fs::create_directory(path);
  ASSERT_TRUE(inotify->watch(path)) << "before the loop has heard of the rename";
  std::ofstream(root + "/old/stale") << "x";
  std::ofstream(path + "/fresh") << "x";
  EXPECT_EQ(collect(*inotify),
            (std::vector<FileEvent>{{Kind::kCreated, path, "fresh"}, {Kind::kWritten, path, "fresh"}}));
}

TEST_F(InotifyTest, ErrorsNameTheDirectory) {
  auto inotify = open();
  write("file");
  const struct {
    std::string path;
    Errc code;
  } rows[] = {{root + "/none", Errc::kNotFound}, {root + "/file", Errc::kInvalid}};
  for (const auto& row : rows) {
    const auto watched = inotify->watch(row.path);
    ASSERT_FALSE(watched) << row.path;
    EXPECT_EQ(watched.error().code, row.code) << row.path;
    EXPECT_NE(watched.error().what.find(row.path), std::string::npos) << watched.error().what;
  }
}

TEST_F(InotifyTest, ReportsAnOverflow) {
  size_t queue_max = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue_max;
  ASSERT_GT(queue_max, 0u);
  ASSERT_LE(queue_max, 1u << 20) << "the limit of this machine makes the provocation too long";
  auto inotify = open();
  ASSERT_TRUE(inotify->watch(root));
  write("a");
  const std::string here = root + "/a", there = root + "/b";
  for (size_t queued = 0; queued <= queue_max;
       queued += 4) {  // two events for a rename; none is read meanwhile
    ASSERT_EQ(::rename(here.c_str(), there.c_str()), 0);
    ASSERT_EQ(::rename(there.c_str(), here.c_str()), 0);
  }
  EXPECT_TRUE(run_until([&] {
    return std::find(events.begin(), events.end(), FileEvent{.kind = Kind::kOverflow}) != events.end();
  }));
  events.clear();
  EXPECT_TRUE(inotify->watch(root));
  write("after");
  EXPECT_TRUE(run_until([&] { return !events.empty() && events.back().name == "after"; })) << "it goes on";
}

TEST_F(InotifyTest, MustNotBeDestroyedByItsCallback) {
  const auto destroy = [this] {
    Loop own;
    std::unique_ptr<Inotify> inotify;
    inotify = Inotify::open(own, [&](const FileEvent&) { inotify.reset(); }).value();
    if (!inotify->watch(root)) return;
    write("a");
    own.turn(1s);
  };
  EXPECT_DEATH(destroy(), "destroyed by its own callback: ");
}

}  // namespace
}  // namespace sliced::reactor
