// Commands that judge the host see a device that a pod has as the daemon does: with its facts of before.
#include "cli/prepared_facts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/process.h"
#include "kubelet/checkpoint.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace prepared_facts_test {
namespace {

constexpr const char* kVf = "0000:03:00.2";
constexpr const char* kPolicy =
    "apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1\n"
    "kind: SriovResourcePolicy\n"
    "metadata: {name: a, namespace: dra-driver-sriov}\n"
    "spec: {configs: [{resourceFilters: [{pfPciAddresses: ['0000:03:00.0'], drivers: [mlx5_core]}]}]}\n";

// A pod has the VF, which is bound to vfio-pci; a claim was prepared for it, and the record says so.
struct PreparedFactsTest : testing::Test {
  PreparedFactsTest() {
    host.load(std::string(SLICED_EXAMPLES) + "/reference-node/host.txt");
    host.write("cluster/policies.yaml", kPolicy);
    options.cluster = config::ClusterDirectory{host.root() + "/cluster"};
    options.node_name = "worker";
    options.host_root = host.root();
    options.kubelet_plugins_directory = host.root() + "/plugins";
    options.output = config::OutputFormat::kTable;
  }
  void record() {
    hotplug::InventoryPtr inventory;
    {
      auto process = Process::open_host_only(options);
      ASSERT_TRUE(process);
      inventory = read_host_once(**process);
      (*process)->leave(0);
    }
    ASSERT_NE(inventory, nullptr);
    ASSERT_NE(inventory->find(kVf), nullptr);
    kubelet::PreparedDevice device;
    device.request = "r", device.pool = "worker", device.device = "0000-03-00-2", device.pci = kVf;
    device.held = *inventory->find(kVf);
    kubelet::PreparedClaim claim;
    claim.driver = options.sriov_driver_name, claim.namespace_ = "apps", claim.name = "vm", claim.uid = "u1";
    claim.devices = {device};
    claim.is_complete = true;
    std::filesystem::create_directories(std::filesystem::path(checkpoint_path(options)).parent_path());
    std::ofstream(checkpoint_path(options))
        << kubelet::encode_checkpoint({inventory->boot_id, {{key_of(claim), claim}}});
    host.pci(kVf).driver("vfio-pci");
  }
  // Exit status; stdout and stderr are in `out` and `err`.
  int run(int (*command)(const config::Options&), config::Command id, std::vector<std::string> arguments) {
    options.command = id;
    options.arguments = std::move(arguments);
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = command(options);
    out = testing::internal::GetCapturedStdout();
    err = testing::internal::GetCapturedStderr();
    return status;
  }

  fixture::SysfsTree host;
  config::Options options;
  std::string out, err;
};

TEST_F(PreparedFactsTest, ExplainSeesTheDriverOfBefore) {
  record();
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), kExitSame) << err;
  EXPECT_NE(out.find("offered as"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, PlanKeepsTheEntry) {
  record();
  options.output = config::OutputFormat::kDiff;
  EXPECT_EQ(run(plan, config::Command::kPlan, {}), kExitChanges) << err;
  EXPECT_NE(out.find("+ 0000-03-00-2\n"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, MatchSeesTheDriverOfBefore) {
  record();
  EXPECT_EQ(run(match, config::Command::kMatch,
                {R"(device.attributes["dra.networking"].?driver.orValue("") == "vfio-pci")"}),
            kExitNone)
      << out << err;
}

TEST_F(PreparedFactsTest, ARecordOfAnotherBootCountsAsNone) {
  record();
  host.boot_id("00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), kExitSame) << err;
  EXPECT_NE(out.find("drivers is vfio-pci, wanted mlx5_core"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, ARecordThatCannotBeReadIsNamed) {
  record();
  std::ofstream(checkpoint_path(options)) << "{";
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), kExitSame) << err;
  EXPECT_NE(err.find("prepared devices are unknown: "), std::string::npos) << err;
  EXPECT_NE(err.find(checkpoint_path(options)), std::string::npos) << err;
}

}  // namespace
}  // namespace prepared_facts_test
}  // namespace sliced::cli
