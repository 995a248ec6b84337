#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/explain.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace configuration_test {
namespace {

using namespace std::chrono_literals;

// With --until-configured: another program configures the hardware, and signals the end.
struct ConfigurationTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kAwaited = "/run/sliced/configured: there is no such file";

  ConfigurationTest() {
    make_pf(4);
    put_policy("p", "{configs: [{resourceName: a}]}");
  }
  void start_unconfigured() {
    start();
    daemon->await_configuration(kAwaited);
  }
  void configure() { daemon->await_configuration(""); }
  void reboot() {
    daemon.reset();
    tree.boot_id("boot-2");
  }
  // No state of the slices, however short, had more than these.
  void never_more_than(const std::set<std::string>& names) {
    cluster.on_admit = [names](const fake::Request& request,
                               kube::Json& object) -> std::optional<kube::Failure> {
      if (request.dry_run) return std::nullopt;
      const auto slice = kube::decode_resource_slice(object);
      if (!slice) return std::nullopt;
      for (const kube::Device& device : slice->devices)
        EXPECT_TRUE(names.contains(device.name)) << device.name << " is written";
      return std::nullopt;
    };
  }
};

TEST_F(ConfigurationTest, OffersNothingBeforeTheSignal) {
  never_more_than({});
  start_unconfigured();
  run(1min);
  EXPECT_TRUE(offered().empty());
  ASSERT_NE(daemon->decision(), nullptr);
  const auto why = policy::explain(*daemon->decision(), "0000:3b:02.0");
  EXPECT_EQ(why.outcome, "unconfigured");
  EXPECT_NE(why.summary.find(kAwaited), std::string::npos) << why.summary;
  cluster.on_admit = {};
  configure();
  run(100ms);
  EXPECT_EQ(offered().size(), 4u);
}

// Red when a restart in the same boot withdraws devices for which pods were scheduled.
TEST_F(ConfigurationTest, KeepsEntriesOfThisBootAndAddsNone) {
  start();
  run(2s);
  const std::set<std::string> before = offered();
  ASSERT_EQ(before.size(), 4u);
  never_more_than(before);
  start_unconfigured();
  tree.pci(kPf).vfs(6, [](fixture::SysfsTree::Pci vf, int index) {
    vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
  });
  run(10min);
  EXPECT_EQ(offered(), before);
  cluster.on_admit = {};
  configure();
  run(100ms);
  EXPECT_EQ(offered().size(), 6u);
}

// Red when slices of the former boot remain: the hardware has lost its settings.
TEST_F(ConfigurationTest, WithdrawsPublishedEntriesAfterARebootUntilTheSignal) {
  start();
  run(2s);
  ASSERT_EQ(offered().size(), 4u);
  reboot();
  never_more_than({});
  start_unconfigured();
  run(2s);
  EXPECT_TRUE(offered().empty());
  cluster.on_admit = {};
  configure();
  run(100ms);
  EXPECT_EQ(offered().size(), 4u);
}

// Red when a signal without a boot id counts as one of this boot.
TEST_F(ConfigurationTest, WithdrawsSlicesWithoutABootId) {
  start();
  run(2s);
  daemon.reset();
  for (kube::ResourceSlice slice : slices()) {
    slice.meta.annotations.clear();
    cluster.put(kube::kResourceSlices, kube::encode_resource_slice(slice));
  }
  start_unconfigured();
  run(2s);
  EXPECT_TRUE(offered().empty());
}

TEST_F(ConfigurationTest, HoldsBackDeviceExposurePoliciesToo) {
  remove_policy("p");
  put_exposure("vfs", of_type("vf"));
  never_more_than({});
  start_unconfigured();
  run(1min);
  EXPECT_TRUE(offered().empty());
  cluster.on_admit = {};
  configure();
  run(1s);
  EXPECT_EQ(offered().size(), 4u);
}

// Red when the other driver offers a device meanwhile that a SriovResourcePolicy will offer.
TEST_F(ConfigurationTest, ADeviceThatWaitsIsNotOfferedByTheOtherDriver) {
  put_exposure("vfs", of_type("vf"));
  start_unconfigured();
  run(1min);
  EXPECT_TRUE(offered().empty());
  EXPECT_EQ(policy::explain(*daemon->decision(), "0000:3b:02.0").personas.at(0).outcome, "conflict");
  configure();
  run(1s);
  EXPECT_EQ(offered().size(), 4u);
  for (const auto& slice : slices())
    if (slice.driver == kExposureDriver) {
      EXPECT_TRUE(slice.devices.empty());
    }
}

// ---- by the node's SriovNetworkNodeState

struct ByNodeStateTest : ConfigurationTest {
  explicit ByNodeStateTest(bool allows_empty = false) {
    cluster.install(kube::kSriovNetworkNodeStates);
    options.until_configured = {config::ConfiguredBy::How::kNodeState, "", allows_empty};
  }
  void node_state(const std::string& rest) {
    cluster.put(kube::kSriovNetworkNodeStates,
                kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}\n" + rest)
                    .documents.at(0));
    run(1s);
  }
  static std::string wants(int mtu, const std::string& sync = "Succeeded") {
    return "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 4, mtu: " + std::to_string(mtu) +
           "}]}\nstatus: {syncStatus: " + sync + "}";
  }
  void expect_awaited(const std::string& text) {
    EXPECT_TRUE(offered().empty());
    EXPECT_NE(daemon->awaits_configuration().find(text), std::string::npos) << daemon->awaits_configuration();
  }
};
struct ByNodeStateOrNoneTest : ByNodeStateTest {
  ByNodeStateOrNoneTest() : ByNodeStateTest(true) {}
};

TEST_F(ByNodeStateTest, OffersNothingBeforeTheHostMatches) {
  never_more_than({});
  start();
  run(1min);
  expect_awaited("there is no SriovNetworkNodeState sriov-network-operator/node-a");
  node_state("");
  expect_awaited("spec.interfaces is empty");
  node_state(wants(1500, "InProgress"));
  expect_awaited("syncStatus InProgress");
  node_state(wants(9000));
  expect_awaited("PF 0000:3b:00.0 is not in sync: mtu is 1500, expected at least 9000");
  cluster.on_admit = {};
  tree.netdev_attr("ens1f0", "mtu", "9000");
  say(hotplug::LinkChange{daemon->inventory()->find(kPf)->netdev->ifindex, "ens1f0"});
  run(1s);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(daemon->awaits_configuration(), "");
}

// Red when a later requirement withdraws offered devices: only the readiness of a policy may do that.
TEST_F(ByNodeStateTest, RemembersTheSignal) {
  node_state(wants(1500));
  start();
  run(2s);
  ASSERT_EQ(offered().size(), 4u);
  node_state(wants(9000, "InProgress"));
  run(10min);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(cluster.open_watches("sriovnetworknodestates"), 0u) << "nobody asks any more";
}

TEST_F(ByNodeStateTest, QueriesThePfAgainForItsSettings) {
  std::map<int, hotplug::VfConfig> configs;
  for (int i = 0; i < 4; ++i) configs[i].mac = "00:00:00:00:00:00";
  read_vf_configs = [&](int) { return Result<std::map<int, hotplug::VfConfig>>(configs); };
  node_state(
      "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 4, externallyManaged: true, vfGroups: "
      "[{vfRange: 0-3}]}]}\nstatus: {syncStatus: Succeeded}");
  start();
  run(1min);
  expect_awaited("adminMac of VF 0");
  for (int i = 0; i < 4; ++i)
    configs[i].mac = *tree.view()->read(tree.netdev_path("ens1f0v" + std::to_string(i)) + "/address");
  run(3s);
  EXPECT_EQ(offered().size(), 4u) << daemon->awaits_configuration();
}

TEST_F(ByNodeStateTest, ARestartChangesNothing) {
  node_state(wants(1500));
  start();
  run(2s);
  const auto before = offered();
  ASSERT_EQ(before.size(), 4u);
  node_state(wants(9000));
  start();
  run(1min);
  EXPECT_EQ(offered(), before);
  reboot();
  start();
  run(1min);
  expect_awaited("expected at least 9000");
}

// The order of a reboot: VFs of an externally managed PF are made before the operator's daemon starts, which then writes
// InProgress, configures, and writes Succeeded. Red when the Succeeded of before lets anything be offered.
TEST_F(ByNodeStateTest, AStatusFromBeforeTheRebootOffersNothing) {
  node_state(wants(1500));
  start();
  run(2s);
  ASSERT_EQ(offered().size(), 4u);
  run(10min);
  reboot();
  tree.uptime(20s);
  never_more_than({});
  start();
  run(1min);
  expect_awaited("no evidence that the SR-IOV network operator has configured this node since it booted");
  node_state(wants(1500, "InProgress"));
  expect_awaited("syncStatus InProgress");
  cluster.on_admit = {};
  node_state(wants(1500));
  EXPECT_EQ(offered().size(), 4u);
  never_more_than(offered());
  start();
  run(1min);
  EXPECT_EQ(offered().size(), 4u) << "and a restart withdraws nothing";
}

TEST_F(ByNodeStateTest, AnInvalidStateIsNoSignal) {
  node_state(wants(1500));
  cluster.deny("sriovnetworknodestates");
  start();
  run(1min);
  expect_awaited("may not be read");
}

TEST_F(ByNodeStateOrNoneTest, AcceptsAMissingOrEmptyState) {
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
}

TEST_F(ByNodeStateOrNoneTest, AcceptsAMissingOperator) {
  cluster.uninstall(kube::kSriovNetworkNodeStates);
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
}

TEST_F(ByNodeStateOrNoneTest, WaitsForTheRequestedState) {
  node_state(wants(9000));
  start();
  run(1min);
  expect_awaited("expected at least 9000");
  node_state("");
  EXPECT_EQ(offered().size(), 4u);
}

// Red when silence or a refusal is taken for nothing.
TEST_F(ByNodeStateOrNoneTest, AnUnknownStateIsNotEmpty) {
  cluster.deny("sriovnetworknodestates");
  start();
  run(1min);
  expect_awaited("may not be read");
}

}  // namespace
}  // namespace configuration_test
}  // namespace sliced
