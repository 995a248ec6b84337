// Which file `configured` makes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "daemon/process.h"
#include "reactor/base/duration.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace configured_test {
namespace {

// Red when a device, or a pipe that somebody reads, is replaced by a file.
TEST(Configured, DeletesOnlyRegularFiles) {
  fixture::SysfsTree host;
  config::Options options;
  options.command = config::Command::kConfigured;
  options.host_root = host.root();
  options.wait_for.how = config::ConfiguredBy::How::kFile;
  options.wait_for.path = host.root() + "/configured";
  ASSERT_EQ(::mkfifo(options.wait_for.path.c_str(), 0600), 0);
  EXPECT_EQ(configured(options), daemon::kExitError);
  EXPECT_TRUE(std::filesystem::is_fifo(options.wait_for.path));
  std::filesystem::remove(options.wait_for.path);
  EXPECT_EQ(configured(options), daemon::kExitSame);
  EXPECT_EQ(configured(options), daemon::kExitSame) << "it may be run again";
  EXPECT_TRUE(std::filesystem::is_regular_file(options.wait_for.path));
}

// Red when a wait that cannot end keeps its pod from ever failing, or is confused with other errors.
TEST(WaitForConfig, EndsWithItsOwnStatusAfterTheTimeout) {
  fixture::SysfsTree host;
  host.boot_id("boot-1");
  config::Options options;
  options.command = config::Command::kWaitForConfig;
  options.host_root = host.root();
  options.wait_for.how = config::ConfiguredBy::How::kFile;
  options.wait_for.path = host.root() + "/sign";
  const std::string path = options.wait_for.path;
  // Where the machine is slow, the first timeouts end before the file was looked for.
  std::string said;
  for (options.wait_timeout = Millis{20}; said.find("no such file") == std::string::npos;
       options.wait_timeout *= 2) {
    testing::internal::CaptureStderr();
    ASSERT_EQ(wait_for_config(options), 2);
    said = testing::internal::GetCapturedStderr();
    ASSERT_NE(said.find("not configured within " + format_duration(options.wait_timeout) + ": "),
              std::string::npos)
        << said;
  }
  EXPECT_NE(said.find(path + ": there is no such file"), std::string::npos) << said;
  std::ofstream(path) << "";
  options.wait_timeout = Millis{0};
  EXPECT_EQ(wait_for_config(options), daemon::kExitSame);
}

}  // namespace
}  // namespace configured_test
}  // namespace sliced::cli
