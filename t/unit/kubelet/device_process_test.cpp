#include "kubelet/device_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace device_holder_test {
namespace {

// A device that no other process has open: a pseudo terminal of our own.
TEST(DeviceHolder, FindsTheHolderOfANodeByItsNumber) {
  reactor::Descriptor control(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(control);
  ASSERT_EQ(::grantpt(control.get()) | ::unlockpt(control.get()), 0);
  const std::string node = ::ptsname(control.get());
  const auto is_held = [&] { return process_with_open({node}).value_or(std::nullopt).has_value(); };
  EXPECT_FALSE(is_held());
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int open = ::open(node.c_str(), O_RDWR | O_NOCTTY);
    if (open < 0 || ::write(told[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(told[0], &byte, 1), 1);
  const auto holder = process_with_open({"/dev/not-there", node}).value_or(std::nullopt);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(told[0]), ::close(told[1]);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, child);
  EXPECT_FALSE(holder->name.empty());
  EXPECT_FALSE(is_held()) << "it has ended";
}

TEST(DeviceHolder, IgnoresRegularFiles) {
  const reactor::Descriptor file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(process_with_open({"/proc/self/exe"}).value(), std::nullopt);
}

// Red when a daemon that sees its own container's processes alone takes a device for free.
TEST(DeviceHolder, ReportsNoHolderOnlyIfAllProcessesAreVisible) {
  namespace fs = std::filesystem;
  std::string proc = testing::TempDir() + "proc-XXXXXX";
  ASSERT_NE(::mkdtemp(proc.data()), nullptr);
  fs::create_directories(proc + "/1/fd");
  EXPECT_EQ(process_with_open({"/dev/null"}, proc).error().code, Errc::kDenied);
  fs::create_directories(proc + "/self/ns");
  fs::create_symlink("pid:[4026531836]", proc + "/self/ns/pid");
  EXPECT_EQ(process_with_open({"/dev/null"}, proc).value(), std::nullopt);
  fs::create_symlink("/dev/null", proc + "/1/fd/3");
  EXPECT_EQ(process_with_open({"/dev/null"}, proc).value()->pid, 1);
  fs::remove_all(proc);
}

TEST(DeviceHolder, ReportsUnknownForAnInvalidGroup) {
  EXPECT_EQ(probe_vfio_group("/dev/not-there"), GroupUse::kAbsent);
  EXPECT_EQ(probe_vfio_group("/dev/null"), GroupUse::kFree);
  EXPECT_EQ(probe_vfio_group("/dev"), GroupUse::kUnknown) << "EISDIR";
}

TEST(DeviceHolder, FindsProcessesOfAPodByTheirControlGroup) {
  namespace fs = std::filesystem;
  std::string proc = testing::TempDir() + "proc-XXXXXX";
  ASSERT_NE(::mkdtemp(proc.data()), nullptr);
  const auto process = [&](const std::string& pid, const std::string& group) {
    fs::create_directories(proc + "/" + pid);
    std::ofstream(proc + "/" + pid + "/cgroup") << group << "\n";
    std::ofstream(proc + "/" + pid + "/comm") << "pause\n";
  };
  process("1", "0::/init.scope");
  process("40", "0::/kubepods.slice/kubepods-podaaaa_bbbb.slice/cri-containerd-1.scope");
  process("41", "0::/kubepods/burstable/podcccc-dddd/1");
  // Version 1 of control groups: a line for each hierarchy.
  process("42", "9:name=systemd:/system.slice/kubelet.service\n4:memory:/kubepods/podeeee-ffff/2\n0::/");
  process(
      "43",
      "4:memory:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1111_2222.slice/3\n0::/");
  EXPECT_FALSE(process_of_pods({"x"}, proc)) << "these may be the processes of one container alone";
  fs::create_directories(proc + "/self/ns");
  fs::create_symlink("pid:[4026531836]", proc + "/self/ns/pid");
  EXPECT_EQ(process_of_pods({"aaaa-bbbb"}, proc).value()->pid, 40);
  EXPECT_EQ(process_of_pods({"other", "cccc-dddd"}, proc).value()->pid, 41);
  EXPECT_EQ(process_of_pods({"eeee-ffff"}, proc).value()->pid, 42);
  EXPECT_EQ(process_of_pods({"1111-2222"}, proc).value()->pid, 43);
  EXPECT_EQ(process_of_pods({"other", ""}, proc).value(), std::nullopt);
  fs::remove_all(proc);
}

}  // namespace
}  // namespace device_holder_test
}  // namespace sliced::kubelet
