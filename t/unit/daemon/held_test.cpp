// A pod has a device: its entry stays unchanged, although binding or moving the device changes the host's facts.
#include <gtest/gtest.h>

#include "daemon/daemon.h"
#include "t/fixture/daemon_world.h"

namespace sliced::daemon {
namespace held_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kVf = "0000:3b:02.0";
constexpr const char* kBy = "driver uid-1";

// By each kind of policy: true a DeviceExposurePolicy.
struct HeldTest : testing::TestWithParam<bool>, fixture::DaemonWorld {
  HeldTest() {
    make_pf(2);
    if (GetParam())
      put_exposure(
          "e",
          "{selector: {cel: 'device.attributes[\"dra.networking\"].ifName.startsWith(\"ens1f0v\") && "
          "device.attributes[\"dra.networking\"].driver == \"iavf\"'}}");
    else
      put_policy("p", "{configs: [{resourceName: r, resourceFilters: [{drivers: [iavf]}]}]}");
    start();
    run(15s);
    all = offered().size();
    before = writes();
    mac = daemon->inventory()->find(kVf)->netdev->mac;
  }
  void hold() { daemon->hold(kBy, hotplug::facts_to_pin(*daemon->inventory()->find(kVf))); }
  void bind() {
    tree.remove_netdev("ens1f0v0");
    tree.pci(kPf).vf(0).driver("vfio-pci");
    pci_event("unbind", kVf);
    pci_event("bind", kVf);
  }
  void restore(const std::string& name = "ens1f0v0") {
    tree.pci(kPf).vf(0).driver("iavf").netdev(name);
    tree.netdev_attr(name, "address", mac);  // as the PF has set it, else it is another each time
    pci_event("bind", kVf);
  }

  size_t all = 0, before = 0;
  std::string mac;
};

TEST_P(HeldTest, WritesNothingForBindingAndRestoring) {
  ASSERT_EQ(all, 2u);
  hold();
  bind();
  run(1min);
  EXPECT_EQ(daemon->inventory()->find(kVf)->driver, "iavf");
  EXPECT_EQ(daemon->host_inventory()->find(kVf)->driver, "vfio-pci");
  EXPECT_EQ(offered().size(), all);
  daemon->let_go(kBy);
  run(1s);  // the driver probes
  restore("eth0");
  run(1s);  // udev gives it its name
  tree.rename_netdev("eth0", "ens1f0v0");
  say(hotplug::Overflow{"test"});
  run(1min);
  EXPECT_EQ(offered().size(), all);
  EXPECT_EQ(writes(), before) << log.all();
  EXPECT_EQ(daemon->inventory(), daemon->host_inventory()) << "nothing is held any more";
}

TEST_P(HeldTest, WritesNothingForAnInterfaceThatMovesAndReturns) {
  hold();
  const int ifindex = daemon->inventory()->find(kVf)->netdev->ifindex;
  tree.remove_netdev("ens1f0v0");
  say(hotplug::LinkChange{ifindex, "ens1f0v0", true, true});
  run(1min);
  EXPECT_FALSE(daemon->inventory()->find(kVf)->netdev->stale);
  restore();
  run(1min);
  daemon->let_go(kBy);
  run(1min);
  EXPECT_EQ(offered().size(), all);
  EXPECT_EQ(writes(), before) << log.all();
}

// Red when the pinned facts are kept without end: a driver that did not come back would stay unknown.
TEST_P(HeldTest, AnInterfaceThatDoesNotReturnLosesItsPinnedFacts) {
  hold();
  bind();
  run(1min);
  daemon->let_go(kBy);
  run(PinnedHost::kReturnMax - 1s);
  EXPECT_EQ(offered().size(), all);
  run(1min);
  EXPECT_EQ(daemon->inventory()->find(kVf)->driver, "vfio-pci");
  EXPECT_EQ(offered().size(), all - 1);
}

TEST_P(HeldTest, TheNextPodInheritsPinnedFacts) {
  hold();
  bind();
  run(1min);
  daemon->let_go(kBy);
  daemon->hold("driver uid-2", hotplug::facts_to_pin(*daemon->inventory()->find(kVf)));
  run(1min);
  EXPECT_EQ(daemon->inventory()->find(kVf)->driver, "iavf");
  EXPECT_EQ(writes(), before) << log.all();
}

TEST_P(HeldTest, WithdrawsARemovedFunctionEvenInAPod) {
  hold();
  bind();
  run(1min);
  tree.pci(kPf).vf(0).remove();
  pci_event("remove", kVf);
  run(1min);
  EXPECT_EQ(offered().size(), all - 1);
}

// The next daemon decides before it has read the prepared claims, and writes only afterwards.
TEST_P(HeldTest, ARestartWritesNothingOncePinnedFactsAreKnown) {
  const hotplug::HostDevice facts = hotplug::facts_to_pin(*daemon->inventory()->find(kVf));
  bind();
  start();
  daemon->permit_writes(false);
  run(1min);
  EXPECT_EQ(daemon->inventory()->find(kVf)->driver, "vfio-pci");
  daemon->hold(kBy, facts);
  daemon->permit_writes(true);
  run(1min);
  EXPECT_EQ(offered().size(), all);
  EXPECT_EQ(writes(), before) << log.all();
}

INSTANTIATE_TEST_SUITE_P(Kinds, HeldTest, testing::Bool());

}  // namespace
}  // namespace held_test
}  // namespace sliced::daemon
