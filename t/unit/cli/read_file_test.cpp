#include "cli/read_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

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

TEST_F(WriteWholeTest, AFileIsMadeOrReplacedAndNothingElseIsLeft) {
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
TEST_F(WriteWholeTest, WhatFailsMidwayLeavesEverythingAsItWas) {
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

TEST_F(WriteWholeTest, ADeviceAndAPipeAreWrittenToAsTheyAre) {
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
