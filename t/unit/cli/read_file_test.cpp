#include "cli/read_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "reactor/descriptor.h"
#include "t/fixture/unprivileged.h"

namespace sliced::cli {
namespace read_file_test {
namespace {

struct WriteWholeTest : testing::Test {
  WriteWholeTest() {
    std::string pattern = testing::TempDir() + "written.XXXXXX";
    directory = ::mkdtemp(pattern.data());
  }
  ~WriteWholeTest() override { std::filesystem::remove_all(directory); }
  std::string path(const std::string& name) const { return directory + "/" + name; }
  std::string text(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }
  std::string directory;
};

// A disk that is full after that many bytes.
struct FullDisk {
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit now{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
  rlimit before{};
  void (*handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(WriteWholeTest, CreatesOrReplacesAFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_whole(path("a"), "one"));
  EXPECT_EQ(text("a"), "one");
  ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
  std::filesystem::create_symlink("a", path("link"));
  ASSERT_TRUE(write_whole(path("link"), "two"));
  EXPECT_EQ(text("a"), "two");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(files(), 2u);
}

// Red when a disk that is full leaves half a file, or takes the one that was there before.
TEST_F(WriteWholeTest, KeepsTheFormerFileAfterAFailure) {
  const std::string large(100'000, 'x');
  ASSERT_TRUE(write_whole(path("old"), "old"));
  {
    const FullDisk full(4'096);
    EXPECT_EQ(write_whole(path("new"), large).error().what, "File too large");
    EXPECT_FALSE(write_whole(path("old"), large));
  }
  EXPECT_EQ(text("old"), "old");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(write_whole(path("no/such"), large).error().what, "No such file or directory");
}

// Red when the path decides instead of the file to which it leads: the end of a longer file would stay.
TEST_F(WriteWholeTest, ReplacesAFileUnderEachOfItsPaths) {
  const std::string roundabout = "/proc/self/root" + path("a");
  ASSERT_TRUE(write_whole(path("a"), "longer before"));
  ASSERT_TRUE(write_whole(roundabout, "short"));
  EXPECT_EQ(text("a"), "short");
}

TEST_F(WriteWholeTest, KeepsADanglingLink) {
  std::filesystem::create_directory(path("folder"));
  std::filesystem::create_symlink("folder/made", path("link"));
  std::filesystem::create_symlink(path("link"), path("far"));
  ASSERT_TRUE(write_whole(path("far"), "one"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("far")));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(text("folder/made"), "one");
  std::filesystem::create_symlink("circle", path("circle"));
  EXPECT_EQ(write_whole(path("circle"), "one").error().what, "Too many levels of symbolic links");
  EXPECT_TRUE(std::filesystem::is_symlink(path("circle")));
}

// A process that has opened it may have written to it before, and continues afterwards.
TEST_F(WriteWholeTest, WritesAnOpenFileInPlace) {
  const reactor::Descriptor file(::open(path("a").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  ASSERT_TRUE(write_whole("/proc/self/fd/" + std::to_string(file.get()), "and"));
  ASSERT_EQ(::write(file.get(), " after", 6), 6);
  EXPECT_EQ(text("a"), "before and after");
}

// Red when a run that was killed keeps all those from writing that have its number: in a container each has.
TEST_F(WriteWholeTest, IgnoresTheFileOfAKilledRun) {
  ASSERT_TRUE(write_whole(path("a." + std::to_string(::getpid()) + ".tmp"), "half"));
  ASSERT_TRUE(write_whole(path("a"), "one"));
  EXPECT_EQ(text("a"), "one");
}

TEST_F(WriteWholeTest, KeepsOwnerAndGroup) {
  ASSERT_TRUE(write_whole(path("a"), "one"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path("a").c_str(), 4'711, 4'712), 0);
  }
  ASSERT_EQ(::chmod(path("a").c_str(), 0604), 0);
  struct stat before{}, after{};
  ASSERT_EQ(::stat(path("a").c_str(), &before), 0);
  ASSERT_TRUE(write_whole(path("a"), "two"));
  ASSERT_EQ(::stat(path("a").c_str(), &after), 0);
  EXPECT_EQ(after.st_uid, before.st_uid);
  EXPECT_EQ(after.st_gid, before.st_gid);
  EXPECT_EQ(after.st_mode, before.st_mode);
  EXPECT_EQ(text("a"), "two");
}

TEST_F(WriteWholeTest, AWrittenFileIsNotSetuid) {
  ASSERT_TRUE(write_whole(path("a"), "one"));
  ASSERT_EQ(::chmod(path("a").c_str(), 06755), 0);
  ASSERT_TRUE(write_whole(path("a"), "two"));
  struct stat after{};
  ASSERT_EQ(::stat(path("a").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777, 0755u);
}

TEST_F(WriteWholeTest, WritesInPlaceIfAFileCannotBeReplaced) {
  using std::filesystem::perms;
  ASSERT_TRUE(write_whole(path("a"), "longer before"));
  ASSERT_TRUE(write_whole(path("not-mine"), "one"));
  std::filesystem::permissions(path("not-mine"), perms::owner_read);
  std::filesystem::permissions(directory, perms::owner_read | perms::owner_exec);
  {
    const fixture::Unprivileged as_others;
    EXPECT_TRUE(write_whole(path("a"), "short"));
    EXPECT_EQ(write_whole(path("new"), "one").error().what, "Permission denied");
  }
  std::filesystem::permissions(directory, perms::owner_all);
  {
    const fixture::Unprivileged as_others;
    EXPECT_EQ(write_whole(path("not-mine"), "two").error().what, "Permission denied");
  }
  EXPECT_EQ(text("a"), "short");
  EXPECT_EQ(text("not-mine"), "one");
  EXPECT_EQ(files(), 2u);
}

// Red when what another user has put into a directory for all leads a root's snapshot to a file that the kernel would have
// kept from it. Where the kernel allows it, or this is not a root, it is allowed here, too.
TEST_F(WriteWholeTest, RefusesLinksThatTheKernelDoesNotFollow) {
  constexpr uid_t kOther = 65534;
  std::ofstream(path("precious")) << "old";
  std::filesystem::create_directory(path("all"));
  ASSERT_EQ(chmod(path("all").c_str(), 01777), 0);
  std::filesystem::create_symlink(path("precious"), path("all/link"));
  std::filesystem::create_symlink(path("new"), path("all/dangling"));
  std::ofstream(path("all/file")) << "old";
  for (const char* name : {"all/link", "all/dangling", "all/file"})
    if (geteuid() == 0) {
      ASSERT_EQ(lchown(path(name).c_str(), kOther, kOther), 0);
    }
  for (const char* name : {"all/link", "all/dangling", "all/file"}) {
    const bool may(reactor::Descriptor(open(path(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
    EXPECT_EQ(write_whole(path(name), "bytes").ok(), may) << name;
  }
}

TEST_F(WriteWholeTest, WritesToDevicesAndPipesDirectly) {
  ASSERT_TRUE(write_whole("/dev/null", "x"));
  struct stat is{};
  ASSERT_EQ(::stat("/dev/null", &is), 0);
  EXPECT_TRUE(S_ISCHR(is.st_mode));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_TRUE(write_whole("/dev/fd/" + std::to_string(ends[1]), "piped"));
  char got[8] = {};
  EXPECT_EQ(::read(ends[0], got, sizeof got), 5);
  EXPECT_EQ(std::string(got), "piped");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace read_file_test
}  // namespace sliced::cli
