// Interfaces that are in a pod when the daemon starts, and excludes that ask for their facts.
#include <gtest/gtest.h>

#include "policy/explain.h"
#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct AwayTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kSecondVf = "0000-3b-02-1";
  static std::string exclude(const std::string& cel) {
    return "{action: exclude, selector: {cel: 'device.attributes[\"dra.networking\"]." + cel + "'}}";
  }
  void restart() {
    daemon.reset();
    start();
    run(1min);
  }
  bool was_ever_written(const std::string& entry) const {
    const auto all = cluster.writes();
    return std::any_of(all.begin(), all.end(), [&](const auto& request) {
      return kube::encode_json(request.body).find("\"" + entry + "\"") != std::string::npos;
    });
  }
};

// Red when an absent interface reads as one without a name: after a restart its name is unknown.
TEST_F(AwayTest, ExcludedDevicesStayExcludedAfterARestart) {
  make_pf(2);
  put_policy("p", "{configs: [{}]}");
  put_exposure("x", exclude("ifName == \"ens1f0v0\""));
  start();
  run(2s);
  ASSERT_EQ(offered(), std::set<std::string>{kSecondVf});
  const size_t before = writes();
  tree.remove_netdev("ens1f0v0");
  restart();
  EXPECT_EQ(offered(), std::set<std::string>{kSecondVf});
  EXPECT_EQ(writes(), before);
  EXPECT_EQ(policy::explain(*daemon->decision(), "0000:3b:02.0").outcome, "exclude-unknown");
  EXPECT_FALSE(was_ever_written(kFirstVf));
  // It comes back under another name, which the exclude does not mean.
  tree.pci("0000:3b:02.0").netdev("other0");
  pci_event("change", "0000:3b:02.0");
  say(hotplug::LinkChange{99, "other0"});
  run(10s);
  EXPECT_TRUE(offered().contains(kFirstVf));
}

TEST_F(AwayTest, KeepsMacMtuBridgeAndState) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  tree.netdev_attr("ens1f0v0", "address", "02:00:00:00:00:aa");
  tree.netdev_attr("ens1f0v0", "mtu", "9000");
  tree.netdev_attr("ens1f0v0", "operstate", "dormant");
  tree.bridge("br0");
  tree.enslave("ens1f0v0", "br0");
  const char* const excludes[] = {"mac == \"02:00:00:00:00:aa\"", "mtu == 9000", "operState == \"dormant\"",
                                  "masterBridge == \"br0\""};
  for (const char* one : excludes) {
    put_exposure("x", exclude(one));
    restart();
    EXPECT_EQ(offered(), std::set<std::string>{kSecondVf}) << one;
  }
  tree.remove_netdev("ens1f0v0");
  for (const char* one : excludes) {
    put_exposure("x", exclude(one));
    restart();
    EXPECT_EQ(offered(), std::set<std::string>{kSecondVf}) << one;
  }
  EXPECT_FALSE(was_ever_written(kFirstVf));
}

// Red when the device of the pod that has the interface is withdrawn at each restart.
TEST_F(AwayTest, PublishedEntriesStayWithoutAWriteWhileTheExcludesAreUnchanged) {
  make_pf(2);
  put_policy("p", "{configs: [{}]}");
  put_exposure("x", exclude("ifName == \"ens1f0v1\""));
  start();
  run(2s);
  ASSERT_EQ(offered(), std::set<std::string>{kFirstVf});
  const size_t before = writes();
  tree.remove_netdev("ens1f0v0");
  restart();
  restart();
  EXPECT_EQ(offered(), std::set<std::string>{kFirstVf});
  EXPECT_EQ(writes(), before);
  put_exposure("y", exclude("vendor == \"15b3\""));
  restart();
  EXPECT_EQ(offered(), std::set<std::string>{kFirstVf}) << "one that asks for no interface says so itself";
  EXPECT_EQ(writes(), before);
  daemon.reset();
  put_exposure("x", exclude("ifName != \"ens1f0v1\""));
  restart();
  EXPECT_EQ(offered(), std::set<std::string>{kSecondVf})
      << "nobody knows whether the edited one means the first";
}

TEST_F(AwayTest, ForgetsEverythingAfterAnotherBoot) {
  make_pf(2);
  put_policy("p", "{configs: [{}]}");
  put_exposure("x", exclude("ifName == \"ens1f0v1\""));
  start();
  run(2s);
  tree.remove_netdev("ens1f0v0");
  tree.boot_id("boot-2");
  restart();
  EXPECT_EQ(offered(), std::set<std::string>());
}

// While the daemon runs: a function that is handed over whole, and taken back by a driver whose interface is
// not here yet.
TEST_F(AwayTest, HandlesARebindWhileTheInterfaceIsInAPod) {
  make_pf(2);
  for (const int vf : {0, 1}) tree.remove_netdev("ens1f0v" + std::to_string(vf));
  tree.pci("0000:3b:02.0").driver("vfio-pci");
  put_policy("p", "{configs: [{}]}");
  put_exposure("x", exclude("ifName == \"secret0\""));
  start();
  run(2s);
  ASSERT_EQ(offered(), std::set<std::string>{kFirstVf});
  for (const auto& [address, driver] : {std::pair{"0000:3b:02.0", "iavf"}, {"0000:3b:02.1", "vfio-pci"}}) {
    tree.pci(address).driver(driver);
    pci_event("bind", address);
  }
  run(2s);
  EXPECT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  tree.pci("0000:3b:02.0").netdev("secret0");
  say(hotplug::LinkChange{99, "secret0"});
  run(2s);
  EXPECT_EQ(offered(), std::set<std::string>{kSecondVf});
  // Of another driver's function nothing is remembered over a restart.
  daemon.reset();
  tree.pci("0000:3b:02.1").driver("iavf");
  put_exposure("x", exclude("ifName == \"secret1\""));
  tree.remove_netdev("secret0");
  restart();
  EXPECT_EQ(offered(), std::set<std::string>());
}

// The PF's interface is in a pod: its name is known from the published attributes of its VFs.
TEST_F(AwayTest, LearnsThePfsNameFromItsVfs) {
  make_pf(2);
  put_exposure("p", "{selector: {cel: 'device.attributes[\"dra.networking\"].pfName == \"ens1f0\"'}}");
  start();
  run(5min);  // until the claims have shown that nothing is allocated
  ASSERT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  const size_t before = writes();
  tree.remove_netdev("ens1f0");
  restart();
  EXPECT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  EXPECT_EQ(writes(), before);
  put_exposure("x", exclude("pfName == \"ens1f0\""));
  run(10s);
  EXPECT_EQ(offered(), std::set<std::string>());
}

// Red when the PF's name alone is recovered: its VFs go to the other driver, whose filters ask for the type.
TEST_F(AwayTest, LearnsThePfsLinkTypeFromItsVfs) {
  make_pf(2);
  put_exposure("p", of_type("vf"));
  start();
  run(5min);
  ASSERT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  tree.remove_netdev("ens1f0");
  restart();
  cluster.remove(kube::kDeviceExposurePolicies, "p");
  put_policy("p", "{configs: [{resourceFilters: [{linkType: ethernet}]}]}");
  run(5min);
  EXPECT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
}

// A SriovResourcePolicy that comes first may divert the VFs of a PF whose name nobody knows. Red when they are offered under
// the resourceName of the one behind it.
TEST_F(AwayTest, VfsOfAPfWithAnUnknownNameAreNotOfferedUnderAnotherConfig) {
  make_pf(2);
  put_policy("a", "{configs: [{resourceName: secret, resourceFilters: [{pfNames: [ens1f0]}]}]}");
  put_policy("b", "{configs: [{resourceName: common}]}");
  tree.remove_netdev("ens1f0");
  start();
  run(10s);
  EXPECT_EQ(offered(), std::set<std::string>());
  EXPECT_EQ(policy::explain(*daemon->decision(), "0000:3b:02.0").outcome, "match-unknown");
  tree.pci("0000:3b:00.0").netdev("ens1f0");
  pci_event("change", "0000:3b:00.0");
  say(hotplug::LinkChange{99, "ens1f0"});
  run(10s);
  EXPECT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  // While it runs the name is remembered, and over a restart slices tell it.
  const size_t before = writes();
  tree.remove_netdev("ens1f0");
  say(hotplug::LinkChange{99, "ens1f0", true, true});
  run(10s);
  restart();
  EXPECT_EQ(offered(), (std::set<std::string>{kFirstVf, kSecondVf}));
  EXPECT_EQ(writes(), before);
}

}  // namespace
}  // namespace sliced
