#include "cli/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "controller/commands.h"
#include "daemon/process.h"
#include "kubectl/commands.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace {

TEST(Commands, EveryDescribedCommandIsImplementedInItsPrograms) {
  const struct {
    config::Program program;
    std::span<const CommandWork> commands;
  } rows[] = {{config::Program::kNode, node_commands()},
              {config::Program::kController, controller::controller_commands()},
              {config::Program::kKubectl, kubectl::kubectl_commands()}};
  for (const auto& row : rows) {
    std::vector<config::Command> listed;
    for (const auto& some : {row.commands, common_commands()})
      for (const CommandWork& one : some)
        if (config::has_command(row.program, config::info_of(one.command))) listed.push_back(one.command);
    std::vector<config::Command> described;
    for (const auto* command : config::commands_of(row.program)) described.push_back(command->id);
    std::sort(listed.begin(), listed.end());
    std::sort(described.begin(), described.end());
    EXPECT_EQ(listed, described) << config::info_of(row.program).name;
    for (const CommandWork& one : row.commands)
      EXPECT_TRUE(config::has_command(row.program, config::info_of(one.command)));
  }
}

// Red when the output claims that an edit changes nothing although an object could not be read.
TEST(Commands, AnUnreadableFileIsNotReportedAsAnEditWithoutEffect) {
  fixture::SysfsTree files;
  files.write(
      "edit.yaml",
      "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: e}\n"
      "spec: {priority: 1, action: exclude, nodeSelector: {matchLabels: {a: b}}, selector: {cel: 'true'}}\n");
  files.write("cluster/node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: w}\n");
  config::Options options;
  options.command = config::Command::kPolicies;
  options.cluster = config::ClusterDirectory{files.root() + "/cluster"};
  options.log_level = Level::kError;
  options.diff_file = files.root() + "/edit.yaml";
  const auto asked = [&] {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = kubectl::policies(options);
    return std::to_string(status) + " " + testing::internal::GetCapturedStdout() +
           testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(asked(), "0 0 nodes would change: 0 devices more, 0 fewer, 0 changed; 1 node would not\n");
  std::string report =
      "apiVersion: networking.dra.io/v1alpha1\nkind: NodeDeviceReport\nmetadata: {name: w}\nstatus: {x: [0";
  for (int i = 0; i < 200'000; ++i) report += ",0";
  files.write("cluster/report.yaml", report + "]}\n");
  const std::string said = asked();
  EXPECT_TRUE(said.starts_with("2 ")) << said;
  EXPECT_NE(said.find("a NodeDeviceReport cannot be read"), std::string::npos) << said;
}

}  // namespace
}  // namespace sliced::cli
