// Whose SriovNetworkNodeState is compared with this host.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "daemon/process.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace drift_test {
namespace {

std::string state_of(const std::string& node) {
  return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodeState\nmetadata: {name: " + node +
         "}\nspec: {interfaces: []}\n---\n";
}

struct DriftOf : testing::Test {
  DriftOf() { host.load(std::string(SLICED_EXAMPLES) + "/reference-node/host.txt"); }
  // Returns the exit status; the output is in `said`.
  int asked(const std::string& states) {
    config::Options options;
    options.command = config::Command::kDrift;
    options.node_name = "here";
    options.host_root = host.root();
    options.runtime_directory = host.root();
    options.node_state = host.root() + "/states.yaml";
    std::ofstream(options.node_state) << states;
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = drift(options);
    out = testing::internal::GetCapturedStdout();
    said = testing::internal::GetCapturedStderr();
    return status;
  }
  int asked_of_files(const std::vector<std::string>& files) {
    config::Options options;
    options.command = config::Command::kDrift;
    options.node_name = "here";
    options.host_root = host.root();
    options.runtime_directory = host.root();
    for (const std::string& text : files) {
      options.arguments.push_back(host.root() + "/" + std::to_string(options.arguments.size()) + ".yaml");
      std::ofstream(options.arguments.back()) << text;
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = drift(options);
    testing::internal::GetCapturedStdout();
    said = testing::internal::GetCapturedStderr();
    return status;
  }
  fixture::SysfsTree host;
  std::string out, said;
};

TEST_F(DriftOf, FindsItsOwnStatusAmongOthers) {
  EXPECT_EQ(asked(state_of("there") + state_of("here")), daemon::kExitSame);
  EXPECT_EQ(said, "");
}

// Red when all fields are as required, and the output omits that the operator could not configure the node.
TEST_F(DriftOf, StartsWithTheStatusOfTheOperator) {
  const std::pair<const char*, const char*> rows[] = {
      {"{syncStatus: Failed, lastSyncError: 'failed to configure GUID of VF 2'}",
       "syncStatus Failed, lastSyncError: failed to configure GUID of VF 2\n"},
      {"{syncStatus: InProgress}", "syncStatus InProgress\n"},
      {"{syncStatus: Succeeded}", "syncStatus Succeeded\n"},
      {"{syncStatus: Succeeded, lastSyncError: \"a\\nb\"}", "syncStatus Succeeded, lastSyncError: a\\x0ab\n"},
      {"{}", "syncStatus is not set\n"}};
  for (const auto& [status, line] : rows) {
    std::string state = state_of("here");
    state.insert(state.find("---"), std::string("status: ") + status + "\n");
    EXPECT_EQ(asked(state), daemon::kExitSame) << "the status does not decide";
    EXPECT_TRUE(out.substr(0, out.find('\n') + 1).ends_with(line)) << out;
  }
}

// Red when a host is reported as in sync by the state of another one, without a message.
TEST_F(DriftOf, ReportsTheOnlyStatusOfAnotherNode) {
  EXPECT_EQ(asked(state_of("there")), daemon::kExitSame);
  EXPECT_NE(said.find("the SriovNetworkNodeState is of \"there\", and compared with this host, here"),
            std::string::npos)
      << said;
}

// The operator's states as kubectl writes them into one file a node.
TEST_F(DriftOf, FindsItsOwnStatusAmongFiles) {
  EXPECT_EQ(asked_of_files({state_of("there"), state_of("here"),
                            "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n"}),
            daemon::kExitSame);
  EXPECT_EQ(said, "");
  EXPECT_EQ(asked_of_files({state_of("there"), state_of("elsewhere")}), daemon::kExitError);
  EXPECT_NE(said.find("the files: 2 SriovNetworkNodeStates, and none is of node here"), std::string::npos)
      << said;
  EXPECT_EQ(asked_of_files({state_of("here"), state_of("here")}), daemon::kExitError);
  EXPECT_NE(said.find("0.yaml:1 and "), std::string::npos) << said;
  EXPECT_EQ(asked_of_files({state_of("here"), "a: [\n"}), daemon::kExitError);
  EXPECT_NE(said.find("1.yaml:"), std::string::npos) << said;
}

// Red when the first of two counts and the other one's drift is not seen.
TEST_F(DriftOf, RefusesTwoStatusesOfOneName) {
  EXPECT_EQ(asked(state_of("here") + state_of("here")), daemon::kExitError);
  EXPECT_NE(said.find("two SriovNetworkNodeStates of here, "), std::string::npos) << said;
  EXPECT_NE(said.find("states.yaml:1 and "), std::string::npos) << said;
  EXPECT_NE(said.find("states.yaml:6: delete the one that the cluster does not have"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace drift_test
}  // namespace sliced::cli
