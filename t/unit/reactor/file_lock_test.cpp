#include "reactor/file_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reactor/descriptor.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct FileLockTest : testing::Test {
  FileLockTest() {
    char name[] = "/tmp/sliced-lock-XXXXXX";
    root = ::mkdtemp(name);
    directory = root + "/run";
  }
  ~FileLockTest() override { std::filesystem::remove_all(root); }

  std::unique_ptr<FileLock> lock(bool& has, const std::string& file = "a.lock") {
    return std::make_unique<FileLock>(
        scheduler, log, [] { return 0.0; }, FileLock::Where{directory, file, "this test"},
        [&has] { has = true; });
  }
  std::string path() const { return directory + "/a.lock"; }
  mode_t mode(const std::string& of) const {
    struct stat found{};
    EXPECT_EQ(::stat(of.c_str(), &found), 0) << of;
    return found.st_mode & 07777;
  }
  // As another process would: an open file of its own.
  Descriptor hold() const {
    Descriptor file(::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0);
    return file;
  }

  std::string root, directory;
  fake::FakeScheduler scheduler;
  fake::MemoryLog log;
};

TEST_F(FileLockTest, TheSecondWaitsForTheFirst) {
  bool first_has = false, second_has = false;
  auto first = lock(first_has);
  EXPECT_FALSE(first_has) << "not from the constructor";
  scheduler.advance(0ms);
  EXPECT_TRUE(first_has);
  EXPECT_TRUE(first->acquired());
  EXPECT_EQ(mode(directory), 0700u);
  EXPECT_EQ(mode(path()), 0600u);
  const auto second = lock(second_has);
  scheduler.advance(10s);
  EXPECT_FALSE(second_has);
  EXPECT_FALSE(second->acquired());
  EXPECT_EQ(log.count("another instance is active"), 1u);
  EXPECT_EQ(log.count("pid " + std::to_string(::getpid())), 1u) << "the holder is named";
  first.reset();
  scheduler.advance(1s);
  EXPECT_TRUE(second_has);
}

// A log that was rotated away must not be the only place with the reason that nothing is written.
TEST_F(FileLockTest, RepeatsTheMessageOfAWaitEveryTenMinutes) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  const Descriptor held = hold();
  bool has = false;
  const auto waiting = lock(has);
  scheduler.advance(9min);
  EXPECT_EQ(log.count("another instance is active"), 1u);
  scheduler.advance(21min + 5s);
  EXPECT_EQ(log.count("another instance is active"), 4u);
  EXPECT_EQ(log.count("unknown"), 4u) << "a holder that wrote nothing";
}

TEST_F(FileLockTest, EscapesTheHoldersText) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  std::ofstream(path()) << "pid 1\n\x1b[2Jno one " << std::string(10'000, 'x');
  bool has = false;
  const auto waiting = lock(has);
  scheduler.advance(0ms);
  EXPECT_TRUE(has) << "text alone locks nothing";
}

TEST_F(FileLockTest, OtherFilesAreOtherLocks) {
  bool first = false, second = false;
  const auto a = lock(first), b = lock(second, "b.lock");
  scheduler.advance(0ms);
  EXPECT_TRUE(first && second);
}

TEST_F(FileLockTest, TheKernelReleasesTheLockOfAKilledHolder) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const int file = ::open(path().c_str(), O_RDWR | O_CREAT, 0600);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0 && ::write(ready[1], "x", 1) == 1)
      for (;;) ::pause();
    ::_exit(1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  bool has = false;
  const auto waiting = lock(has);
  scheduler.advance(5s);
  EXPECT_FALSE(has);
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  scheduler.advance(1s);
  EXPECT_TRUE(has);
  ::close(ready[0]);
  ::close(ready[1]);
}

// A program that is started meanwhile must not keep the lock after the daemon has ended.
TEST_F(FileLockTest, IsClosedOnExec) {
  bool has = false;
  const auto held = lock(has);
  scheduler.advance(0ms);
  ASSERT_TRUE(has);
  struct stat wanted{};
  ASSERT_EQ(::stat(path().c_str(), &wanted), 0);
  bool is_found = false;
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat found{};
    if (::fstat(fd, &found) != 0 || found.st_ino != wanted.st_ino || found.st_dev != wanted.st_dev) continue;
    is_found = true;
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(is_found);
}

// Red when a lock on a file that other processes will not find counts.
TEST_F(FileLockTest, IgnoresALockOnAReplacedFile) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  bool has = false;
  auto waiting = lock(has);
  {
    const Descriptor held = hold();
    scheduler.advance(2s);
    EXPECT_FALSE(has);
    ASSERT_EQ(::unlink(path().c_str()), 0);
    scheduler.advance(2s);
    EXPECT_TRUE(has) << "the path leads to a new file, and that is free";
  }
  bool second_has = false;
  const auto second = lock(second_has);
  scheduler.advance(2s);
  EXPECT_FALSE(second_has);
}

TEST_F(FileLockTest, DoesNotFollowSymbolicLinks) {
  ASSERT_EQ(::mkdir((root + "/elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(::symlink((root + "/elsewhere").c_str(), directory.c_str()), 0);
  const auto refused = prepare_private_directory(directory);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("symbolic links are not followed"), std::string::npos);
  ASSERT_EQ(::unlink(directory.c_str()), 0);
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(::symlink((root + "/elsewhere/x").c_str(), path().c_str()), 0);
  bool has = false;
  const auto waiting = lock(has);
  scheduler.advance(1min);
  EXPECT_FALSE(has);
  EXPECT_FALSE(std::filesystem::exists(root + "/elsewhere/x"));
  EXPECT_EQ(log.count("lock not acquired"), 1u) << "said once";
  scheduler.advance(10min);
  EXPECT_EQ(log.count("lock not acquired"), 2u) << "and again";
}

TEST_F(FileLockTest, RefusesADirectoryThatOthersCanOpen) {
  const struct {
    mode_t mode;
    bool is_refused;
  } rows[] = {{0700, false}, {0750, false}, {0755, true}, {0770, true}, {0707, true},
              {0777, true},  {01777, true}, {0711, true}, {0701, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.mode);
    std::filesystem::remove_all(directory);
    ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
    std::ofstream(directory + "/something") << "of somebody";
    ASSERT_EQ(::chmod(directory.c_str(), row.mode), 0);
    const auto checked = prepare_private_directory(directory);
    EXPECT_EQ(!checked, row.is_refused);
    EXPECT_EQ(mode(directory), row.mode) << "what is refused is not changed";
    if (checked) continue;
    EXPECT_NE(checked.error().what.find(directory + " has mode "), std::string::npos) << checked.error().what;
    EXPECT_NE(checked.error().what.find("chmod 0700 " + directory), std::string::npos)
        << checked.error().what;
  }
}

// Red when the directory's group can open a file that was there before, and so lock it.
TEST_F(FileLockTest, RestrictsAFileThatOthersCouldLock) {
  ASSERT_TRUE(prepare_private_directory(directory));
  std::ofstream(path()) << "of an older version";
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  bool has = false;
  auto first = lock(has);
  scheduler.advance(0ms);
  EXPECT_TRUE(has);
  EXPECT_EQ(mode(path()), 0600u);
  first.reset();
  if (::geteuid() != 0) return;  // only root can change the owner
  ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
  has = false;
  first = lock(has);
  scheduler.advance(10s);
  EXPECT_FALSE(has);
  EXPECT_EQ(log.count(path() + " belongs to uid 65534: remove it"), 1u) << log.all();
}

// As a kubelet makes a hostPath (DirectoryOrCreate).
TEST_F(FileLockTest, RestrictsAnEmptyOwnDirectory) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_TRUE(prepare_private_directory(directory));
  EXPECT_EQ(mode(directory), 0750u);
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_FALSE(prepare_private_directory(directory)) << "others may have written into it";
}

// As root the test gives it to another user; otherwise /proc, which is root's, is used.
TEST_F(FileLockTest, RefusesAForeignDirectory) {
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chown(directory.c_str(), 65534, 65534), 0);
  }
  const std::string path = is_root ? directory : "/proc";
  const auto checked = prepare_private_directory(path);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find(path + " belongs to uid"), std::string::npos) << checked.error().what;
}

TEST_F(FileLockTest, WaitsForALateDirectory) {
  const std::string parent = directory;
  directory += "/deeper";
  bool has = false;
  const auto waiting = lock(has);
  scheduler.advance(5s);
  EXPECT_FALSE(has);
  EXPECT_EQ(log.count("lock not acquired"), 1u);
  ASSERT_EQ(::mkdir(parent.c_str(), 0700), 0);
  scheduler.advance(1s);
  EXPECT_TRUE(has);
}

TEST_F(FileLockTest, MayBeDestroyedByItsCallback) {
  std::unique_ptr<FileLock> own;
  own = std::make_unique<FileLock>(
      scheduler, log, [] { return 0.0; }, FileLock::Where{directory, "a.lock", "this test"},
      [&, canary = std::make_shared<int>(7)] {
        own.reset();
        EXPECT_EQ(*canary, 7);
      });
  scheduler.advance(0ms);
  EXPECT_EQ(own, nullptr);
}

}  // namespace
}  // namespace sliced::reactor
