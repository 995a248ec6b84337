// The output of `explain NAME`, and the device that it describes.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/commands.h"
#include "daemon/process.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace explain_test {
namespace {

constexpr const char* kPolicy =
    "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\n"
    "kind: SriovResourcePolicy\n"
    "metadata: {name: a, namespace: dra-driver-sriov}\n"
    "spec: {readiness: READINESS, configs: [{resourceFilters: [{pfNames: [ens1f0]}]}]}\n";

struct ExplainTest : testing::Test {
  ExplainTest() {
    auto pf = host.pci("0000:3b:00.0").id("8086", "1592").driver("ice").netdev("ens1f0");
    pf.sriov(64).vfs(16, [](fixture::SysfsTree::Pci vf, int index) {
      vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
    });
    options.command = config::Command::kExplain;
    options.cluster = config::ClusterDirectory{host.root() + "/cluster"};
    options.node_name = "worker";
    options.host_root = host.root();
    options.kubelet_plugins_directory = host.root() + "/plugins";
    options.output = config::OutputFormat::kTable;
  }
  void policy(const std::string& readiness) {
    std::string text = kPolicy;
    text.replace(text.find("READINESS"), 9, readiness);
    host.write("cluster/policies.yaml", text);
  }
  // What is printed of it, to both.
  std::string explained(const std::string& device) {
    options.arguments = {device};
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(explain(options), daemon::kExitSame);
    return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  }
  static size_t lines_of(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  fixture::SysfsTree host;
  config::Options options;
};

// Red when all that wait are listed beside the one that is asked for: 16 lines here, 64 on a whole card.
TEST_F(ExplainTest, OmitsOtherWaitingDevices) {
  policy("{mtuAtLeast: 9000}");
  const std::string said = explained("0000:3b:02.1");
  EXPECT_NE(said.find("mtuAtLeast: interface ens1f0v1 has MTU 1500, expected 9000"), std::string::npos)
      << said;
  for (int other = 2; other < 16; ++other)
    EXPECT_EQ(said.find("ens1f0v" + std::to_string(other)), std::string::npos) << said;
  EXPECT_LE(lines_of(said), 8u) << said;
}

// Red when a note of one device is printed with another one, or with none.
TEST_F(ExplainTest, ANoteIsPrintedWithItsOwnDevice) {
  policy("{}");
  host.remove("sys/bus/pci/devices/0000:3b:02.3/physfn");
  EXPECT_EQ(explained("0000:3b:02.1").find("0000-3b-02-3"), std::string::npos) << explained("0000:3b:02.1");
  EXPECT_NE(explained("0000:3b:02.3").find("half there"), std::string::npos) << explained("0000:3b:02.3");
}

}  // namespace
}  // namespace explain_test
}  // namespace sliced::cli
