#include "kubelet/cni/sysctls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sliced::cni {
namespace sysctls_test {
namespace {

enum Step { kDone = 0, kNoNamespace, kNoMount, kWritable, kFailed, kStillReadOnly, kOtherFlags };

// As a runtime leaves /proc/sys: a mount of its own over the same directory, read-only.
int make_and_look(const std::string& directory) {
  if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoNamespace;
  const char* path = directory.c_str();
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kNoMount;
  if (::mount(path, path, nullptr, MS_BIND, nullptr) != 0) return kNoMount;
  if (::mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0)
    return kNoMount;
  if (::open((directory + "/file").c_str(), O_CREAT | O_WRONLY, 0600) >= 0) return kWritable;
  if (!make_writable(directory) || !make_writable(directory)) return kFailed;
  if (::open((directory + "/file").c_str(), O_CREAT | O_WRONLY, 0600) < 0) return kStillReadOnly;
  struct statvfs found{};
  if (::statvfs(path, &found) != 0) return kFailed;
  const unsigned long kept = ST_NOSUID | ST_NODEV;
  return (found.f_flag & kept) == kept ? kDone : kOtherFlags;
}

TEST(Sysctls, MakesAReadOnlyMountWritableAndKeepsOtherFlags) {
  std::string pattern = testing::TempDir() + "sysctls.XXXXXX";
  const std::string directory = ::mkdtemp(pattern.data());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(make_and_look(directory));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kDone);
  std::filesystem::remove_all(directory);
}

TEST(Sysctls, LeavesAWritableMountAloneAndReportsAMissingFile) {
  EXPECT_TRUE(make_writable(testing::TempDir()));
  EXPECT_NE(make_writable("/nowhere/sys").error().what.find("/nowhere/sys"), std::string::npos);
}

}  // namespace
}  // namespace sysctls_test
}  // namespace sliced::cni
