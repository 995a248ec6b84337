#include "reactor/durable_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sliced::reactor {
namespace durable_file_test {
namespace {

namespace fs = std::filesystem;

class DurableFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "durable-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string path(const std::string& name) const { return root_ + "/" + name; }

  std::string root_;
};

TEST_F(DurableFile, CreatesDirectoriesAndReplacesTheFileAtomically) {
  ASSERT_TRUE(write_durably(path("a/b/c"), "one"));
  EXPECT_EQ(read_whole(path("a/b/c"), 100).value(), "one");
  ASSERT_TRUE(write_durably(path("a/b/c"), ""));
  EXPECT_EQ(read_whole(path("a/b/c"), 100).value(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("a/b")), {}), 1) << "nothing temporary stays";
}

TEST_F(DurableFile, HasTheRequestedModeDespiteTheUmask) {
  const mode_t before = ::umask(077);
  ASSERT_TRUE(write_durably(path("a"), "x", 0644));
  ::umask(before);
  struct stat found{};
  ASSERT_EQ(::stat(path("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
}

TEST_F(DurableFile, IgnoresTheFileOfADeadWriter) {
  std::ofstream(path(".a.tmp")) << "half";
  ASSERT_TRUE(write_durably(path("a"), "whole"));
  EXPECT_EQ(read_whole(path("a"), 100).value(), "whole");
  EXPECT_FALSE(fs::exists(path(".a.tmp")));
}

TEST_F(DurableFile, RemovesTheFileOfADeadWriter) {
  for (const char* name : {".a.tmp", ".b.tmp", ".other.tmp", ".tmp", "..tmp", "c.tmp", ".d", "a"})
    std::ofstream(path(name)) << "half";
  const auto is_ours = [](std::string_view name) { return name != "other"; };
  EXPECT_EQ(remove_temporaries(root_, is_ours).value(), 2u);
  for (const char* name : {".other.tmp", ".tmp", "..tmp", "c.tmp", ".d", "a"})
    EXPECT_TRUE(fs::exists(path(name))) << name;
  EXPECT_EQ(remove_temporaries(path("nowhere"), is_ours).value(), 0u);
  std::ofstream(path(".a.tmp")) << "half";
  EXPECT_TRUE(remove_durably(path("a")));
  EXPECT_FALSE(fs::exists(path(".a.tmp")));
}

TEST_F(DurableFile, ReplacesALink) {
  std::ofstream(path("other")) << "untouched";
  fs::create_symlink("other", path("a"));
  fs::create_symlink("other", path(".a.tmp"));
  ASSERT_TRUE(write_durably(path("a"), "mine"));
  EXPECT_EQ(read_whole(path("other"), 100).value(), "untouched");
  EXPECT_FALSE(fs::is_symlink(path("a")));
}

TEST_F(DurableFile, APipeDoesNotBlock) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_whole(path("pipe"), 100).error().code, Errc::kInvalid);
}

TEST_F(DurableFile, KeepsTheFormerTextAfterAFailure) {
  fs::create_directories(path("a/full"));  // a directory cannot be replaced by a file
  const auto written = write_durably(path("a"), "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find(path("a")), std::string::npos);
  EXPECT_FALSE(fs::exists(path(".a.tmp")));
}

TEST_F(DurableFile, RenamesSeveralFilesAfterAllAreWritten) {
  ASSERT_TRUE(write_durably({{path("a/one"), "1"}, {path("b/two"), "2", 0600}, {path("a/three"), "3"}}));
  EXPECT_EQ(read_whole(path("a/one"), 9).value() + read_whole(path("b/two"), 9).value() +
                read_whole(path("a/three"), 9).value(),
            "123");
  fs::create_directory(path("a/.four.tmp"));  // cannot be removed as a file
  const auto failed = write_durably({{path("a/one"), "new"}, {path("a/four"), "4"}});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().what.find("a/.four.tmp"), std::string::npos) << failed.error().what;
  EXPECT_EQ(read_whole(path("a/one"), 9).value(), "1");
  EXPECT_FALSE(fs::exists(path("a/.one.tmp")));
}

TEST_F(DurableFile, AFailedSetDoesNotAffectTheOthers) {
  std::ofstream(path("file")) << "no directory";
  fs::create_directory(path(".stuck.tmp"));    // cannot be removed as a file
  fs::create_directories(path("taken/full"));  // nothing can be renamed into it
  const auto results = write_each_durably({{{path("one"), "1"}, {path("shared"), "a"}},
                                           {{path("two"), "2"}, {path("file/x"), "x"}, {path("shared"), "b"}},
                                           {{path("three"), "3"}, {path("stuck"), "x"}},
                                           {{path("taken"), "x"}, {path("after"), "4"}},
                                           {},
                                           {{path("five"), "5"}}});
  std::string which;
  for (const auto& result : results) which += result ? '+' : '-';
  EXPECT_EQ(which, "+---++");
  EXPECT_NE(results[1].error().what.find("file"), std::string::npos) << results[1].error().what;
  EXPECT_EQ(read_whole(path("one"), 9).value() + read_whole(path("five"), 9).value(), "15");
  EXPECT_TRUE(read_whole(path("shared"), 9)) << "the first set needs it, too";
  for (const char* name : {"two", "three", "after", ".two.tmp", ".three.tmp", ".after.tmp", ".taken.tmp"})
    EXPECT_FALSE(fs::exists(path(name))) << name;
}

// As of two shares of one device.
TEST_F(DurableFile, KeepsTheLastOfSeveralFilesWithOnePath) {
  const std::string same = path("same"), other = path("other");
  ASSERT_TRUE(write_durably({{same, "a"}, {other, "b"}, {same, "c"}}));
  EXPECT_EQ(read_whole(same, 9).value(), "c");
  EXPECT_EQ(read_whole(other, 9).value(), "b");
}

TEST_F(DurableFile, ASecondRemovalSucceeds) {
  ASSERT_TRUE(write_durably(path("a"), "x"));
  EXPECT_TRUE(remove_durably(path("a")));
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_TRUE(remove_durably(path("a")));
  EXPECT_TRUE(remove_durably(path("nowhere/a")));
}

TEST_F(DurableFile, BoundsReadingAndListing) {
  ASSERT_TRUE(write_durably(path("a"), std::string(100, 'x')));
  EXPECT_EQ(read_whole(path("a"), 100).value().size(), 100u);
  EXPECT_EQ(read_whole(path("a"), 99).error().code, Errc::kTooLarge);
  EXPECT_EQ(read_whole(path("b"), 99).error().code, Errc::kNotFound);
  ASSERT_TRUE(write_durably(path("b"), ""));
  std::ofstream(path(".hidden")) << "";
  EXPECT_EQ(list_names(root_, 2).value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(list_names(root_, 1).error().code, Errc::kTooLarge);
  EXPECT_TRUE(list_names(path("nowhere"), 1).value().empty());
  const auto is_b = [](std::string_view name) { return name == "b"; };
  EXPECT_EQ(list_names(root_, 1, is_b).value(), std::vector<std::string>{"b"}) << "others do not count";
  EXPECT_EQ(list_names(root_, 0, is_b).error().code, Errc::kTooLarge);
}

}  // namespace
}  // namespace durable_file_test
}  // namespace sliced::reactor
