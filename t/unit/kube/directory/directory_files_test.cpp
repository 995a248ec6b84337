#include "kube/directory/directory_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "t/fixture/unprivileged.h"

namespace sliced::kube {
namespace directory_files_test {
namespace {

// The kernel opens such a folder of an ended process, and does not list it. Red when an unlisted entry counts as missing.
TEST(NamesIn, RefusesAPartiallyListedFolder) {
  const pid_t over = ::fork();
  ASSERT_GE(over, 0);
  if (over == 0) ::_exit(0);
  siginfo_t ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(over), &ended, WEXITED | WNOWAIT), 0);
  const auto names = names_in("/proc/" + std::to_string(over) + "/net");
  EXPECT_FALSE(names.ok());
  ::waitpid(over, nullptr, 0);
}

TEST(SortOf, ClassifiesPaths) {
  char pattern[] = "/tmp/sliced-sort-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  std::ofstream(folder + "/file") << "x";
  std::filesystem::create_directory(folder + "/folder");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  for (const char* to : {"file", "folder", "pipe", "nowhere"})
    std::filesystem::create_symlink(to, folder + "/to-" + to);
  const struct {
    const char* name;
    Sort sort;
  } rows[] = {{"nothing", Sort::kNone},     {"file/nothing", Sort::kNone}, {"file", Sort::kFile},
              {"to-file", Sort::kFile},     {"folder", Sort::kFolder},     {"to-folder", Sort::kOther},
              {"to-nowhere", Sort::kOther}, {"pipe", Sort::kOther},        {"to-pipe", Sort::kOther}};
  struct stat status{};
  for (const auto& row : rows) {
    const auto sort = sort_of(folder + "/" + row.name, status);
    ASSERT_TRUE(sort.ok()) << row.name;
    EXPECT_EQ(*sort, row.sort) << row.name;
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_read);
  {
    const fixture::Unprivileged as_others;
    for (const auto& row : rows) {
      const auto sort = sort_of(folder + "/" + row.name, status);
      ASSERT_FALSE(sort.ok()) << row.name;
      EXPECT_EQ(sort.error().what, "look at \"" + folder + "/" + row.name + "\": Permission denied");
    }
  }
  const auto long_name = sort_of(folder + "/" + std::string(300, 'x'), status);
  ASSERT_FALSE(long_name.ok());
  EXPECT_NE(long_name.error().what.find("File name too long"), std::string::npos) << long_name.error().what;
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace directory_files_test
}  // namespace sliced::kube
