#include "hotplug/inventory.h"

#include <gtest/gtest.h>

namespace sliced::hotplug {
namespace {

const PciAddress kVf{0, 0x3b, 2, 0};
const std::string kId = "0000:3b:02.0";

// One function whose netdev appears and disappears.
struct BookTest : testing::Test {
  InventoryBook book;
  HostReadings readings;
  NetdevChanges changes;

  BookTest() {
    readings.functions[kVf] =
        FunctionReading{.pci = kVf, .vendor = "8086", .product = "1889", .driver = "iavf"};
  }

  void present(const std::string& name, int ifindex = 7) {
    readings.netdevs.clear();
    NetdevReading netdev;
    netdev.name = name;
    netdev.ifindex = ifindex;
    netdev.mac = "02:00:00:00:00:07";
    netdev.mtu = 9000;
    netdev.link_type = 1;
    netdev.master = "br0";
    netdev.function = kVf;
    netdev.is_functions_own = true;
    netdev.slow = SlowFacts{.oper_state = "up", .speed_mbps = 25000};
    readings.netdevs[name] = netdev;
    readings.rdma_of_function[kVf] = "mlx5_2";
  }
  void absent() {
    readings.netdevs.clear();
    readings.rdma_of_function.clear();
  }
  const HostDevice& take() {
    diff = book.take(readings, std::exchange(changes, {}));
    return *book.now()->find(kId);
  }
  InventoryDiff diff;
};

TEST_F(BookTest, SharesUnchangedDevices) {
  const PciAddress other{0, 0x3b, 2, 1};
  readings.functions[other] = readings.functions[kVf];
  readings.functions[other].pci = other;
  present("eth0");
  take();
  const InventoryPtr first = book.now();
  readings.netdevs.at("eth0").mtu = 1500;
  take();
  ASSERT_NE(book.now(), first);
  EXPECT_EQ(first->find(kId)->netdev->mtu, 9000);
  EXPECT_EQ(book.now()->find(kId)->netdev->mtu, 1500);
  EXPECT_EQ(book.now()->find(other.text()), first->find(other.text()));
}

// An interface went into a pod and keeps its names here; another was given one of them. Red when nothing notices.
TEST_F(BookTest, ANameOfTwoInterfacesIsContested) {
  present("ens1");
  readings.netdevs.at("ens1").slow->alternative_names = {"eth0", "old"};
  take();
  EXPECT_TRUE(book.now()->contested_names.empty());
  absent();
  changes.left.insert("ens1");
  NetdevReading netdev;
  netdev.name = "eth0";
  netdev.ifindex = 9;
  netdev.link_type = 1;
  netdev.slow = SlowFacts{.alternative_names = {"other"}};
  readings.netdevs["eth0"] = netdev;
  EXPECT_EQ(take().netdev->alternative_names, (std::vector<std::string>{"eth0", "old"}));
  EXPECT_EQ(book.now()->contested_names, std::set<std::string>{"eth0"});
  const uint64_t version = book.now()->version;
  readings.netdevs.at("eth0").slow->alternative_names = {"old"};
  take();
  EXPECT_EQ(book.now()->contested_names, (std::set<std::string>{"eth0", "old"}));
  EXPECT_GT(book.now()->version, version);
  readings.netdevs.erase("eth0");
  take();
  EXPECT_TRUE(book.now()->contested_names.empty());
}

TEST(Inventory, AChangeDoesNotAffectAnotherInventory) {
  SharedMap<HostDevice> one;
  for (const char* id : {"b", "a", "c"}) one[id].id.text = id;
  SharedMap<HostDevice> other = one;
  EXPECT_EQ(&*one.find("a"), &*std::as_const(other).find("a"));
  other.at("a").driver = "ice";
  other.erase("b");
  EXPECT_EQ(one.find("a")->driver, "");
  EXPECT_EQ(other.find("a")->driver, "ice");
  std::string ids;
  for (const auto& [id, device] : one) ids += id + device.id.text;
  EXPECT_EQ(ids, "aabbcc");
  EXPECT_FALSE(other.contains("b"));
  EXPECT_DEATH((void)other.at("b"), "");
  EXPECT_FALSE(one == other);
  other = one;
  other.at("c").driver = "";
  EXPECT_TRUE(one == other) << "of equal values";
}

TEST_F(BookTest, VersionsGrowOnlyWithChanges) {
  EXPECT_EQ(book.now()->version, 0u);
  present("eth0");
  take();
  const InventoryPtr first = book.now();
  EXPECT_EQ(first->version, 1u);
  EXPECT_EQ(diff.added, std::vector<std::string>{kId});
  take();
  EXPECT_EQ(book.now(), first) << "the same readings are the same inventory";
  EXPECT_TRUE(diff.is_empty());
  readings.netdevs.at("eth0").mtu = 1500;
  take();
  EXPECT_EQ(book.now()->version, 2u);
  EXPECT_EQ(diff.changed, std::vector<std::string>{kId});
  readings.functions.clear();
  diff = book.take(readings, {});
  EXPECT_EQ(diff.removed, std::vector<std::string>{kId});
  EXPECT_EQ(book.now()->find(kId), nullptr) << "a function that is gone is gone";
}

TEST_F(BookTest, KeepsTheLastFactsOfAnAbsentNetdev) {
  present("ens1f0v0");
  take();
  absent();
  changes.left.insert("ens1f0v0");
  const HostDevice& away = take();
  ASSERT_TRUE(away.netdev);
  EXPECT_TRUE(away.netdev->stale);
  EXPECT_EQ(away.netdev->name, "ens1f0v0");
  EXPECT_EQ(away.netdev->mac, "02:00:00:00:00:07");
  EXPECT_EQ(away.netdev->mtu, 9000);
  EXPECT_EQ(away.netdev->link_type, 1);
  EXPECT_EQ(away.netdev->speed_mbps, 25000);
  EXPECT_EQ(away.rdma_device, "mlx5_2");
  EXPECT_EQ(away.netdev->master, "") << "master, default route and operState do not stay";
  EXPECT_EQ(away.netdev->oper_state, "");
  EXPECT_EQ(away.host_use, "");
  take();
  EXPECT_TRUE(diff.is_empty());
}

TEST_F(BookTest, DropsStickyFactsOnReturnUnderTheOwnName) {
  present("ens1f0v0");
  take();
  absent();
  take();
  present("ens1f0v0");
  EXPECT_FALSE(take().netdev->stale);
  present("storage0");
  changes.renamed_to.insert("storage0");
  EXPECT_EQ(take().netdev->name, "storage0");
}

TEST_F(BookTest, KeepsTheOldNameOnReturnUnderAPodsNameUntilARename) {
  present("ens1f0v0");
  take();
  absent();
  take();
  present("net1", 12);
  EXPECT_EQ(take().netdev->name, "ens1f0v0");
  EXPECT_EQ(take().netdev->kernel_name, "net1");
  changes.is_complete = false;
  EXPECT_EQ(take().netdev->name, "ens1f0v0") << "a rescan is not a rename";
  present("ens1f0v0x", 12);
  changes.renamed_to.insert("ens1f0v0x");
  EXPECT_EQ(take().netdev->name, "ens1f0v0x");
}

// Not found under its old name, and not seen to leave: that is a rename which was heard in two pieces.
TEST_F(BookTest, ARenameInTwoEventsIsNoReturn) {
  present("ens1f0v0");
  take();
  absent();
  EXPECT_EQ(take().netdev->name, "ens1f0v0");
  present("lan");
  EXPECT_EQ(take().netdev->name, "lan");
  absent();
  take();
  changes.left.insert("lan");
  take();
  present("net1");
  EXPECT_EQ(take().netdev->name, "lan") << "its leaving was heard later: it was in a pod";
}

// Red when an interface that is only not found ends the host use of its function.
TEST_F(BookTest, HostUseEndsWithAnExplanation) {
  present("ens1f0v0");
  EXPECT_EQ(take().host_use, "enslaved to br0");
  absent();
  EXPECT_EQ(take().host_use, "enslaved to br0") << "renamed, perhaps";
  EXPECT_EQ(take().host_use, "enslaved to br0");
  changes.left.insert("ens1f0v0");
  EXPECT_EQ(take().host_use, "");
  present("ens1f0v0");
  take();
  absent();
  changes.is_complete = false;
  EXPECT_EQ(take().host_use, "") << "everything was read";
}

// A driver that cannot be read has not been unbound.
TEST_F(BookTest, AnUnreadableDriverDropsNothing) {
  present("ens1f0v0");
  take();
  absent();
  take();
  readings.functions[kVf].driver.clear();
  readings.functions[kVf].unreadable = {"driver: EIO"};
  EXPECT_EQ(take().rdma_device, "mlx5_2");
  readings.functions[kVf].unreadable.clear();
  EXPECT_EQ(take().rdma_device, "") << "unbound";
}

TEST_F(BookTest, LeavesAndReturnsBetweenTwoReads) {
  present("ens1f0v0");
  take();
  present("net1");
  changes.left.insert("ens1f0v0");
  EXPECT_EQ(take().netdev->name, "ens1f0v0");
}

TEST_F(BookTest, WaitsOnceForAnUnexplainedName) {
  present("ens1f0v0");
  take();
  present("net1");
  EXPECT_EQ(take().netdev->name, "ens1f0v0") << "the event is on its way";
  changes.left.insert("ens1f0v0");
  EXPECT_EQ(take().netdev->name, "ens1f0v0") << "it had left";
  EXPECT_EQ(take().netdev->name, "ens1f0v0");
}

TEST_F(BookTest, AcceptsAnUnexplainedNameAsNew) {
  present("ens1f0v0");
  take();
  present("storage0");
  take();
  EXPECT_EQ(take().netdev->name, "storage0");
}

TEST_F(BookTest, TreatsANewNameAfterLostEventsAsARename) {
  present("ens1f0v0");
  take();
  present("storage0");
  changes.is_complete = false;
  EXPECT_EQ(take().netdev->name, "storage0");
}

TEST_F(BookTest, ARemovedDeviceIsNotAbsent) {
  present("eth0");
  take();
  absent();
  changes.ended[7] = "eth0";
  EXPECT_FALSE(take().netdev);
  present("eth1", 8);
  EXPECT_EQ(take().netdev->name, "eth1") << "a new netdev has its own name";
}

TEST_F(BookTest, AcceptsARemovalReportedAfterTheAbsence) {
  present("eth0");
  take();
  absent();
  EXPECT_TRUE(take().netdev);
  changes.ended[7] = "somebody-else";
  EXPECT_TRUE(take().netdev) << "an ifindex that was given again";
  changes.ended[7] = "eth0";
  EXPECT_FALSE(take().netdev);
}

TEST_F(BookTest, DropsStickyFactsUnderAnotherDriver) {
  for (const char* driver : {"vfio-pci", ""}) {
    readings.functions.at(kVf).driver = "iavf";
    present("eth0");
    take();
    absent();
    readings.functions.at(kVf).driver = driver;
    EXPECT_FALSE(take().netdev) << driver;
    EXPECT_EQ(take().rdma_device, "");
  }
}

TEST_F(BookTest, AVfKeepsThePfsNameWhileItIsAbsent) {
  const PciAddress pf{0, 0x3b, 0, 0};
  readings.functions[pf] =
      FunctionReading{.pci = pf, .driver = "ice", .total_vfs = 8, .num_vfs = 1, .vfs = {{kVf, 0}}};
  readings.functions.at(kVf).physfn = pf;
  present("ens1f0");
  readings.netdevs.at("ens1f0").function = pf;
  EXPECT_EQ(take().pf_name, "ens1f0");
  absent();
  EXPECT_EQ(take().pf_name, "ens1f0");
  EXPECT_EQ(take().pf_link_type, 1);
  EXPECT_FALSE(take().netdev);
}

TEST_F(BookTest, RecoversFromPublishedSlices) {
  const PciAddress other{0, 0x3b, 2, 1}, unbound{0, 0x3b, 2, 2}, gone{0, 0x3b, 2, 3};
  readings.functions[other] = FunctionReading{.pci = other, .driver = "iavf"};
  readings.functions[unbound] = FunctionReading{.pci = unbound};
  present("net1");
  readings.netdevs.at("net1").function = other;
  readings.rdma_of_function.clear();
  std::vector<RecoveredNetdev> recovered;
  for (const PciAddress& function : {kVf, other, unbound, gone})
    recovered.push_back(
        {function,
         Netdev{.name = "old" + function.text().substr(11), .mac = "02:00:00:00:00:09", .oper_state = "up"},
         "mlx5_9"});
  book.recover_sticky(recovered);
  const HostDevice& away = take();
  EXPECT_EQ(away.netdev->name, "old0");
  EXPECT_EQ(away.netdev->mac, "02:00:00:00:00:09");
  EXPECT_EQ(away.netdev->oper_state, "");
  EXPECT_TRUE(away.netdev->stale);
  EXPECT_EQ(away.rdma_device, "mlx5_9");
  EXPECT_EQ(book.now()->find(other.text())->netdev->name, "net1") << "what is here speaks for itself";
  EXPECT_FALSE(book.now()->find(unbound.text())->netdev) << "without a driver there is none";
  EXPECT_EQ(book.now()->find(gone.text()), nullptr);
  present("net2");
  EXPECT_EQ(take().netdev->name, "old0") << "as for any that comes back";
}

// A function with several ports, some of which a pod has.
struct PortsTest : BookTest {
  void port(const std::string& name, int ifindex, std::optional<int> dev_port) {
    NetdevReading netdev;
    netdev.name = name;
    netdev.ifindex = ifindex;
    netdev.mac = "02:00:00:00:00:0" + std::to_string(ifindex);
    netdev.dev_port = dev_port;
    netdev.function = kVf;
    netdev.is_functions_own = true;
    netdev.slow = SlowFacts{.oper_state = "up"};
    readings.netdevs[name] = netdev;
  }
  void leave(const std::string& name) {
    readings.netdevs.erase(name);
    changes.left.insert(name);
  }
  /// From the beginning: one0 and two0, which their driver numbers or does not.
  void two_ports(bool is_numbered = true) {
    book = InventoryBook();
    readings.netdevs.clear();
    port("one0", 4, is_numbered ? std::optional(0) : std::nullopt);
    port("two0", 5, is_numbered ? std::optional(1) : std::nullopt);
    EXPECT_EQ(text(take()), "one0/4 two0/5");
  }
  static std::string text(const HostDevice& device) {
    const auto one = [](const Netdev& port) {
      return port.name + "/" + port.mac.back() + (port.stale ? "~" : "");
    };
    std::string out = device.netdev ? one(*device.netdev) : "none";
    for (const Netdev& port : device.other_netdevs) out += " " + one(port);
    return out;
  }
};

// Red when the port that stays is shown in place of the one that left.
TEST_F(PortsTest, TheFirstPortLeavesAndReturns) {
  for (const bool is_numbered : {true, false}) {
    two_ports(is_numbered);
    leave("one0");
    EXPECT_EQ(text(take()), "one0/4~ two0/5");
    EXPECT_EQ(text(take()), "one0/4~ two0/5") << "and stays so";
    readings.netdevs.at("two0").master = "br0";
    EXPECT_EQ(take().host_use, "enslaved to br0 (its port two0)");
    readings.netdevs.at("two0").master = "";
    port("one0", 4, is_numbered ? std::optional(0) : std::nullopt);
    EXPECT_EQ(text(take()), "one0/4 two0/5");
  }
}

// Red when a port that is in a pod is forgotten: an exclude that names it would have no effect.
TEST_F(PortsTest, TheSecondPortLeavesAndReturns) {
  for (const bool is_numbered : {true, false}) {
    const auto number = [&](int port) { return is_numbered ? std::optional(port) : std::nullopt; };
    two_ports(is_numbered);
    leave("two0");
    EXPECT_EQ(text(take()), "one0/4 two0/5~");
    leave("one0");
    EXPECT_EQ(text(take()), "one0/4~ two0/5~");
    port("one0", 4, number(0));
    port("two0", 9, number(1));
    EXPECT_EQ(text(take()), "one0/4 two0/9");
    changes.ended[9] = "two0";
    leave("two0");
    EXPECT_EQ(text(take()), "one0/4") << "what is unregistered is in no pod";
  }
}

TEST_F(PortsTest, AFunctionOfAnotherDriverDropsThem) {
  two_ports();
  leave("two0");
  take();
  leave("one0");
  readings.functions.at(kVf).driver = "vfio-pci";
  EXPECT_EQ(text(take()), "none");
}

// The daemon started while a pod had the first one.
TEST_F(PortsTest, AddsTheFirstPortLater) {
  port("two0", 5, 1);
  EXPECT_EQ(text(take()), "two0/5");
  port("one0", 4, 0);
  EXPECT_EQ(text(take()), "one0/4 two0/5");
}

TEST_F(PortsTest, ARenameHereIsNoDeparture) {
  two_ports();
  readings.netdevs.erase("two0");
  port("new0", 5, 1);
  EXPECT_EQ(text(take()), "one0/4 new0/5");
}

}  // namespace
}  // namespace sliced::hotplug
