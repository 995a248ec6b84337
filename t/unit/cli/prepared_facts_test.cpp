// Commands that judge the host see a device that a pod has as the daemon does: with its facts of before.
#include "cli/prepared_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/recorded_process.h"
#include "daemon/host_process.h"
#include "daemon/prepared_page.h"
#include "daemon/status/listeners.h"
#include "daemon/status/pages.h"
#include "kubelet/checkpoint.h"
#include "kubelet/original_mac.h"
#include "kubelet/original_settings.h"
#include "kubelet/safety.h"
#include "reactor/loop.h"
#include "t/fake/memory_log.h"
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

// A pod has the VF, which is bound to vfio-pci; the record contains the claim that was prepared for it.
struct PreparedFactsTest : testing::Test {
  PreparedFactsTest() {
    host.load(std::string(SLICED_EXAMPLES) + "/reference-node/host.txt");
    host.write("cluster/policies.yaml", kPolicy);
    options.cluster = config::ClusterDirectory{host.root() + "/cluster"};
    options.node_name = "worker";
    options.host_root = host.root();
    options.runtime_directory = host.root() + "/run";
    std::filesystem::create_directories(options.runtime_directory);
    ::chmod(options.runtime_directory.c_str(), 0700);
    options.kubelet_plugins_directory = host.root() + "/plugins";
    options.output = config::OutputFormat::kTable;
  }
  // What a daemon has of the claim; the VF is on vfio-pci afterwards.
  kubelet::Checkpoint prepare() {
    hotplug::InventoryPtr inventory;
    {
      auto process = open_host_process(options);
      EXPECT_TRUE(process);
      inventory = read_host_once(**process, (*process)->host_ports(/*live_events=*/false));
      (*process)->leave(0);
    }
    EXPECT_NE(inventory, nullptr);
    kubelet::PreparedDevice device;
    device.request = "r", device.pool = "worker", device.device = "0000-03-00-2", device.pci = kVf;
    device.held = *inventory->find(kVf);
    kubelet::PreparedClaim claim;
    claim.driver = options.sriov_driver_name, claim.namespace_ = "apps", claim.name = "vm", claim.uid = "u1";
    claim.devices = {device};
    claim.is_complete = true;
    host.pci(kVf).driver("vfio-pci");
    return {inventory->boot_id, {{key_of(claim), claim}}};
  }
  void write(const kubelet::Checkpoint& record) {
    std::filesystem::create_directories(
        std::filesystem::path(daemon::checkpoint_path(options)).parent_path());
    std::ofstream(daemon::checkpoint_path(options)) << kubelet::encode_checkpoint(record);
  }
  void record() { write(prepare()); }
  bool sees_the_driver_of_before() {
    EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
    return out.find("offered as") != std::string::npos;
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

// A daemon's status socket, as far as /prepared goes, in a thread of its own.
class Daemon {
 public:
  Daemon(const std::string& directory, std::function<status::Answer()> page) {
    thread_ = std::thread([this, directory, page = std::move(page)] {
      reactor::Loop loop;
      fake::MemoryLog log;
      status::StatusListeners door(
          {loop, log, [] { return int64_t{0}; }}, {directory, "", {}},
          status::serve_pages({{"/prepared", [&](std::string_view) { return page(); }}}));
      is_open_ = !door.socket().empty();
      while (!ends_) loop.turn(Millis{10});
    });
    while (!is_open_) std::this_thread::yield();
  }
  ~Daemon() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_open_ = false, ends_ = false;
  std::thread thread_;
};

// Red when `explain` offers what the daemon withholds: a device that is held for a claim that is gone.
TEST_F(PreparedFactsTest, ExplainsADeviceThatWasNotReturned) {
  kubelet::Checkpoint known = prepare();
  kubelet::PreparedClaim& claim = known.claims.begin()->second;
  claim.devices[0].holding = {.entry = "0000-03-00-2", .device = kVf, .base = "0000-03-00-2"};
  claim.not_returned = "somebody holds /dev/vfio/7";
  write(known);
  EXPECT_TRUE(sees_the_driver_of_before()) << "its claim exists";
  claim.is_claim_gone = true;
  write(known);
  EXPECT_FALSE(sees_the_driver_of_before());
  EXPECT_NE(out.find("it could not be restored: somebody holds /dev/vfio/7"), std::string::npos) << out;
  Daemon daemon(options.runtime_directory,
                [&, body = daemon::prepared_page(known.boot_id, known.claims, options, {})] {
                  return status::Answer{.body = body};
                });
  std::filesystem::remove(daemon::checkpoint_path(options));
  EXPECT_FALSE(sees_the_driver_of_before()) << "by the daemon that runs";
  EXPECT_NE(out.find("it could not be restored"), std::string::npos) << out;
}

// Red when `explain` offers a VF of a PF whose settings wait for its interface.
TEST_F(PreparedFactsTest, ExplainsADeviceWithoutItsOriginalSettings) {
  kubelet::Checkpoint known = prepare();
  kubelet::PreparedDevice pf = known.claims.begin()->second.devices[0];
  host.pci(kVf).driver("mlx5_core");
  known.claims.clear();
  write(known);
  EXPECT_TRUE(sees_the_driver_of_before());
  kubelet::OriginalSettings kept{
      .device = "0000:03:00.0", .boot_id = known.boot_id, .vf = {}, .interface = {}};
  kept.vfs[0] = {};
  ASSERT_TRUE(kubelet::OriginalSettingsFiles(daemon::original_settings_path(options)).write(kept).ok());
  EXPECT_FALSE(sees_the_driver_of_before());
  EXPECT_NE(out.find("0000:03:00.0: it does not have its original settings back"), std::string::npos) << out;
  Daemon daemon(
      options.runtime_directory,
      [&, body = daemon::prepared_page(known.boot_id, known.claims, options,
                                       kubelet::unrestored_of({{kept.device, kept}}, known.claims,
                                                              {{kept.device, "from the daemon"}}))] {
        return status::Answer{.body = body};
      });
  EXPECT_FALSE(sees_the_driver_of_before());
  EXPECT_NE(out.find("settings back: from the daemon"), std::string::npos) << out;
  // A claim has the PF: its settings are its own affair.
  pf.pci = kept.device;
  known.claims[{"d", "u"}].devices = {pf};
  EXPECT_TRUE(kubelet::unrestored_of({{kept.device, kept}}, known.claims, {}).empty());
}

// Red when a command reads the record alone: the daemon keeps it elsewhere.
TEST_F(PreparedFactsTest, AsksTheDaemonIfItsRecordIsElsewhere) {
  const kubelet::Checkpoint known = prepare();
  options.command = config::Command::kRun;
  Daemon daemon(options.runtime_directory,
                [&, body = daemon::prepared_page(known.boot_id, known.claims, options, {})] {
                  return status::Answer{.body = body};
                });
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  EXPECT_EQ(err, "");
  EXPECT_EQ(run(match, config::Command::kMatch,
                {R"(device.attributes["dra.networking"].?driver.orValue("") == "vfio-pci")"}),
            daemon::kExitNone)
      << out << err;
  options.output = config::OutputFormat::kDiff;
  EXPECT_EQ(run(plan, config::Command::kPlan, {}), daemon::kExitChanges) << err;
  EXPECT_NE(out.find("+ 0000-03-00-2\n"), std::string::npos) << out;
}

// The daemon's own answer counts before a record: it may have been given back since that was read.
TEST_F(PreparedFactsTest, PrefersTheDaemonsAnswerToARecord) {
  const kubelet::Checkpoint known = prepare();
  write(known);
  Daemon daemon(options.runtime_directory, [&, body = daemon::prepared_page(known.boot_id, {}, options, {})] {
    return status::Answer{.body = body};
  });
  EXPECT_FALSE(sees_the_driver_of_before()) << out;
  EXPECT_EQ(err, "");
}

TEST_F(PreparedFactsTest, DaemonsOfOtherNodesDriversAndBootsDoNotCount) {
  const kubelet::Checkpoint known = prepare();
  write(known);
  config::Options other = options;
  std::string body;
  Daemon daemon(options.runtime_directory, [&] { return status::Answer{.body = body}; });
  other.node_name = "another";
  body = daemon::prepared_page(known.boot_id, {}, other, {});
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  other = options, other.sriov_driver_name = "another.example";
  body = daemon::prepared_page(known.boot_id, {}, other, {});
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  body = daemon::prepared_page("00000000-0000-0000-0000-000000000001", {}, options, {});
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  EXPECT_EQ(err, "") << "the record is this node's";
}

TEST_F(PreparedFactsTest, NamesADaemonThatHasNotSynced) {
  record();
  Daemon daemon(options.runtime_directory,
                [] { return status::Answer{.status = 503, .body = "not known yet\n"}; });
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  EXPECT_NE(err.find("the prepared devices cannot be read from the daemon: "), std::string::npos) << err;
  EXPECT_NE(err.find("not known yet"), std::string::npos) << err;
  std::filesystem::remove(daemon::checkpoint_path(options));
  EXPECT_FALSE(sees_the_driver_of_before()) << out;
  EXPECT_NE(err.find("prepared devices are unknown: "), std::string::npos) << err;
  EXPECT_NE(err.find("and there is no record "), std::string::npos) << err;
}

TEST_F(PreparedFactsTest, AddsNothingWithoutDaemonAndRecord) {
  prepare();
  EXPECT_FALSE(sees_the_driver_of_before()) << out;
  EXPECT_EQ(err, "");
}

// A daemon that was killed leaves its socket.
TEST_F(PreparedFactsTest, ASocketWithoutAServerIsIgnored) {
  record();
  {
    Daemon daemon(options.runtime_directory, [] { return status::Answer{}; });
    std::filesystem::rename(options.runtime_directory + "/status.sock", options.runtime_directory + "/kept");
  }
  std::filesystem::rename(options.runtime_directory + "/kept", options.runtime_directory + "/status.sock");
  EXPECT_TRUE(sees_the_driver_of_before()) << out;
  EXPECT_EQ(err, "");
}

// As another user than root, where the test runs as root.
struct PreparedFactsOfAUser : PreparedFactsTest {
  PreparedFactsOfAUser() { ::chmod(host.root().c_str(), 0755); }
  void as_user(const std::function<void()>& work) {
    const bool is_root = ::geteuid() == 0;
    if (is_root) {
      ASSERT_EQ(::seteuid(65534), 0);
    }
    work();
    if (is_root) {
      ASSERT_EQ(::seteuid(0), 0);
    }
  }
  std::string told() {
    std::string out;
    as_user([&] {
      testing::internal::CaptureStderr();
      facts = read_prepared(known.boot_id, options);
      out = testing::internal::GetCapturedStderr();
    });
    return out;
  }
  void forbid(const std::string& path) { ASSERT_EQ(::chmod(path.c_str(), 0), 0); }

  kubelet::Checkpoint known = prepare();
  PreparedFacts facts;
};

TEST_F(PreparedFactsOfAUser, NamesAnUnreachableSocketBesideTheRecord) {
  write(known);
  forbid(options.runtime_directory);
  const std::string said = told();
  EXPECT_EQ(facts.prepared, std::set<std::string>{kVf});
  EXPECT_NE(said.find("the prepared devices cannot be read from the daemon: "), std::string::npos) << said;
  EXPECT_NE(said.find(options.runtime_directory), std::string::npos) << said;
  EXPECT_NE(said.find("unless it keeps another one; run as root or as the daemon's user"), std::string::npos)
      << said;
}

TEST_F(PreparedFactsOfAUser, ReportsUnknownForAnUnreachableSocketWithoutRecord) {
  forbid(options.runtime_directory);
  const std::string said = told();
  EXPECT_TRUE(facts.prepared.empty());
  EXPECT_NE(said.find("prepared devices are unknown: "), std::string::npos) << said;
  EXPECT_NE(said.find("devices in pods are evaluated with their present facts on the host"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("run as root or as the daemon's user"), std::string::npos) << said;
}

TEST_F(PreparedFactsOfAUser, NamesAnUnreadableRecord) {
  write(known);
  forbid(daemon::checkpoint_path(options));
  const std::string said = told();
  EXPECT_TRUE(facts.prepared.empty());
  EXPECT_NE(said.find("prepared devices are unknown: "), std::string::npos) << said;
  EXPECT_NE(said.find(daemon::checkpoint_path(options)), std::string::npos) << said;
  EXPECT_NE(said.find("run as root or as the daemon's user"), std::string::npos) << said;
}

// Neither may be read: both are named.
TEST_F(PreparedFactsOfAUser, NamesSocketAndRecordIfNeitherIsReadable) {
  write(known);
  forbid(options.runtime_directory);
  forbid(daemon::checkpoint_path(options));
  const std::string said = told();
  EXPECT_NE(said.find(options.runtime_directory), std::string::npos) << said;
  EXPECT_NE(said.find(daemon::checkpoint_path(options)), std::string::npos) << said;
}

TEST_F(PreparedFactsTest, ExplainUsesTheDriverBeforeBinding) {
  record();
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_NE(out.find("offered as"), std::string::npos) << out;
}

// Red when an address that is unknown is in the daemon's log only.
TEST_F(PreparedFactsTest, ExplainReportsAnUnknownOriginalMac) {
  record();
  const auto keep = [&](kubelet::OriginalMac one) {
    std::filesystem::create_directories(daemon::original_macs_path(options));
    ASSERT_TRUE(kubelet::OriginalMacFiles(daemon::original_macs_path(options)).write(one).ok());
  };
  auto process = open_host_process(options);
  ASSERT_TRUE(process);
  const std::string boot = read_host_once(**process, (*process)->host_ports(/*live_events=*/false))->boot_id;
  (*process)->leave(0);
  kubelet::OriginalMac one{.pci = kVf, .pf = "0000:03:00.0", .boot_id = boot, .mac = "02:00:00:00:00:01"};
  keep(one);
  ASSERT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_EQ(out.find("MAC"), std::string::npos) << out;

  one.mac.clear();
  keep(one);
  ASSERT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_NE(
      out.find(
          "VF 0000:03:00.2: original MAC address unknown: the VF keeps its pod's address when the pod ends."),
      std::string::npos)
      << out;
  EXPECT_NE(out.find("ip link set PF vf NUMBER mac ADDRESS (PF: 0000:03:00.0)"), std::string::npos) << out;
  options.output = config::OutputFormat::kJson;
  ASSERT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_NE(out.find("\"originalMAC\": \"unknown\""), std::string::npos) << out;
  ASSERT_EQ(run(explain, config::Command::kExplain, {"0000:03:00.3"}), daemon::kExitSame) << err;
  EXPECT_EQ(out.find("originalMAC"), std::string::npos) << out;

  one.boot_id = "another";  // each boot creates VFs again
  keep(one);
  ASSERT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_EQ(out.find("originalMAC"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, PlanKeepsTheEntry) {
  record();
  options.output = config::OutputFormat::kDiff;
  EXPECT_EQ(run(plan, config::Command::kPlan, {}), daemon::kExitChanges) << err;
  EXPECT_NE(out.find("+ 0000-03-00-2\n"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, MatchUsesTheDriverBeforeBinding) {
  record();
  EXPECT_EQ(run(match, config::Command::kMatch,
                {R"(device.attributes["dra.networking"].?driver.orValue("") == "vfio-pci")"}),
            daemon::kExitNone)
      << out << err;
}

TEST_F(PreparedFactsTest, IgnoresTheRecordOfAnotherBoot) {
  record();
  host.boot_id("00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_NE(out.find("drivers is vfio-pci, expected mlx5_core"), std::string::npos) << out;
}

TEST_F(PreparedFactsTest, NamesARecordThatCannotBeDecoded) {
  record();
  std::ofstream(daemon::checkpoint_path(options)) << "{";
  EXPECT_EQ(run(explain, config::Command::kExplain, {kVf}), daemon::kExitSame) << err;
  EXPECT_NE(err.find("prepared devices are unknown: "), std::string::npos) << err;
  EXPECT_NE(err.find(daemon::checkpoint_path(options)), std::string::npos) << err;
}

}  // namespace
}  // namespace prepared_facts_test
}  // namespace sliced::cli
