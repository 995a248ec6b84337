#include "hotplug/pinned_facts.h"

#include <gtest/gtest.h>

#include "t/fixture/vf_host.h"

namespace sliced::hotplug {
namespace held_facts_test {
namespace {

constexpr const char* kVf = "0000:3b:00.1";

struct HeldFactsTest : testing::Test {
  HeldFactsTest() {
    host.pf("0000:3b:00.0", "ens1f0", 2);
    host.at(kVf).rdma_device = "irdma1";
    host.at(kVf).admin_mac = "02:00:00:00:00:01";
    held[kVf] = facts_to_pin(host.at(kVf));
  }
  // As vfio-pci leaves it.
  void bind() {
    HostDevice& vf = host.at(kVf);
    vf.driver = "vfio-pci";
    vf.netdev.reset();
    vf.rdma_device.clear();
    vf.admin_mac = "02:00:00:00:00:99";
  }
  HostDevice shown() const { return *with_pinned(host.inventory(), held)->find(kVf); }

  fixture::VfHost host;
  PinnedFacts held;
};

TEST_F(HeldFactsTest, PinsTheFactsOfABoundFunction) {
  const HostDevice before = host.at(kVf);
  bind();
  EXPECT_EQ(shown(), before);
}

TEST_F(HeldFactsTest, KeepsCurrentFactsThatBindingDoesNotChange) {
  bind();
  host.at(kVf).pf_name = "renamed";
  host.at(kVf).host_use = "enslaved to br0";
  EXPECT_EQ(shown().pf_name, "renamed");
  EXPECT_EQ(shown().host_use, "enslaved to br0");
  EXPECT_EQ(shown().driver, "iavf");
}

TEST_F(HeldFactsTest, IgnoresPinnedFactsOfAnotherFunctionAtTheAddress) {
  bind();
  host.at(kVf).product = "154c";
  EXPECT_EQ(shown().driver, "vfio-pci");
  EXPECT_TRUE(is_back(&host.at(kVf), held.at(kVf))) << "nothing of before comes any more";
}

TEST_F(HeldFactsTest, MarksFactsThatCannotBeReliedOn) {
  bind();
  host.at(kVf).broken = "half removed";
  EXPECT_EQ(shown().broken, "half removed");
  EXPECT_EQ(shown().driver, "vfio-pci");
}

TEST_F(HeldFactsTest, OmitsARemovedFunctionAndKeepsALinkInAPod) {
  HostDevice link;
  link.id.text = "dummy0";
  link.netdev = Netdev{.name = "dummy0", .mtu = 1400};
  held["dummy0"] = facts_to_pin(link);
  host.remove(kVf);
  const InventoryPtr now = with_pinned(host.inventory(), held);
  EXPECT_EQ(now->find(kVf), nullptr);
  ASSERT_NE(now->find("dummy0"), nullptr);
  EXPECT_EQ(*now->find("dummy0"), link);
  EXPECT_TRUE(is_back(nullptr, held.at(kVf)));
  EXPECT_FALSE(is_back(nullptr, link));
}

TEST_F(HeldFactsTest, ReturnsTheInventoryItselfIfNothingDiffers) {
  const InventoryPtr now = host.inventory();
  EXPECT_EQ(with_pinned(now, held), now);
}

TEST_F(HeldFactsTest, ReturnsWithItsDriverAndInterfaceName) {
  const HostDevice before = host.at(kVf);
  const auto is_back_now = [&] { return is_back(&host.at(kVf), held.at(kVf)); };
  EXPECT_TRUE(is_back_now());
  bind();
  EXPECT_FALSE(is_back_now());
  host.at(kVf).driver = "iavf";
  EXPECT_FALSE(is_back_now()) << "its interface is not there yet";
  host.at(kVf).rdma_device = "irdma1";
  host.at(kVf).netdev = Netdev{.name = "eth0"};
  EXPECT_FALSE(is_back_now()) << "udev has not named it yet";
  host.at(kVf).netdev = before.netdev;
  host.at(kVf).netdev->mac = "02:00:00:00:00:77";
  EXPECT_TRUE(is_back_now()) << "its address of before is not known";
  held.at(kVf).netdev->mac = "02:00:00:00:00:66";
  EXPECT_FALSE(is_back_now()) << "it has not its address of before yet";
  host.at(kVf).netdev->mac = "02:00:00:00:00:66";
  EXPECT_TRUE(is_back_now());
  host.at(kVf).netdev->stale = true;
  EXPECT_FALSE(is_back_now()) << "a pod has it";
}

}  // namespace
}  // namespace held_facts_test
}  // namespace sliced::hotplug
