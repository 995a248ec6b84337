// The whole daemon with --configure=admin-mac: missing addresses are set, and nothing else.
#include "daemon/admin_macs.h"

#include <gtest/gtest.h>

#include "daemon/daemon.h"
#include "t/fixture/daemon_world.h"

namespace sliced::daemon {
namespace admin_macs_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kVf = "0000:3b:02.0";
constexpr const char* kNoMac = "00:00:00:00:00:00";

struct AdminMacsTest : testing::Test, fixture::DaemonWorld {
  AdminMacsTest() {
    make_pf(3);
    read_vf_configs = [this](int) { return Result<std::map<int, hotplug::VfConfig>>(configs); };
    // A PF whose driver obeys, and sends no events.
    set_missing_mac = [this](const policy::MissingMac& what) -> Result<policy::MacOutcome> {
      told.push_back(what.index);
      if (refused) return *refused;
      if (outcome != policy::MacOutcome::kFactsChanged) configs[what.index].mac = what.mac;
      return outcome;
    };
    options.configure = {"admin-mac"};
  }
  void ask_by_policy(const std::string& more = "") {
    put_policy("p", "{readiness: {require: [adminMac], setAdminMac: true}, configs: [{resourceName: r" +
                        more + "}]}");
  }
  std::string mac_of(int vf) {
    return tree.view()->read(tree.netdev_path("ens1f0v" + std::to_string(vf)) + "/address").value();
  }
  // The kernel sends an event of the PF.
  void tell_pf() { say(hotplug::LinkChange{daemon->inventory()->find(kPf)->netdev->ifindex, "ens1f0"}); }

  std::map<int, hotplug::VfConfig> configs{
      {0, {.mac = kNoMac}}, {1, {.mac = "02:00:00:00:00:01"}}, {2, {.mac = kNoMac}}};
  std::vector<int> told;
  std::optional<Error> refused;
  policy::MacOutcome outcome = policy::MacOutcome::kSet;
};

TEST_F(AdminMacsTest, SetsExactlyTheMissingOnesAndNoneAfterARestart) {
  ask_by_policy();
  start();
  run(15s);
  EXPECT_EQ(told, (std::vector{0, 2}));
  EXPECT_EQ(configs[0].mac, mac_of(0));
  EXPECT_EQ(configs[1].mac, "02:00:00:00:00:01");
  EXPECT_EQ(offered().size(), 3u);
  EXPECT_EQ(log.count("administrative MAC address set"), 2u) << log.all();
  EXPECT_EQ(log.count("asked_by=policy dra-driver-sriov/p"), 2u) << log.all();
  start();
  run(15min);
  EXPECT_EQ(told.size(), 2u);
}

TEST_F(AdminMacsTest, OffersADeviceWithinASecondOfBeingSet) {
  ask_by_policy();
  start();
  run(15s);
  configs[3] = {.mac = kNoMac};
  tree.pci(kPf).vfs(4, [](fixture::SysfsTree::Pci vf, int index) {
    vf.id("8086", "1889").driver("iavf").netdev("ens1f0v" + std::to_string(index));
  });
  pci_event("change", kPf);
  pci_event("add", tree.pci(kPf).vf(3).address());
  say(hotplug::Uevent{"add", "/devices/x/net/ens1f0v3", "net", {{"INTERFACE", "ens1f0v3"}}});
  run(1s);
  EXPECT_EQ(offered().size(), 4u) << log.all();
}

TEST_F(AdminMacsTest, WritesNothingWithoutTheOption) {
  options.configure.clear();
  ask_by_policy();
  start();
  run(10min);
  EXPECT_TRUE(told.empty());
}

TEST_F(AdminMacsTest, WritesNothingWithoutTheInterlock) {
  ask_by_policy();
  start();
  daemon->permit_writes(false);
  run(10min);
  EXPECT_TRUE(told.empty()) << "another daemon may be at it";
  daemon->permit_writes(true);
  run(1s);
  EXPECT_EQ(told.size(), 2u);
  run(1min);
  daemon->permit_writes(false);
  configs[0].mac = kNoMac;
  tell_pf();
  run(10min);
  EXPECT_EQ(told.size(), 2u) << "what pods have is known, and the lock is gone";
}

TEST_F(AdminMacsTest, ANodeStateRequestsItWithoutAPolicy) {
  cluster.install(kube::kSriovNetworkNodeStates);
  start();
  run(15s);
  EXPECT_TRUE(told.empty());
  cluster.put(
      kube::kSriovNetworkNodeStates,
      kube::decode_yaml("metadata: {name: node-a, namespace: sriov-network-operator}\n"
                        "spec: {interfaces: [{pciAddress: '0000:3b:00.0', numVfs: 3, externallyManaged: "
                        "true, vfGroups: [{vfRange: 0-1}]}]}")
          .documents.at(0));
  run(1s);
  EXPECT_EQ(told, std::vector{0});
}

TEST_F(AdminMacsTest, LeavesAVfInAPodAlone) {
  ask_by_policy();
  tree.remove_netdev("ens1f0v0");
  start();
  run(15s);
  EXPECT_EQ(told, std::vector{2});
}

TEST_F(AdminMacsTest, LeavesAnAllocatedVfAloneUntilItReturns) {
  ask_by_policy();
  start();
  daemon->permit_writes(false);
  run(15s);
  daemon->hold("claim", *daemon->inventory()->find(kVf));
  daemon->permit_writes(true);
  run(1min);
  EXPECT_EQ(told, std::vector{2});
  daemon->let_go("claim");
  run(1min);
  EXPECT_EQ(told, (std::vector{2, 0}));
}

TEST_F(AdminMacsTest, LeavesAVfOfAKnownClaimAlone) {
  ask_by_policy();
  start();
  daemon->permit_writes(false);
  run(15s);
  daemon->take(policy::Prepared{.pool = {kDriver, "node-a"}, .entry = kFirstVf, .claim = "uid-9"});
  daemon->permit_writes(true);
  run(1min);
  EXPECT_EQ(told, std::vector{2});
}

TEST_F(AdminMacsTest, SetsALostAddressAgainAfterADelay) {
  ask_by_policy();
  start();
  run(15s);
  configs[0].mac = kNoMac;
  tell_pf();
  run(2s);
  EXPECT_EQ(told, (std::vector{0, 2, 0}));
  configs[0].mac = kNoMac;
  tell_pf();
  run(5s);
  EXPECT_EQ(told.size(), 3u) << "somebody else may want it so";
  run(10s);
  EXPECT_EQ(told.size(), 4u);
}

TEST_F(AdminMacsTest, ReportsAMissingCapabilityOnceAndContinues) {
  refused = Error{Errc::kDenied, "set the MAC address of VF 0 of interface 2: Operation not permitted"};
  ask_by_policy();
  start();
  run(15s);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(log.count("grant CAP_NET_ADMIN"), 1u) << log.all();
  EXPECT_EQ(offered().size(), 1u);
  configs[0].mac = "02:00:00:00:00:07";
  tell_pf();
  run(1s);
  EXPECT_EQ(offered().size(), 2u);
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(AdminMacsTest, LogsARefusalOfTheDriverOnceAndDoesNotRetry) {
  refused = Error{Errc::kIo, "set the MAC address of VF 0 of interface 2: Operation not supported"};
  ask_by_policy();
  start();
  run(10min);
  tell_pf();
  run(10min);
  EXPECT_EQ(told, (std::vector{0, 2}));
  EXPECT_EQ(log.count("administrative MAC address not set"), 2u) << log.all();
}

TEST_F(AdminMacsTest, RetriesAnAddressThatWasNotDueAfterAChange) {
  outcome = policy::MacOutcome::kFactsChanged;
  ask_by_policy();
  start();
  run(15s);
  EXPECT_EQ(log.count("administrative MAC address"), 0u) << log.all();
  outcome = policy::MacOutcome::kSet;
  tree.netdev_attr("ens1f0v0", "mtu", "1400");
  say(hotplug::LinkChange{daemon->inventory()->find(kVf)->netdev->ifindex, "ens1f0v0"});
  run(3s);
  EXPECT_EQ(offered().size(), 3u) << log.all();
}

TEST_F(AdminMacsTest, LeavesAHangingDriverAlone) {
  set_missing_mac = [this](const policy::MissingMac& what) -> Result<policy::MacOutcome> {
    told.push_back(what.index);
    fake::abandon(fake::Abandoned::kHangs);
  };
  ask_by_policy();
  start();
  run(10min);
  EXPECT_EQ(told, std::vector{0});
  EXPECT_EQ(log.count("gives no answer within 15000 ms"), 1u) << log.all();
}

TEST_F(AdminMacsTest, OnlyReadsAHostOfFiles) {
  set_missing_mac = {};
  ask_by_policy();
  start();
  run(15s);
  EXPECT_EQ(log.count("this host is read-only"), 1u) << log.all();
  EXPECT_EQ(offered().size(), 1u);
}

}  // namespace
}  // namespace admin_macs_test
}  // namespace sliced::daemon
