#include "hotplug/host_source.h"

#include <gtest/gtest.h>

#include <functional>

#include "reactor/base/text.h"
#include "t/fake/fake_events.h"
#include "t/fake/fake_executor.h"
#include "t/fake/memory_log.h"
#include "t/fixture/infiniband.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::hotplug {
namespace {

using namespace std::chrono_literals;
using fake::FakeEvents;
using fixture::SysfsTree;

// A tree in which reading some entries hangs, or something happens at the first look at them.
class TrickyView final : public HostView {
 public:
  explicit TrickyView(std::unique_ptr<HostView> files) : files_(std::move(files)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override {
    ++reads;
    look(path);
    if (fails(path)) return broken(path);
    return files_->read(path, size_max);
  }
  Result<std::vector<std::string>> list(std::string_view path) const override {
    look(path);
    if (fails(path)) return broken(path);
    return files_->list(path);
  }
  Result<std::string> readlink(std::string_view path) const override {
    look(path);
    if (fails(path)) return broken(path);
    return files_->readlink(path);
  }
  bool is_live() const override { return true; }
  uint64_t shortages() const override { return shortage; }
  Result<std::optional<RouteLinks>> route_links() const override { return links; }
  Result<LinkProperties> link_properties(int ifindex) const override {
    const auto at = properties.find(ifindex);
    return at == properties.end() ? LinkProperties{} : at->second;
  }

  uint64_t shortage = 0;
  std::optional<RouteLinks> links;           // nullopt: only proc is read
  std::map<int, LinkProperties> properties;  // by ifindex
  std::set<std::string> hanging;             // parts of paths
  std::map<std::string, int> failing;        // parts of paths -> how many more looks fail with EIO
  std::map<std::string, std::function<void()>> at_first_look;
  mutable size_t reads = 0;

 private:
  /// True when this look is one of those that fail.
  bool fails(std::string_view path) const {
    auto& self = const_cast<TrickyView&>(*this);
    for (auto& [part, times] : self.failing)
      if (times > 0 && path.find(part) != std::string_view::npos) return --times, true;
    return false;
  }
  static Error broken(std::string_view path) { return {Errc::kIo, std::string(path) + ": EIO"}; }
  void look(std::string_view path) const {
    auto& self = const_cast<TrickyView&>(*this);
    for (const std::string& part : hanging)
      if (path.find(part) != std::string_view::npos) fake::abandon(fake::Abandoned::kHangs);
    for (auto at = self.at_first_look.begin(); at != self.at_first_look.end();) {
      if (path.find(at->first) == std::string_view::npos) {
        ++at;
        continue;
      }
      const auto act = std::move(at->second);
      self.at_first_look.erase(at);
      act();
      at = self.at_first_look.begin();
    }
  }
  std::unique_ptr<HostView> files_;
};

struct HostSourceTest : testing::Test {
  SysfsTree tree;
  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  fake::MemoryLog log;
  std::shared_ptr<TrickyView> view = std::make_shared<TrickyView>(tree.view());
  FakeEvents::Wire wire;
  std::vector<InventoryUpdate> updates;
  std::unique_ptr<HostSource> source;
  ReadVfConfigs read_vf_configs;

  void start() {
    std::vector<std::unique_ptr<EventSource>> events;
    events.push_back(std::make_unique<FakeEvents>(wire));
    source = std::make_unique<HostSource>(
        HostSourcePorts{scheduler, executor, view, std::move(events), log, read_vf_configs},
        [this](const InventoryUpdate& update) { updates.push_back(update); });
    source->start();
  }
  void start_quietly() {
    start();
    scheduler.advance(1s);
    updates.clear();
  }
  void say(HostEvent event) { wire.on_event(std::move(event)); }
  void pci(const std::string& action, const std::string& address) {
    say(Uevent{action, "/devices/pci0000:00/0000:00:01.0/" + address, "pci", {}});
  }
  void net(const std::string& action, const std::string& name, std::map<std::string, std::string> more = {}) {
    more["INTERFACE"] = name;
    say(Uevent{action, "/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/net/" + name, "net", std::move(more)});
  }
  const HostDevice* find(const std::string& id) const { return source->inventory()->find(id); }
};

TEST_F(HostSourceTest, TheFirstUpdateIsComplete) {
  tree.pci("0000:3b:00.0").driver("ice").netdev("ens1f0").sriov(8).vfs(2);
  start();
  EXPECT_TRUE(wire.on_event) << "events are heard before anything is read";
  EXPECT_TRUE(updates.empty());
  scheduler.advance(1s);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].relisted);
  EXPECT_EQ(updates[0].why, "start");
  EXPECT_EQ(updates[0].added, (std::vector<std::string>{"0000:3b:00.0", "0000:3b:02.0", "0000:3b:02.1"}));
  EXPECT_EQ(updates[0].now, source->inventory());
  EXPECT_EQ(find("0000:3b:00.0")->netdev->speed_mbps, 25000) << "with what is slow to read";
}

TEST_F(HostSourceTest, AnEmptyHostIsAnInitialSyncToo) {
  start();
  scheduler.advance(1s);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].relisted);
  EXPECT_EQ(updates[0].now->devices.size(), 0u);
}

TEST_F(HostSourceTest, SendsNoUpdateWithoutAChange) {
  tree.pci("0000:3b:00.0").netdev("ens1f0");
  start_quietly();
  pci("change", "0000:3b:00.0");
  net("change", "ens1f0");
  say(LinkChange{2, "ens1f0"});
  say(RouteChange{});
  say(Overflow{"ENOBUFS"});
  scheduler.advance(1s);
  EXPECT_TRUE(updates.empty());
  EXPECT_EQ(source->counters().overflows, 1u);
}

TEST_F(HostSourceTest, ReadsSixtyFourVfsInPieces) {
  auto pf = tree.pci("0000:3b:00.0").driver("ice").netdev("ens1f0").sriov(64);
  for (int i = 1; i <= 30; ++i)
    tree.pci("0000:5" + std::to_string(i / 10) + ":0" + std::to_string(i % 10) + ".0")
        .netdev("other" + std::to_string(i));
  start_quietly();
  const size_t reads_of_all = view->reads;
  view->reads = 0;
  for (int count = 1; count <= 64; ++count) {
    pf.vfs(count);
    pci("add", pf.vf(count - 1).address());
    scheduler.advance(3ms);
  }
  pci("change", "0000:3b:00.0");
  scheduler.advance(1s);
  EXPECT_EQ(source->inventory()->devices.size(), 31u + 64u);
  EXPECT_EQ(find("0000:3b:00.0")->num_vfs, 64);
  EXPECT_EQ(find(pf.vf(63).address())->vf_index, 63);
  for (const auto& [id, device] : source->inventory()->devices) EXPECT_EQ(device.broken, "") << id;
  EXPECT_LT(updates.size(), 20u) << "pieces are gathered";
  EXPECT_EQ(source->counters().full_scans, 1u);
  EXPECT_LT(view->reads, 3 * reads_of_all + 64 * 8) << "what no event touched is not read again";
}

TEST_F(HostSourceTest, FindsANewPfByItsEvents) {
  start_quietly();
  tree.pci("0000:3b:00.0").driver("igb").netdev("eth0").sriov(7);
  pci("add", "0000:3b:00.0");
  net("add", "eth0");
  scheduler.advance(1s);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].added, std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_FALSE(updates[0].relisted);
  EXPECT_EQ(find("0000:3b:00.0")->type, DeviceType::kPf);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->oper_state, "up");
}

TEST_F(HostSourceTest, RemovesAFunctionAtItsEvent) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(4);
  start_quietly();
  const std::string last = pf.vf(3).address(), third = pf.vf(2).address();
  pf.vfs(2);
  pci("remove", last);
  ASSERT_EQ(updates.size(), 1u) << "without a reading, without waiting";
  EXPECT_EQ(updates[0].removed, std::vector<std::string>{last});
  pci("remove", third);
  scheduler.advance(HostSource::kCoalesce);
  EXPECT_EQ(find(third), nullptr);
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->num_vfs, 2);
  EXPECT_LE(updates.size(), 3u);
}

// No event reports a change of an IOMMU group to its other members. Red when a NIC still counts as sharing
// its group with a removed function (of its own class or another), or not with an added one.
TEST_F(HostSourceTest, UpdatesIommuGroupPartnersWithTheirMembers) {
  const std::string nic = "0000:02:00.0", port = "0000:02:00.1", nvme = "0000:02:00.2",
                    bridge = "0000:02:00.3";
  const std::string members = "sys/kernel/iommu_groups/75/devices/";
  const auto plug = [&](const std::string& address, const std::string& pci_class) {
    tree.write(members + address + "/x", "");
    tree.pci(address).attr("class", pci_class).link("iommu_group", "../../../../kernel/iommu_groups/75");
  };
  const auto pull = [&](const std::string& address) {
    tree.remove(members + address);
    tree.pci(address).remove();
  };
  const auto partners = [&] {
    std::string out;
    for (const PciAddress& partner : find(nic)->iommu_partners) out += partner.text() + " ";
    return out;
  };
  for (const std::string& ethernet : {nic, port}) plug(ethernet, "0x020000");
  plug(nvme, "0x010802");
  start_quietly();
  ASSERT_EQ(partners(), port + " " + nvme + " ");

  pull(port);
  pci("remove", port);
  EXPECT_EQ(partners(), nvme + " ") << "at the event";
  scheduler.advance(1s);
  EXPECT_EQ(partners(), nvme + " ");
  pull(nvme);
  pci("remove", nvme);
  scheduler.advance(1s);
  EXPECT_EQ(partners(), "");

  plug(bridge, "0x060400");
  pci("add", bridge);
  plug(nvme, "0x010802");
  pci("add", nvme);
  scheduler.advance(1s);
  EXPECT_EQ(partners(), nvme + " ") << "a bridge is not a partner";
  plug(port, "0x020000");
  pci("add", port);
  scheduler.advance(1s);
  EXPECT_EQ(partners(), port + " " + nvme + " ");

  // An NVMe controller takes the address of a NIC within one moment.
  pull(port);
  pci("remove", port);
  plug(port, "0x010802");
  pci("add", port);
  scheduler.advance(1s);
  EXPECT_EQ(find(port), nullptr);
  EXPECT_EQ(partners(), port + " " + nvme + " ");
  EXPECT_EQ(source->counters().full_scans, 1u) << "by events alone";
}

TEST_F(HostSourceTest, RemovesTheVfsOfADeadPf) {
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1f0").sriov(8).vfs(2);
  const std::vector<std::string> all{pf.vf(0).address(), pf.vf(1).address(), "0000:3b:00.0"};
  start_quietly();
  pf.remove();
  for (const auto& one : all) pci("remove", one);
  scheduler.advance(1s);
  EXPECT_TRUE(source->inventory()->devices.empty());
}

TEST_F(HostSourceTest, KeepsARemovalThatArrivesDuringARead) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(2);
  const std::string vf = pf.vf(1).address();
  tree.pci("0000:5b:00.0");
  start_quietly();
  // The VF goes after the reading has seen it and before the reading is over.
  view->at_first_look["proc/net/route"] = [&] {
    pf.vfs(1);
    pci("remove", vf);
  };
  say(Overflow{"test"});
  scheduler.advance(HostSource::kCoalesce);
  EXPECT_EQ(find(vf), nullptr);
  scheduler.advance(1s);
  EXPECT_EQ(find(vf), nullptr);
  for (const auto& update : updates) EXPECT_TRUE(update.added.empty()) << "it never came back";
}

TEST_F(HostSourceTest, FindsAFunctionThatReturnsImmediately) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(1);
  const std::string vf = pf.vf(0).address();
  start_quietly();
  pci("remove", vf);
  pci("add", vf);
  scheduler.advance(1s);
  ASSERT_NE(find(vf), nullptr);
}

// udev may say of one that it is gone when another has taken its place.
TEST_F(HostSourceTest, LooksOnceForARemovedFunction) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(2, [](SysfsTree::Pci vf, int index) {
    vf.netdev("ens1f0v" + std::to_string(index));
  });
  const std::string replaced = pf.vf(0).address(), gone = pf.vf(1).address();
  start_quietly();
  pf.vfs(1);
  for (const std::string& vf : {replaced, gone}) pci("remove", vf);
  scheduler.advance(HostSource::kBurst);
  EXPECT_TRUE(source->inventory()->is_vanished(replaced) && source->inventory()->is_vanished(gone));
  scheduler.advance(1s);
  ASSERT_NE(find(replaced), nullptr);
  EXPECT_TRUE(find(replaced)->netdev.has_value()) << "nobody tells of its interface again";
  EXPECT_TRUE(source->inventory()->vanished.empty());
}

// netlink reports the removal of the interface immediately; udev reports that of the function later. Red when
// only the interface is checked.
TEST_F(HostSourceTest, DoesNotWaitForAFunctionRemovedWithItsInterface) {
  auto vf = tree.pci("0000:3b:00.0")
                .sriov(8)
                .vfs(1, [](SysfsTree::Pci one, int) { one.driver("iavf").netdev("ens1f0v0"); })
                .vf(0);
  start_quietly();
  const int ifindex = find(vf.address())->netdev->ifindex;
  tree.pci("0000:3b:00.0").vfs(0);
  say(LinkChange{ifindex, "ens1f0v0", true, false});
  scheduler.advance(50ms);
  EXPECT_EQ(find(vf.address()), nullptr);
}

// While udev is stopped, the kernel's event is the only source about an interface. Red when the interface
// counts as a link without a function, or is ignored.
TEST_F(HostSourceTest, DoesNotWaitForAFunctionAddedWithItsInterface) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8);
  start_quietly();
  auto vf = pf.vfs(1, [](SysfsTree::Pci one, int) { one.driver("iavf").netdev("ens1f0v0"); }).vf(0);
  say(LinkChange{77, "ens1f0v0", false, false});
  scheduler.advance(50ms);
  ASSERT_NE(find(vf.address()), nullptr);
  EXPECT_EQ(find(vf.address())->vf_index, 0);
  EXPECT_EQ(find("0000:3b:00.0")->num_vfs, 1) << "its PF is looked at as well";
}

TEST_F(HostSourceTest, FollowsARebindOfTheDriver) {
  auto vf = tree.pci("0000:3b:00.0")
                .sriov(8)
                .vfs(1, [](SysfsTree::Pci one, int) { one.driver("iavf").netdev("ens1f0v0"); })
                .vf(0);
  start_quietly();
  const int ifindex = find(vf.address())->netdev->ifindex;
  tree.remove_netdev("ens1f0v0");
  net("remove", "ens1f0v0");
  say(LinkChange{ifindex, "ens1f0v0", true, false});
  vf.driver("");
  pci("unbind", vf.address());
  vf.driver("vfio-pci");
  pci("bind", vf.address());
  scheduler.advance(1s);
  EXPECT_EQ(find(vf.address())->driver, "vfio-pci");
  EXPECT_FALSE(find(vf.address())->netdev) << "it did not go to a pod, it ended";
  vf.driver("iavf").netdev("eth7");
  pci("bind", vf.address());
  net("add", "eth7");
  scheduler.advance(1s);
  EXPECT_EQ(find(vf.address())->netdev->name, "eth7");
}

TEST_F(HostSourceTest, FollowsARename) {
  tree.pci("0000:3b:00.0").driver("igb").netdev("eth0").sriov(7).vfs(1);
  start_quietly();
  tree.rename_netdev("eth0", "enp59s0");
  net("move", "enp59s0", {{"DEVPATH_OLD", "/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/net/eth0"}});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "enp59s0");
  EXPECT_EQ(find("0000:3b:02.0")->pf_name, "enp59s0");
  EXPECT_EQ(updates.size(), 1u);
}

TEST_F(HostSourceTest, FollowsARenameThatOnlyNetlinkReports) {
  tree.pci("0000:3b:00.0").driver("igb").netdev("eth0");
  tree.virtual_link("veth0");
  start_quietly();
  tree.rename_netdev("eth0", "enp59s0");
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "enp59s0"});
  tree.rename_netdev("veth0", "uplink");
  say(LinkChange{find("veth0")->netdev->ifindex, "uplink"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "enp59s0");
  EXPECT_EQ(find("veth0"), nullptr);
  EXPECT_NE(find("uplink"), nullptr);
}

// Red when the remembered interface keeps the former name: its departure would be missed, and it would stay in use.
TEST_F(HostSourceTest, RenamedAndRemovedBeforeItWasRead) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.default_route("ens1");
  start_quietly();
  const int ifindex = find("0000:3b:00.0")->netdev->ifindex;
  ASSERT_EQ(find("0000:3b:00.0")->host_use, "default route through ens1");
  tree.remove("proc/net/route");
  tree.remove_netdev("ens1");
  say(LinkChange{ifindex, "lan"});
  say(LinkChange{ifindex, "uplink0"});
  say(LinkChange{ifindex, "uplink0", true, true});
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "ens1") << "a CNI plugin renames it on its way into a pod";
  EXPECT_NE(find("0000:3b:00.0")->host_use, "")
      << "the events may be late: that it is used no more is read first";
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "");
}

// Red when a name alone decides: what has the former name by now would be renamed in its place.
TEST_F(HostSourceTest, AssignsALateRenameToTheInterfaceThatItNames) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.pci("0000:3c:00.0").netdev("ens2");
  start_quietly();
  const int first = find("0000:3b:00.0")->netdev->ifindex, second = find("0000:3c:00.0")->netdev->ifindex;
  tree.rename_netdev("ens1", "lan");
  tree.rename_netdev("ens2", "ens1");
  say(LinkChange{first, "lan"});
  say(LinkChange{second, "ens1"});
  scheduler.advance(1s);
  net("move", "lan", {{"DEVPATH_OLD", "/devices/x/net/ens1"}, {"IFINDEX", std::to_string(first)}});
  EXPECT_EQ(find("0000:3c:00.0")->netdev->name, "ens1");
  net("remove", "nothing");  // shows the known facts before it is read again
  EXPECT_FALSE(find("0000:3c:00.0")->netdev->stale);
  EXPECT_EQ(find("0000:3c:00.0")->netdev->name, "ens1");
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3c:00.0")->netdev->name, "ens1");
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "lan");
}

TEST_F(HostSourceTest, FollowsAnInterfaceIntoAPodAndBackUnderAnotherName) {
  tree.pci("0000:3b:00.0").driver("igb").netdev("ens1").sriov(7).rdma("mlx5_0");
  start_quietly();
  const Netdev before = *find("0000:3b:00.0")->netdev;
  tree.remove_netdev("ens1");
  say(LinkChange{before.ifindex, "ens1", true, true});
  ASSERT_EQ(updates.size(), 1u) << "at once";
  EXPECT_EQ(updates[0].changed, std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_TRUE(find("0000:3b:00.0")->netdev->stale);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->mac, before.mac);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->speed_mbps, 25000);
  scheduler.advance(10min);
  EXPECT_TRUE(find("0000:3b:00.0")->netdev->stale);

  tree.pci("0000:3b:00.0").netdev("net1");
  net("add", "net1");
  say(LinkChange{99, "net1"});
  scheduler.advance(1s);
  EXPECT_FALSE(find("0000:3b:00.0")->netdev->stale);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "ens1");
  EXPECT_EQ(find("0000:3b:00.0")->netdev->kernel_name, "net1");

  tree.rename_netdev("net1", "ens1x");
  net("move", "ens1x", {{"DEVPATH_OLD", "/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/net/net1"}});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "ens1x");
}

// Events of udev are lost, among them that the function of an interface in a pod was created again. netlink
// has reported the renaming. Red when the new interface counts as the former one that a pod renamed.
TEST_F(HostSourceTest, RenamedBeforeItWasRead) {
  tree.pci("0000:3b:00.0").driver("igb").netdev("ens1x");
  start_quietly();
  const int ifindex = find("0000:3b:00.0")->netdev->ifindex;
  tree.remove_netdev("ens1x");
  say(LinkChange{ifindex, "ens1x", true, true});
  scheduler.advance(1s);
  ASSERT_TRUE(find("0000:3b:00.0")->netdev->stale);
  tree.pci("0000:3b:00.0").netdev("ens1");
  say(Overflow{"udev: ENOBUFS"});
  say(LinkChange{99, "eth7"});
  say(LinkChange{99, "ens1"});
  scheduler.advance(1s);
  EXPECT_FALSE(find("0000:3b:00.0")->netdev->stale);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "ens1");
}

TEST_F(HostSourceTest, RdmaAppears) {
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1");
  start_quietly();
  pf.rdma("mlx5_0");
  say(Uevent{"add", "/devices/pci0000:00/0000:00:01.0/0000:3b:00.0/infiniband/mlx5_0", "infiniband", {}});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->rdma_device, "mlx5_0");
}

TEST_F(HostSourceTest, TracksLinksThatAppearAreEnslavedAndDisappear) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  start_quietly();
  tree.bridge("br0");
  net("add", "br0");
  scheduler.advance(1s);
  EXPECT_EQ(find("br0")->type, DeviceType::kBridge);
  tree.enslave("ens1", "br0");
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "ens1"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "enslaved to br0");
  tree.default_route("br0");
  say(RouteChange{});
  scheduler.advance(1s);
  EXPECT_EQ(find("br0")->host_use, "default route through br0");
  updates.clear();
  tree.enslave("ens1", "");
  tree.remove_netdev("br0");
  net("remove", "br0");
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].removed, std::vector<std::string>{"br0"});
}

TEST_F(HostSourceTest, ReadsEverythingAfterAnOverflow) {
  tree.pci("0000:3b:00.0");
  start_quietly();
  tree.pci("0000:5b:00.0");
  tree.pci("0000:3b:00.0").remove();
  say(Overflow{"netlink: ENOBUFS"});
  scheduler.advance(1s);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].relisted);
  EXPECT_EQ(updates[0].added, std::vector<std::string>{"0000:5b:00.0"});
  EXPECT_EQ(updates[0].removed, std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_EQ(updates[0].why, "events lost: netlink: ENOBUFS");
}

TEST_F(HostSourceTest, TheRescanCountsChangesThatEventsMissed) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.pci("0000:3c:00.0").netdev("ens2");
  start_quietly();
  std::vector<size_t> missed;
  source->rescan("sync timer", [&](size_t count) { missed.push_back(count); });
  scheduler.advance(1s);
  EXPECT_TRUE(updates.empty());
  tree.netdev_attr("ens1", "mtu", "9000");  // no event reports it
  tree.netdev_attr("ens2", "mtu", "9000");
  tree.pci("0000:5b:00.0");
  say(LinkChange{find("0000:3c:00.0")->netdev->ifindex, "ens2"});
  source->rescan("sync timer", [&](size_t count) { missed.push_back(count); });
  source->rescan("sync timer", [&](size_t count) { missed.push_back(count); });
  scheduler.advance(1s);
  EXPECT_EQ(missed, (std::vector<size_t>{0, 2, 2}));
  EXPECT_EQ(source->counters().missed, 2u);
  EXPECT_EQ(updates.size(), 1u);
  EXPECT_EQ(log.count("rescan found changes without events devices=2"), 1u);
}

TEST_F(HostSourceTest, AHangingSlowReadCostsTheseFactsOfOneDevice) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.pci("0000:3c:00.0").netdev("ens2");
  view->hanging = {"sys/class/net/ens1/speed"};
  start();
  scheduler.advance(HostSource::kReadDeadline + 10ms);
  ASSERT_EQ(updates.size(), 1u) << "the initial sync waits for the read's own deadline and no longer";
  EXPECT_EQ(find("0000:3c:00.0")->netdev->speed_mbps, 25000);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->mtu, 1500);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->speed_mbps, std::nullopt);
  scheduler.advance(5s);
  ASSERT_EQ(updates.size(), 1u);
  ASSERT_EQ(find("0000:3b:00.0")->unreadable.size(), 1u);
  EXPECT_EQ(find("0000:3b:00.0")->broken, "");
  const size_t hung = executor.hung;
  for (int i = 0; i < 5; ++i) {
    source->rescan("sync timer");
    scheduler.advance(5min);
  }
  EXPECT_EQ(executor.hung, hung) << "a worker that hangs is not joined by others";
  EXPECT_EQ(log.count("device read timed out"), 1u);
}

TEST_F(HostSourceTest, AHangingFastReadCostsOneDevice) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.pci("0000:3c:00.0").netdev("ens2");
  view->hanging = {"0000:3b:00.0/numa_node", "net/ens2/mtu"};
  start();
  scheduler.advance(20s);
  ASSERT_FALSE(updates.empty());
  EXPECT_EQ(find("0000:3b:00.0")->broken, "reading it gives no answer");
  EXPECT_EQ(find("0000:3c:00.0")->broken, "");
  EXPECT_FALSE(find("0000:3c:00.0")->netdev);
  EXPECT_EQ(find("0000:3c:00.0")->numa_node, 0);
}

TEST_F(HostSourceTest, KeepsHostUseIfRoutesCannotBeRead) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.default_route("ens1");
  start_quietly();
  tree.remove("proc/net/route");
  tree.symlink("route", "proc/net/route");  // ELOOP
  say(Overflow{"test"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through ens1");
  EXPECT_TRUE(updates.empty());
  EXPECT_EQ(log.count("proc/net/route: ELOOP"), 1u) << log.all();
  view->hanging = {"0000:3b:00.0/vendor", "proc/net/route"};
  say(Overflow{"test"});
  scheduler.advance(60s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through ens1");
}

// Red when the guard stays with the name: a renamed interface would be offered with the node's default route.
TEST_F(HostSourceTest, HostUseFollowsARenamedInterface) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.default_route("ens1");
  start_quietly();
  const int ifindex = find("0000:3b:00.0")->netdev->ifindex;
  tree.remove("proc/net/route");
  tree.symlink("route", "proc/net/route");  // ELOOP
  tree.rename_netdev("ens1", "lan");
  say(Overflow{"test"});  // no event reports the rename
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through lan");
  tree.rename_netdev("lan", "wan");
  view->hanging = {"0000:3b:00.0/vendor", "proc/net/route"};
  say(Overflow{"test"});
  scheduler.advance(60s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through wan");
  view->hanging = {};
  tree.rename_netdev("wan", "lan");
  say(LinkChange{ifindex, "wan"});
  scheduler.advance(60s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through lan");
}

TEST_F(HostSourceTest, FindsLateRepresentors) {
  auto pf = tree.pci("0000:3b:00.0").driver("mlx5_core").netdev("ens1f0np0").sriov(8).vfs(2);
  tree.netdev_attr("ens1f0np0", "phys_port_name", "p0");
  start_quietly();
  EXPECT_EQ(find("0000:3b:00.0")->eswitch_mode, "legacy");
  tree.netdev_attr("ens1f0np0", "phys_switch_id", "e0a0");
  pf.netdev("eth0").netdev("eth1");
  for (const auto& [name, port] : {std::pair{"eth0", "pf0vf0"}, {"eth1", "pf0vf1"}}) {
    tree.netdev_attr(name, "phys_switch_id", "e0a0");
    tree.netdev_attr(name, "phys_port_name", port);
    net("add", name);
  }
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "ens1f0np0"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->eswitch_mode, "switchdev");
  EXPECT_EQ(find("0000:3b:00.0")->netdev->name, "ens1f0np0");
  EXPECT_EQ(find(pf.vf(1).address())->representor, "eth1");
  EXPECT_EQ(find("eth1")->representor_of, pf.vf(1).address());
  for (const auto& update : updates)
    EXPECT_EQ(update.now->find(pf.vf(0).address())->pf_name, "ens1f0np0")
        << "a representor never stands for the PF";
}

TEST_F(HostSourceTest, AHangKeepsEarlierFacts) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  start_quietly();
  view->hanging = {"0000:3b:00.0/numa_node"};
  tree.pci("0000:5b:00.0");
  pci("change", "0000:3b:00.0");
  pci("add", "0000:5b:00.0");
  scheduler.advance(20s);
  EXPECT_EQ(find("0000:3b:00.0")->broken, "");
  EXPECT_EQ(find("0000:3b:00.0")->vendor, "8086");
  EXPECT_NE(find("0000:5b:00.0"), nullptr) << "the others go on";
}

// A stacked interface names its lower interface, and no event reports that it has a new name for it. Red when
// only the renamed interface is read: its use by the host would be lost, and a device in use offered.
TEST_F(HostSourceTest, StackedInterfacesFollowARename) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.virtual_link("macvlan0");
  tree.stack("macvlan0", "ens1");
  tree.default_route("macvlan0");
  start_quietly();
  ASSERT_EQ(find("0000:3b:00.0")->host_use, "default route through macvlan0");
  const int ifindex = find("0000:3b:00.0")->netdev->ifindex;
  tree.remove(tree.netdev_path("macvlan0") + "/lower_ens1");
  tree.rename_netdev("ens1", "ens2");
  tree.stack("macvlan0", "ens2");
  say(LinkChange{ifindex, "ens2"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->host_use, "default route through macvlan0");
}

// What the host uses through the links above an interface, while names change. `ens1` is in use throughout, so no inventory may
// show it otherwise; a test adds what is special.
struct HostUseWhileNamesChange : HostSourceTest {
  static constexpr const char* kUsed = "0000:3b:00.0";
  static constexpr const char* kOther = "0000:5b:00.0";

  void SetUp() override {
    tree.pci(kUsed).netdev("ens1");
    tree.pci(kOther).netdev("ens2");
  }
  int ifindex(const std::string& name) const {
    return std::stoi(*tree.view()->read("sys/class/net/" + name + "/ifindex"));
  }
  void changed(int index, const std::string& name) { say(LinkChange{index, name}); }
  // Inventories are concluded from events alone when something else goes.
  void something_else_goes() {
    for (const char* name : {"veth1", "veth2"})
      say(LinkChange{ifindex(name), name, true}), tree.remove_netdev(name);
  }
  void start_used() {
    tree.virtual_link("veth1");
    tree.virtual_link("veth2");
    start_quietly();
    ASSERT_NE(find(kUsed)->host_use, "");
    ASSERT_EQ(find(kOther)->host_use, "");
  }
  // A VLAN that carries a default route.
  void start_with_vlan_on(const std::string& interface) {
    tree.vlan("storage", 9, interface);
    tree.default_route("storage");
    start_used();
  }
  // A macvlan that carries a default route; proc/net/vlan/config does not list it.
  void start_with_macvlan() {
    tree.virtual_link("macvlan0");
    tree.stack("macvlan0", "ens1");
    tree.default_route("macvlan0");
    start_used();
  }
  // The kernel does it, its event comes, and something else goes.
  void rename(const std::string& from, const std::string& to) {
    tree.rename_netdev(from, to);
    changed(ifindex(to), to);
    something_else_goes();
  }
  void start_over() {
    tree.no_default_routes();
    tree.write("proc/net/vlan/config", "");
    source.reset();
  }
  void expect_used(const std::string& use) {
    scheduler.advance(5s);
    for (const auto& update : updates) EXPECT_NE(update.now->find(kUsed)->host_use, "") << update.why;
    EXPECT_EQ(find(kUsed)->host_use, use);
    EXPECT_EQ(find(kOther)->host_use, "");
  }
};

// Red when a stacked interface is searched under the old name of its lower interface, after only an event has
// reported the new name.
TEST_F(HostUseWhileNamesChange, FollowsARenamedInterface) {
  start_with_vlan_on("ens1");
  rename("ens1", "net0");
  expect_used("default route through storage");
}

// The same if only the text of the VLANs shows it, as in kernels without lower links.
TEST_F(HostUseWhileNamesChange, TheInterfaceIsRenamedAndATextAloneNamesIt) {
  tree.vlan("storage", 9, "ens1");
  tree.remove(tree.netdev_path("storage") + "/lower_ens1");
  tree.remove(tree.netdev_path("ens1") + "/upper_storage");
  tree.default_route("storage");
  start_used();
  rename("ens1", "net0");
  expect_used("default route through storage");
}

// No event has come yet when something else is read. Red when names of now are looked for among those of before.
TEST_F(HostUseWhileNamesChange, TheInterfaceIsRenamedWithoutAnEvent) {
  start_with_macvlan();
  tree.rename_netdev("ens1", "net0");
  something_else_goes();
  scheduler.advance(1s);
  changed(ifindex("net0"), "net0");
  expect_used("default route through macvlan0");
}

// Everything is read while the interface, and the interfaces on it, get other names.
TEST_F(HostUseWhileNamesChange, BothAreRenamedWhileAllIsRead) {
  for (const char* moment :
       {"net/ens1", "net/storage", "proc/net/vlan/config", "proc/net/route", "infiniband"}) {
    SCOPED_TRACE(moment);
    SetUp();
    start_with_vlan_on("ens1");
    view->at_first_look = {{moment, [this] {
                              tree.rename_netdev("ens1", "net0");
                              tree.rename_netdev("storage", "data");
                            }}};
    source->rescan("test");
    scheduler.advance(2s);
    EXPECT_TRUE(view->at_first_look.empty());
    changed(ifindex("net0"), "net0");
    changed(ifindex("data"), "data");
    expect_used("default route through data");
    for (const char* name : {"data", "veth1", "veth2"}) tree.remove_netdev(name);
    tree.rename_netdev("net0", "ens1");
    start_over();
  }
}

TEST_F(HostUseWhileNamesChange, TwoInterfacesExchangeTheirNames) {
  for (const bool is_told_first : {true, false}) {
    SCOPED_TRACE(is_told_first);
    SetUp();
    start_with_vlan_on("ens1");
    const int used = ifindex("ens1"), other = ifindex("ens2");
    tree.rename_netdev("ens1", "swap");
    if (is_told_first) changed(used, "swap"), something_else_goes();
    tree.rename_netdev("ens2", "ens1");
    if (is_told_first) changed(other, "ens1");
    tree.rename_netdev("swap", "ens2");
    if (!is_told_first) {
      something_else_goes();
      scheduler.advance(1s);
      changed(used, "swap"), changed(other, "ens1");
    }
    changed(used, "ens2");
    expect_used("default route through storage");
    for (const auto& update : updates) EXPECT_EQ(update.now->find(kOther)->host_use, "") << update.why;
    EXPECT_EQ(find(kUsed)->netdev->kernel_name, "ens2");
    EXPECT_EQ(find("storage")->parent_name, "ens2");
    tree.remove_netdev("storage");
    tree.rename_netdev("ens2", "swap"), tree.rename_netdev("ens1", "ens2"),
        tree.rename_netdev("swap", "ens1");
    start_over();
  }
}

TEST_F(HostUseWhileNamesChange, TheVlanItselfIsRenamed) {
  start_with_vlan_on("ens1");
  rename("storage", "data");
  expect_used("default route through data");
  EXPECT_EQ(find("data")->vlan_id, 9);
  for (const auto& update : updates)
    if (const HostDevice* vlan = update.now->find("data")) {
      EXPECT_EQ(vlan->vlan_id, 9) << update.why;
    }
}

// Another interface has the new name until its own event is read: neither may be lost.
TEST_F(HostUseWhileNamesChange, TheVlanGetsAFormerNameOfAnother) {
  tree.virtual_link("data");
  start_with_vlan_on("ens1");
  tree.rename_netdev("data", "old");
  rename("storage", "data");
  expect_used("default route through data");
}

TEST_F(HostUseWhileNamesChange, TheBondIsRenamed) {
  tree.bond("bond0");
  tree.enslave("ens1", "bond0");
  start_with_vlan_on("bond0");
  rename("bond0", "lan");
  expect_used("enslaved to lan");
  EXPECT_EQ(find("storage")->parent_name, "lan");
}

// udev reports seconds later the removal of an interface that has been back for long, with the same ifindex.
TEST_F(HostUseWhileNamesChange, TheVlanWasRemovedAndALateEventNamesIt) {
  start_with_vlan_on("ens1");
  net("remove", "storage", {{"IFINDEX", std::to_string(ifindex("storage"))}});
  something_else_goes();
  expect_used("default route through storage");
}

TEST_F(HostUseWhileNamesChange, TheVlanIsCreatedAgainAndALateEventNamesTheFormer) {
  start_with_vlan_on("ens1");
  const int former = ifindex("storage");
  tree.netdev_attr("storage", "ifindex", "77");
  changed(77, "storage");
  scheduler.advance(1s);
  say(LinkChange{former, "storage", true});
  net("remove", "storage", {{"IFINDEX", std::to_string(former)}});
  expect_used("default route through storage");
}

// A macvlan stays here when its interface moves to a pod. No event reports that the interface is back.
TEST_F(HostUseWhileNamesChange, TheInterfaceReturnsBelowItsStack) {
  start_with_macvlan();
  const int index = ifindex("ens1");
  tree.remove(tree.netdev_path("macvlan0") + "/lower_ens1");
  tree.remove_netdev("ens1");
  say(LinkChange{index, "ens1", true, true});
  changed(ifindex("macvlan0"), "macvlan0");
  scheduler.advance(1s);
  EXPECT_EQ(find(kUsed)->host_use, "") << "it is away";
  updates.clear();
  tree.pci(kUsed).netdev("ens7");
  tree.netdev_attr("ens7", "ifindex", "99");
  tree.stack("macvlan0", "ens7");
  changed(99, "ens7");
  expect_used("default route through macvlan0");
}

// The kernel reports routes by ifindex, also of an interface that has not been read.
TEST_F(HostUseWhileNamesChange, KeepsHostUseUntilAMixedStateIsRead) {
  tree.virtual_link("macvlan0");
  tree.stack("macvlan0", "ens1");
  start();
  scheduler.advance(1s);
  updates.clear();
  view->links = RouteLinks{{ifindex("macvlan0")}, {}};
  say(RouteChange{});
  scheduler.advance(1s);
  ASSERT_EQ(find(kUsed)->host_use, "default route through macvlan0");
  updates.clear();
  view->links = RouteLinks{{4711}, {}};
  say(RouteChange{});
  scheduler.advance(1s);
  EXPECT_EQ(find(kUsed)->host_use, "default route through macvlan0")
      << "it may lead through what is below 4711";
  view->links = RouteLinks{};
  scheduler.advance(1min);
  EXPECT_EQ(find(kUsed)->host_use, "") << "it is read again without an event";
}

// Of which policies may give devices away. Red when a use that is more than default routes counts as such.
TEST_F(HostUseWhileNamesChange, DefaultRoutesAloneAreHostUse) {
  tree.vlan("storage", 9, "ens1");
  tree.bridge("br0");
  start();
  const int one = ifindex("ens1"), vlan = ifindex("storage");
  using Kind = HostUseKind;
  const struct {
    const char* why;
    RouteLinks links;
    const char* master;
    Kind kind;
  } rows[] = {
      {"by DHCP", {{one}, {}, {one}}, "", Kind::kLearnedRoute},
      {"by hand", {{one}, {}}, "", Kind::kDefaultRoute},
      {"and another route", {{one}, {one}, {one}}, "", Kind::kOther},
      {"and one through its VLAN", {{one, vlan}, {}, {one, vlan}}, "", Kind::kOther},
      {"only through its VLAN", {{vlan}, {}, {vlan}}, "", Kind::kOther},
      {"and enslaved", {{one}, {}, {one}}, "br0", Kind::kOther},
      {"by DHCP again", {{one}, {}, {one}}, "", Kind::kLearnedRoute},
  };
  for (const auto& row : rows) {
    view->links = row.links;
    tree.enslave("ens1", row.master);
    changed(one, "ens1");
    say(RouteChange{});
    scheduler.advance(500ms);
    EXPECT_NE(find(kUsed)->host_use, "") << row.why;
    EXPECT_EQ(find(kUsed)->host_use_kind, row.kind) << row.why;
    EXPECT_EQ(find(kOther)->host_use, "") << row.why;
  }
}

// A route leads for ever to an interface that /sys does not list. Time is stepped: what counts are full readings in a row.
struct HostUseWhileALinkIsMissing : HostUseWhileNamesChange {
  static constexpr const char* kText =
      "unknown, a route or an interface of the host leads to ifindex 4711, which /sys does not list";
  void miss() { view->links = RouteLinks{{}, {4711}}; }
  uint64_t readings() const { return source->counters().full_scans; }
  // Until so many full readings are over since the start.
  void read(uint64_t count) {
    for (int i = 0; i < 5000 && readings() < count; ++i) scheduler.advance(100ms);
    scheduler.advance(50ms);
    ASSERT_EQ(readings(), count);
  }
};

// Red when all functions stay withheld.
TEST_F(HostUseWhileALinkIsMissing, FreesAnInterfaceWithoutUsersOnceReadsAreStable) {
  miss();
  start();
  read(HostSource::kMissingReadings - 1);
  for (const char* id : {kUsed, kOther}) EXPECT_NE(find(id)->host_use, "") << "it may be found yet";
  read(HostSource::kMissingReadings);
  for (const char* id : {kUsed, kOther}) EXPECT_EQ(find(id)->host_use, "");
  EXPECT_GT(HostSource::kMissingReadings, 3u);
}

// Red when an interface that cannot be found makes a function below it count as unused.
TEST_F(HostUseWhileALinkIsMissing, WithholdsAPossibleLowerInterface) {
  tree.symlink("../hidden", tree.netdev_path("ens1") + "/upper_hidden");
  miss();
  start();
  read(HostSource::kMissingReadings + 1);
  EXPECT_EQ(find(kUsed)->host_use, kText);
  EXPECT_EQ(find(kOther)->host_use, "");
}

TEST_F(HostUseWhileALinkIsMissing, WithholdsAPossibleIndirectLowerInterface) {
  tree.vlan("storage", 9, "ens1");
  tree.bond("bond0");
  tree.enslave("ens2", "bond0");
  tree.symlink("../hidden", tree.netdev_path("storage") + "/upper_hidden");
  miss();
  start();
  read(HostSource::kMissingReadings + 1);
  EXPECT_EQ(find(kUsed)->host_use, kText);
  EXPECT_EQ(find(kOther)->host_use, "enslaved to bond0");
}

// It may be the function's own.
TEST_F(HostUseWhileALinkIsMissing, WithholdsAFunctionWhoseInterfaceIsNotFound) {
  tree.remove_netdev("ens1");
  tree.pci(kUsed).driver("ice");
  tree.remove_netdev("ens2");
  tree.pci(kOther).driver("vfio-pci");
  miss();
  start();
  read(HostSource::kMissingReadings + 1);
  EXPECT_EQ(find(kUsed)->host_use, kText);
  EXPECT_EQ(find(kOther)->host_use, "") << "it has no interface anywhere";
}

// The former route may lead through the same interface, which is unknown now.
TEST_F(HostUseWhileALinkIsMissing, KeepsIndirectHostUse) {
  tree.virtual_link("macvlan0");
  tree.stack("macvlan0", "ens1");
  view->links = RouteLinks{{ifindex("macvlan0")}, {}};
  start();
  scheduler.advance(1s);
  ASSERT_EQ(find(kUsed)->host_use, "default route through macvlan0");
  miss();
  say(RouteChange{});
  read(HostSource::kMissingReadings + 4);
  EXPECT_EQ(find(kUsed)->host_use, "default route through macvlan0");
  EXPECT_EQ(find(kOther)->host_use, "");
  view->links = RouteLinks{};
  scheduler.advance(2min);
  EXPECT_EQ(find(kUsed)->host_use, "");
}

TEST_F(HostUseWhileALinkIsMissing, HostUseShownByItsOwnLinkEndsAsUsual) {
  tree.bridge("br0");
  tree.enslave("ens1", "br0");
  miss();
  start();
  read(HostSource::kMissingReadings + 1);
  ASSERT_EQ(find(kUsed)->host_use, "enslaved to br0");
  tree.enslave("ens1", "");
  scheduler.advance(5min);
  EXPECT_EQ(find(kUsed)->host_use, "");
}

// Red when readings of a time in which names change count: interfaces that are renamed again and again are never concluded from.
TEST_F(HostUseWhileALinkIsMissing, ConcludesNothingWhileStacksDiffer) {
  miss();
  tree.vlan("vlan0", 9, "ens1");
  start();
  for (int i = 0; i < 20; ++i) {
    const uint64_t before = readings();
    read(before + 1);
    EXPECT_NE(find(kOther)->host_use, "") << i;
    tree.rename_netdev("vlan" + std::to_string(i), "vlan" + std::to_string(i + 1));
  }
}

// Interfaces of pods with one /32 route each, ports of a bridge that also has a NIC, and VFs that leave for a
// pod and return.
TEST_F(HostUseWhileALinkIsMissing, PodsThatComeAndGoCauseNoDelay) {
  tree.bridge("br0");
  tree.enslave("ens1", "br0");
  tree.pci("0000:3b:02.0").netdev("ens1v0");
  miss();
  start();
  for (uint64_t i = 1; i <= HostSource::kMissingReadings; ++i) {
    read(i);
    EXPECT_EQ(find(kOther)->host_use.empty(), i == HostSource::kMissingReadings) << i;
    const std::string veth = "veth" + std::to_string(i), port = "port" + std::to_string(i);
    if (i > 1) {
      for (const char* kind : {"veth", "port"}) {
        const std::string former = kind + std::to_string(i - 1);
        const int index = ifindex(former);
        tree.remove(tree.netdev_path("br0") + "/lower_" + former);
        tree.remove_netdev(former);
        say(LinkChange{index, former, true});
      }
    }
    tree.virtual_link(veth);
    tree.virtual_link(port);
    tree.enslave(port, "br0");
    changed(ifindex(veth), veth), changed(ifindex(port), port), changed(ifindex("br0"), "br0");
    view->links = RouteLinks{{}, {4711, ifindex(veth)}};
    say(RouteChange{.new_link = ifindex(veth)});
    if (i % 2 == 1) {
      const int index = ifindex("ens1v0");
      tree.remove_netdev("ens1v0");
      say(LinkChange{index, "ens1v0", true, true});
    } else {
      tree.pci("0000:3b:02.0").netdev("ens1v0");
      changed(ifindex("ens1v0"), "ens1v0");
    }
    scheduler.advance(200ms);
  }
  EXPECT_EQ(find(kUsed)->host_use, "enslaved to br0");
}

// Red when it stays unknown for as long as the delay between full readings has grown to.
TEST_F(HostUseWhileALinkIsMissing, JudgesAChangeWithinSecondsAfterALongPause) {
  miss();
  start();
  scheduler.advance(30min);
  tree.vlan("storage", 9, "ens1");
  changed(ifindex("storage"), "storage");
  scheduler.advance(200ms);
  tree.pci("0000:3b:00.7").netdev("ens7");
  pci("add", "0000:3b:00.7"), changed(ifindex("ens7"), "ens7");
  scheduler.advance(200ms);
  ASSERT_NE(find("0000:3b:00.7"), nullptr);
  EXPECT_NE(find("0000:3b:00.7")->host_use, "") << "what is stacked on functions has just changed";
  scheduler.advance(20s);
  EXPECT_EQ(find("0000:3b:00.7")->host_use, "");
}

TEST_F(HostUseWhileALinkIsMissing, JudgesAnotherMissingInterfaceAgain) {
  miss();
  start();
  read(HostSource::kMissingReadings);
  ASSERT_EQ(find(kUsed)->host_use, "");
  tree.vlan("storage", 9, "ens1");
  view->links = RouteLinks{{}, {4711, 4712}};
  changed(ifindex("storage"), "storage");
  say(RouteChange{});
  scheduler.advance(500ms);
  EXPECT_EQ(find(kUsed)->host_use, "") << "nothing has used it";
  view->links = RouteLinks{{ifindex("storage")}, {4711}};
  say(RouteChange{});
  scheduler.advance(500ms);
  EXPECT_EQ(find(kUsed)->host_use, "default route through storage");
}

// Red when the interface of a default route is remembered by a name that another interface has now.
TEST_F(HostSourceTest, RemovesARouteWithItsInterface) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  tree.virtual_link("lan");
  tree.virtual_link("veth0");
  tree.default_route("lan");
  start_quietly();
  say(LinkChange{find("lan")->netdev->ifindex, "lan", true});
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "lan"});
  say(LinkChange{find("veth0")->netdev->ifindex, "veth0", true});
  scheduler.advance(HostSource::kBurst);
  for (const auto& update : updates) EXPECT_EQ(update.now->find("0000:3b:00.0")->host_use, "");
  EXPECT_GE(updates.size(), 2u);
}

// No descriptors, no memory: red when one failed read loses a fact, and with it a device that is in use.
TEST_F(HostSourceTest, OneFailedReadHasNoEffect) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(2).netdev("ens1");
  start_quietly();
  for (const char* part : {"0000:3b:00.0/numa_node", "0000:3b:00.0", "net/ens1/type", "net/ens1", "physfn"}) {
    SCOPED_TRACE(part);
    const Inventory before = *source->inventory();
    view->failing = {{part, 1}};
    source->rescan("test");
    scheduler.advance(200ms);
    EXPECT_EQ(view->failing[part], 0) << "nobody looked";
    EXPECT_EQ(source->inventory()->devices, before.devices);
  }
}

// Red when a daemon without descriptors withdraws devices that it cannot read, or offers devices that the host uses.
TEST_F(HostSourceTest, ConcludesNothingWithoutFileDescriptors) {
  tree.pci("0000:3b:00.0").driver("ice").netdev("ens1").sriov(8).vfs(2);
  tree.default_route("ens1");
  start_quietly();
  const Inventory before = *source->inventory();
  tree.pci("0000:3b:00.0").no_attr("sriov_totalvfs");
  tree.remove("proc/net/route");
  view->at_first_look = {{"0000:3b:00.0", [this] { ++view->shortage; }}};
  source->rescan("test");
  scheduler.advance(500ms);
  EXPECT_TRUE(view->at_first_look.empty()) << "nobody looked";
  EXPECT_EQ(source->inventory()->devices, before.devices);
  EXPECT_EQ(log.count("no file descriptors left"), 1u) << log.all();
  scheduler.advance(5s);
  EXPECT_NE(source->inventory()->devices, before.devices) << "it is read again";
}

// No event reports that a file has become readable. Red when only the sync timer reads it again.
TEST_F(HostSourceTest, RetriesAFailedReadSoon) {
  tree.pci("0000:3b:00.0").numa(1).netdev("ens1");
  tree.boot_id("boot-1");
  view->failing = {{"0000:3b:00.0/numa_node", 4}, {"boot_id", 2}};
  start_quietly();
  EXPECT_FALSE(find("0000:3b:00.0")->numa_node);
  scheduler.advance(10s);
  EXPECT_EQ(find("0000:3b:00.0")->numa_node, 1);
  ASSERT_FALSE(updates.empty());
  EXPECT_EQ(updates.back().now->boot_id, "boot-1");
}

// Red when a late boot id causes no update.
TEST_F(HostSourceTest, ReportsANewBootIdAsAChange) {
  tree.pci("0000:3b:00.0");
  tree.boot_id("boot-1");
  view->failing = {{"boot_id", 1}};
  start_quietly();
  updates.clear();
  source->rescan("test");
  scheduler.advance(1s);
  ASSERT_FALSE(updates.empty());
  EXPECT_EQ(updates.back().now->boot_id, "boot-1");
}

TEST_F(HostSourceTest, RetriesAHostThatCannotBeListed) {
  tree.pci("0000:3b:00.0");
  view->hanging = {"sys/bus/pci/devices"};
  start();
  scheduler.advance(60s);
  EXPECT_TRUE(updates.empty()) << "no word is not an empty host";
  EXPECT_LE(executor.hung, 8u);
  view->hanging.clear();
  scheduler.advance(120s);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_TRUE(updates[0].relisted);
  EXPECT_NE(find("0000:3b:00.0"), nullptr);
}

TEST_F(HostSourceTest, HandlesDevicesThatVanishDuringARead) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(2, [](SysfsTree::Pci vf, int index) {
    vf.netdev("v" + std::to_string(index));
  });
  const std::string vf = pf.vf(1).address();
  for (const std::string entry : {"/class", "/numa_node", "/driver", "/device", "/vendor"}) {
    SCOPED_TRACE(entry);
    pf.vfs(2, [](SysfsTree::Pci one, int index) { one.netdev("v" + std::to_string(index)); });
    view->at_first_look[vf + entry] = [&] { pf.vfs(1); };
    if (source)
      say(Overflow{"test"});
    else
      start();
    scheduler.advance(1s);
    EXPECT_TRUE(find(vf) == nullptr || !find(vf)->broken.empty()) << "gone, or held back";
    pci("remove", vf);
    pci("change", "0000:3b:00.0");
    scheduler.advance(1s);
    EXPECT_EQ(find(vf), nullptr);
    EXPECT_EQ(find("0000:3b:00.0")->broken, "");
  }
}

TEST_F(HostSourceTest, ReadsAdminMacs) {
  std::map<int, VfConfig> configs{{0, {.mac = "02:aa:00:00:00:01"}}, {1, {.mac = "00:00:00:00:00:00"}}};
  int asked = 0;
  read_vf_configs = [&](int) {
    ++asked;
    return Result<std::map<int, VfConfig>>(configs);
  };
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1").sriov(8).vfs(2);
  tree.pci("0000:3c:00.0").netdev("ens2").sriov(8);
  start_quietly();
  EXPECT_EQ(find(pf.vf(0).address())->admin_mac, "02:aa:00:00:00:01");
  EXPECT_EQ(find(pf.vf(1).address())->admin_mac, "");
  EXPECT_EQ(find(pf.vf(1).address())->enforced->mac, "00:00:00:00:00:00");
  EXPECT_TRUE(source->inventory()->can_query_pfs);
  EXPECT_EQ(asked, 1) << "only of a PF that has VFs";
  configs[1].mac = "02:aa:00:00:00:02";
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "ens1"});
  scheduler.advance(1s);
  EXPECT_EQ(find(pf.vf(1).address())->admin_mac, "02:aa:00:00:00:02");
  configs.erase(1);
  configs[0].trust = true;
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "ens1"});
  scheduler.advance(1s);
  EXPECT_EQ(find(pf.vf(1).address())->admin_mac, "02:aa:00:00:00:02") << "its driver may be resetting it";
  EXPECT_EQ(find(pf.vf(0).address())->enforced->trust, true);
}

// What the kernel answers of a PF with many VFs, as it wraps or refuses (net/core/rtnetlink.c).
struct SettingsThatCannotBeRead : HostSourceTest {
  SettingsThatCannotBeRead() {
    for (int i = 0; i < kVfs; ++i) configs[i].mac = "02:aa:00:00:00:" + hex(static_cast<unsigned>(i), 2);
    read_vf_configs = [this](int) {
      return problem.empty() ? Result<std::map<int, VfConfig>>(configs)
                             : Result<std::map<int, VfConfig>>(Error{Errc::kIo, problem});
    };
  }
  void ask() {
    say(LinkChange{find(pf.address())->netdev->ifindex, "ens1"});
    scheduler.advance(500ms);
  }
  std::string note(const std::string& id) {
    return std::string(find_unreadable(find(id)->unreadable, "settings"));
  }
  static constexpr int kVfs = 8;
  SysfsTree::Pci pf = tree.pci("0000:3b:00.0").netdev("ens1").sriov(8).vfs(kVfs);
  std::map<int, VfConfig> configs;
  std::string problem;
};

// Red when VFs beyond the part of a list that has not been cut off lose their settings.
TEST_F(SettingsThatCannotBeRead, AnAnswerWithoutVfsErasesNothing) {
  start_quietly();
  const auto all = configs;
  for (const int reported : {3, 0}) {
    configs = {all.begin(), std::next(all.begin(), reported)};
    ask();
    for (int i = 0; i < kVfs; ++i) {
      EXPECT_EQ(find(pf.vf(i).address())->admin_mac, all.at(i).mac) << i;
      const std::string text = "settings: the PF reports " + std::to_string(reported) + " of 8 VFs";
      EXPECT_EQ(note(pf.vf(i).address()), i < reported ? "" : text) << i;
      EXPECT_EQ(note(pf.address()), text);
    }
    EXPECT_EQ(log.count("reports " + std::to_string(reported) + " of 8 VFs"), 1u);
  }
  ask();
  EXPECT_EQ(log.count("reports 0 of 8 VFs"), 1u) << "once for each cause";
  configs = all;
  scheduler.advance(2min);
  EXPECT_EQ(note(pf.address()) + note(pf.vf(7).address()), "") << "it is asked again without an event";
  EXPECT_EQ(log.count("read from their PF again"), 1u);
}

TEST_F(SettingsThatCannotBeRead, ShowsARefusalAndErasesNothing) {
  start_quietly();
  problem = "netlink: RTM_GETLINK: EMSGSIZE";
  ask();
  EXPECT_EQ(find(pf.vf(7).address())->admin_mac, "02:aa:00:00:00:07");
  EXPECT_EQ(note(pf.vf(7).address()), "settings: netlink: RTM_GETLINK: EMSGSIZE");
  EXPECT_EQ(note(pf.address()), "settings: netlink: RTM_GETLINK: EMSGSIZE");
  EXPECT_EQ(log.count("EMSGSIZE"), 1u);
}

TEST_F(SettingsThatCannotBeRead, ReadsGuidsFromSysfsIfTheKernelRefuses) {
  for (int i = 0; i < kVfs - 1; ++i) {
    tree.write(pf.path() + "/sriov/" + std::to_string(i) + "/node",
               "0c:42:a1:00:00:00:00:0" + std::to_string(i));
    tree.write(pf.path() + "/sriov/" + std::to_string(i) + "/port",
               "0c:42:a1:00:00:00:01:0" + std::to_string(i));
  }
  problem = "netlink: RTM_GETLINK: EMSGSIZE";
  tree.netdev_attr("ens1", "type", "32");
  start_quietly();
  EXPECT_TRUE(source->query_times().contains(*PciAddress::decode(pf.address()))) << "a policy waits for it";
  EXPECT_EQ(find(pf.vf(3).address())->enforced->node_guid, "0c:42:a1:00:00:00:00:03");
  EXPECT_EQ(find(pf.vf(3).address())->enforced->port_guid, "0c:42:a1:00:00:00:01:03");
  EXPECT_EQ(find(pf.vf(7).address())->enforced, std::nullopt);
  EXPECT_EQ(note(pf.vf(3).address()), "settings: netlink: RTM_GETLINK: EMSGSIZE") << "only GUIDs are known";
}

// Most drivers do not report settings of VFs at all, and VFs that are being removed are missing for a moment.
TEST_F(SettingsThatCannotBeRead, IgnoresSettingsThatDoNotExist) {
  const auto all = std::exchange(configs, {});
  start_quietly();
  EXPECT_EQ(note(pf.address()), "");
  configs = all;
  ask();
  const std::string last = pf.vf(7).address();
  EXPECT_EQ(find(last)->admin_mac, "02:aa:00:00:00:07");
  configs.erase(7);
  tree.remove(pf.path() + "/virtfn7");
  ask();
  EXPECT_EQ(note(pf.address()) + note(last), "");
  EXPECT_EQ(log.count("settings of VFs"), 0u);
}

TEST_F(HostSourceTest, QueriesPfsAtGrowingIntervalsWhileDevicesWait) {
  std::map<int, VfConfig> configs{{0, {.mac = "00:00:00:00:00:00"}}};
  std::vector<TimePoint> asked;
  read_vf_configs = [&](int) {
    asked.push_back(scheduler.now());
    return Result<std::map<int, VfConfig>>(configs);
  };
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1").sriov(8).vfs(1);
  start_quietly();
  asked.clear();
  const std::set<PciAddress> pfs{*PciAddress::decode("0000:3b:00.0")};
  source->poll_pfs(pfs);
  scheduler.advance(10s);
  ASSERT_GE(asked.size(), 8u);
  EXPECT_LT(asked[0] - TimePoint{}, asked[1] - asked[0] + 10s);
  EXPECT_LE(asked[1] - asked[0], 250ms);
  EXPECT_GE(asked.back() - asked[asked.size() - 2], 1900ms);
  EXPECT_LE(asked.back() - asked[asked.size() - 2], 2100ms);
  source->poll_pfs(pfs);  // as each decision says it
  const size_t before = asked.size();
  scheduler.advance(4s);
  EXPECT_LE(asked.size(), before + 3) << "the same wish does not begin anew";
  configs[0].mac = "02:aa:00:00:00:01";
  scheduler.advance(2100ms);
  EXPECT_EQ(find(pf.vf(0).address())->admin_mac, "02:aa:00:00:00:01") << "no event has told";
  source->poll_pfs({});
  asked.clear();
  scheduler.advance(30s);
  EXPECT_TRUE(asked.empty());
}

TEST_F(HostSourceTest, QueriesAPfImmediatelyForANewRequester) {
  int asked = 0, told = 0;
  std::map<int, VfConfig> configs{{0, {.mac = "00:00:00:00:00:00"}}};
  bool refuses = false;
  read_vf_configs = [&](int) {
    ++asked;
    return refuses ? Result<std::map<int, VfConfig>>(Error{Errc::kBusy, "busy"})
                   : Result<std::map<int, VfConfig>>(configs);
  };
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1").sriov(8).vfs(1);
  start_quietly();
  const PciAddress address = *PciAddress::decode("0000:3b:00.0");
  const TimePoint first = source->query_times().at(address);
  scheduler.advance(1min);
  EXPECT_EQ(source->query_times().at(address), first) << "nobody asks";
  const auto ask = [&] {
    source->query_pfs({address}, [&] {
      ++told;
      EXPECT_EQ(find(pf.vf(0).address())->admin_mac, "02:aa:00:00:00:01") << "it is known then";
    });
  };
  configs[0].mac = "02:aa:00:00:00:01";
  const TimePoint begun = scheduler.now();
  const int before = asked;
  for (int i = 0; i < 5; ++i) ask();  // as each decision says it
  scheduler.advance(100ms);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(asked, before + 1);
  EXPECT_GE(source->query_times().at(address), begun);
  ask();
  scheduler.advance(100ms);
  EXPECT_EQ(told, 2) << "also where nothing differs";
  refuses = true;
  const TimePoint last = source->query_times().at(address);
  ask();
  scheduler.advance(10s);
  EXPECT_EQ(told, 2) << "that was no answer";
  EXPECT_EQ(source->query_times().at(address), last);
  refuses = false;
  say(LinkChange{find("0000:3b:00.0")->netdev->ifindex, "ens1"});
  scheduler.advance(100ms);
  EXPECT_EQ(told, 3);
}

TEST_F(HostSourceTest, WaitsForTheEndOfUdevProcessing) {
  tree.pci("0000:3b:00.0").netdev("ens1");
  start_quietly();
  EXPECT_FALSE(source->inventory()->has_udevd);
  tree.write("run/udev/control", "");
  const int ifindex = find("0000:3b:00.0")->netdev->ifindex;
  source->rescan("test");
  scheduler.advance(1s);
  EXPECT_TRUE(source->inventory()->has_udevd) << "another version, though no device differs";
  EXPECT_EQ(find("0000:3b:00.0")->netdev->is_initialized, false);
  tree.write("run/udev/data/n" + std::to_string(ifindex), "E:ID_BUS=pci\nI:123456\nV:1");
  say(LinkChange{ifindex, "ens1"});
  scheduler.advance(1s);
  EXPECT_EQ(find("0000:3b:00.0")->netdev->is_initialized, true);
}

TEST_F(HostSourceTest, ReadsGuidsFromSysfsIfNetlinkHasNone) {
  read_vf_configs = [&](int) {
    return Result<std::map<int, VfConfig>>(
        {{0, {}}, {1, {.node_guid = "00:11:22:33:44:55:66:77", .port_guid = "00:11:22:33:44:55:66:78"}}});
  };
  auto pf = tree.pci("0000:3b:00.0").netdev("ib0").sriov(8).vfs(2);
  for (const char* index : {"0", "1"}) {
    tree.write(pf.path() + "/sriov/" + index + "/node", "0C:42:a1:00:00:00:00:01");
    tree.write(pf.path() + "/sriov/" + index + "/port", "no guid");
  }
  start_quietly();
  EXPECT_EQ(find(pf.vf(0).address())->enforced->node_guid, "0c:42:a1:00:00:00:00:01");
  EXPECT_EQ(find(pf.vf(0).address())->enforced->port_guid, "");
  EXPECT_EQ(find(pf.vf(1).address())->enforced->node_guid, "00:11:22:33:44:55:66:77");
}

// A whole HCA with VFs, by netlink answers that have no GUIDs (mlx5_core before Linux 6.2).
struct InfinibandTest : HostSourceTest {
  InfinibandTest() : pf(fixture::add_hca(tree, 2)) {
    read_vf_configs = [](int) { return Result<std::map<int, VfConfig>>({{0, {}}, {1, {}}}); };
  }
  const HostDevice& vf(int index) { return *find(pf.vf(index).address()); }
  SysfsTree::Pci pf;
};

// A host for RDMA or virtual machines alone loads mlx5_ib and not ib_ipoib. Red when its functions count as moved away, so that
// their names and attributes are unknown for ever.
TEST_F(InfinibandTest, WithoutIpoibAFunctionHasNoInterfaceAnywhere) {
  for (const char* name : {"ib0", "ib1", "ib2"}) tree.remove_netdev(name);
  start_quietly();
  EXPECT_TRUE(is_netdev_elsewhere(vf(0))) << "a root without sys/module shows nothing";
  tree.write("sys/module/ib_core/parameters/netns_mode", "Y");
  start_quietly();
  const HostDevice& hca = *find(fixture::kHca);
  EXPECT_FALSE(is_netdev_elsewhere(hca));
  EXPECT_EQ(hca.unreadable,
            std::vector<std::string>{"net: module ib_ipoib, which makes the interfaces, is not loaded"});
  EXPECT_FALSE(is_netdev_elsewhere(vf(0)));
  EXPECT_EQ(vf(0).netdev, std::nullopt);
  EXPECT_EQ(vf(0).pf_link_type, 32);
  EXPECT_EQ(vf(0).rdma_device, "mlx5_1");
  // modprobe ib_ipoib
  tree.write("sys/module/ib_ipoib/parameters/send_queue_size", "256");
  start_quietly();
  EXPECT_TRUE(is_netdev_elsewhere(vf(0))) << "the interface may be in a pod";
  EXPECT_EQ(vf(0).unreadable, std::vector<std::string>());
}

TEST_F(InfinibandTest, DiscoversAnHcaAndItsVfs) {
  start_quietly();
  const HostDevice& hca = *find(fixture::kHca);
  EXPECT_EQ(hca.type, DeviceType::kPf);
  EXPECT_EQ(hca.driver, "mlx5_core");
  EXPECT_EQ(hca.netdev->name, "ib0");
  EXPECT_EQ(hca.netdev->link_type, 32);
  EXPECT_EQ(hca.netdev->mac, "00:00:10:49:fe:80:00:00:00:00:00:00:0c:42:a1:00:00:00:01:00");
  EXPECT_EQ(hca.rdma_device, "mlx5_0");
  EXPECT_EQ(hca.pkeys, std::vector<std::string>{"0xffff"});
  EXPECT_EQ(hca.unreadable, std::vector<std::string>());
  for (const int index : {0, 1}) {
    const std::string n = std::to_string(index + 1);
    EXPECT_EQ(vf(index).type, DeviceType::kVf);
    EXPECT_EQ(vf(index).pf_name, "ib0");
    EXPECT_EQ(vf(index).pf_link_type, 32);
    EXPECT_EQ(vf(index).netdev->name, "ib" + n);
    EXPECT_EQ(vf(index).rdma_device, "mlx5_" + n);
    EXPECT_EQ(vf(index).enforced->node_guid, fixture::hca_guid(index + 1, false));
    EXPECT_EQ(vf(index).enforced->port_guid, fixture::hca_guid(index + 1, true));
    EXPECT_EQ(vf(index).pkeys, (std::vector<std::string>{"0x7fff", "0x800" + n}));
    EXPECT_EQ(vf(index).broken, "");
  }
}

// Red when a VF is selected by a partition that the subnet manager has taken from it.
TEST_F(InfinibandTest, PartitionKeysFollowTheirTable) {
  start_quietly();
  fixture::set_pkeys(tree, "mlx5_1", 1, {"0x7fff", "0x0000", "0x9000", "0x7fff", "0x8002"});
  say(LinkChange{vf(0).netdev->ifindex, "ib1"});
  scheduler.advance(1s);
  EXPECT_EQ(vf(0).pkeys, (std::vector<std::string>{"0x7fff", "0x9000", "0x8002"}))
      << "with a hole, each once";
  EXPECT_EQ(vf(1).pkeys, (std::vector<std::string>{"0x7fff", "0x8002"}));
  fixture::set_pkeys(tree, "mlx5_2", 1, {"0x7fff"});
  source->rescan("test");
  scheduler.advance(1s);
  EXPECT_EQ(vf(1).pkeys, std::vector<std::string>{"0x7fff"});
  tree.write("sys/class/infiniband/mlx5_2/ports/1/link_layer", "Ethernet");
  source->rescan("test");
  scheduler.advance(1s);
  EXPECT_TRUE(vf(1).pkeys.empty()) << "of RoCE they say nothing";
}

TEST_F(InfinibandTest, KeepsAndRereadsUnreadablePartitionKeys) {
  start_quietly();
  view->failing["mlx5_1/ports/1/pkeys/1"] = 1;
  fixture::set_pkeys(tree, "mlx5_1", 1, {"0x7fff", "0x8005"});
  say(LinkChange{vf(0).netdev->ifindex, "ib1"});
  scheduler.advance(400ms);
  EXPECT_EQ(vf(0).pkeys, (std::vector<std::string>{"0x7fff", "0x8001"}));
  EXPECT_FALSE(find_unreadable(vf(0).unreadable, "pkeys").empty());
  scheduler.advance(5s);
  EXPECT_EQ(vf(0).pkeys, (std::vector<std::string>{"0x7fff", "0x8005"}));
  EXPECT_TRUE(vf(0).unreadable.empty());
}

// In the exclusive mode of RDMA namespaces the RDMA device moves into the pod with the interface. A function
// on vfio-pci has no RDMA device.
TEST_F(InfinibandTest, KeepsPartitionKeysWhileInAPodAndDropsThemWithTheDriver) {
  start_quietly();
  const int ifindex = vf(0).netdev->ifindex;
  tree.remove_netdev("ib1");
  tree.remove("sys/class/infiniband/mlx5_1");
  say(LinkChange{ifindex, "ib1", true, true});
  scheduler.advance(1s);
  EXPECT_TRUE(vf(0).netdev->stale);
  EXPECT_EQ(vf(0).rdma_device, "mlx5_1");
  EXPECT_EQ(vf(0).pkeys, (std::vector<std::string>{"0x7fff", "0x8001"}));
  tree.remove_netdev("ib2");
  tree.remove("sys/class/infiniband/mlx5_2");
  pf.vf(1).driver("vfio-pci");
  say(Uevent{"remove",
             "/devices/pci0000:00/0000:00:01.0/" + pf.vf(1).address() + "/infiniband/mlx5_2",
             "infiniband",
             {}});
  pci("unbind", pf.vf(1).address());
  pci("bind", pf.vf(1).address());
  scheduler.advance(1s);
  EXPECT_EQ(vf(1).rdma_device, "");
  EXPECT_TRUE(vf(1).pkeys.empty());
}

// Two nodes of one package. Red when they are read at each rescan, or never again after an error.
TEST_F(HostSourceTest, ReadsNumaNodesOncePerBoot) {
  for (const char* node : {"0", "1"}) {
    const std::string dir = std::string("sys/devices/system/node/node") + node,
                      cpu = std::string("cpu") + node;
    tree.write(dir + "/distance", node[0] == '0' ? "10 11" : "11 10");
    tree.symlink("../../cpu/" + cpu, dir + "/" + cpu);
    tree.write("sys/devices/system/cpu/" + cpu + "/topology/physical_package_id", "0");
  }
  tree.boot_id("one");
  auto nic = tree.pci("0000:3b:00.0").numa(0);
  const auto neighbors = [&] { return find(nic.address())->numa_neighbors; };
  int looks = 0;
  const auto count_looks = [&] {
    looks = 0;
    view->at_first_look["system/node"] = [&] { ++looks; };
  };
  const auto rescan = [&] {
    source->rescan("test");
    scheduler.advance(1s);
  };
  view->failing["node1/distance"] = 1;
  start_quietly();
  EXPECT_EQ(neighbors(), std::vector<int>{1});
  count_looks();
  rescan();
  EXPECT_EQ(looks, 1) << "a file could not be read";
  count_looks();
  rescan();
  EXPECT_EQ(looks, 0);
  view->hanging = {"3b:00.0/vendor"};  // so that entries are read one by one
  rescan();
  scheduler.advance(10s);
  view->hanging.clear();
  rescan();
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(neighbors(), std::vector<int>{1});
  tree.remove("sys/devices/system/cpu/cpu1/topology/physical_package_id");
  tree.boot_id("two");
  rescan();
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(neighbors(), std::vector<int>{});
  count_looks();
  rescan();
  EXPECT_EQ(looks, 1) << "its processor is offline, and may be switched on";
}

// A kernel update has renamed a PF and udev kept its former name as another one.
TEST_F(HostSourceTest, ReadsAlternativeNamesAndPassesThemToVfs) {
  auto pf = tree.pci("0000:3b:00.0").netdev("ens7f0np0").sriov(8).vfs(2);
  start_quietly();
  const int ifindex = find(pf.address())->netdev->ifindex;
  EXPECT_TRUE(find(pf.vf(1).address())->pf_alternative_names.empty());
  view->properties[ifindex] = {{"ens7f0"}, true};
  say(LinkChange{ifindex, "ens7f0np0"});
  scheduler.advance(500ms);
  EXPECT_EQ(find(pf.address())->netdev->alternative_names, std::vector<std::string>{"ens7f0"});
  EXPECT_EQ(find(pf.address())->netdev->is_netns_immutable, true);
  EXPECT_EQ(find(pf.vf(1).address())->netdev, std::nullopt);
  EXPECT_EQ(find(pf.vf(1).address())->pf_alternative_names, std::vector<std::string>{"ens7f0"});
  EXPECT_EQ(find(pf.vf(1).address())->pf_name, "ens7f0np0");
}

TEST_F(HostSourceTest, RecoversNetdevsBeforeAndAfterTheFirstScan) {
  auto pf = tree.pci("0000:3b:00.0").sriov(8).vfs(2, [](SysfsTree::Pci vf, int) { vf.driver("iavf"); });
  const auto recovered = [&](int index) {
    RecoveredNetdev one;
    one.function = *PciAddress::decode(pf.vf(index).address());
    one.netdev.name = "ens1f0v" + std::to_string(index);
    return std::vector<RecoveredNetdev>{one};
  };
  start();
  source->recover_sticky(recovered(0));
  scheduler.advance(1s);
  EXPECT_EQ(find(pf.vf(0).address())->netdev->name, "ens1f0v0");
  source->recover_sticky(recovered(1));
  EXPECT_EQ(find(pf.vf(1).address())->netdev->name, "ens1f0v1");
  ASSERT_EQ(updates.size(), 2u);
}

TEST_F(HostSourceTest, WorksWithoutASourceThatCannotBeOpened) {
  wire.fails = true;
  tree.pci("0000:3b:00.0");
  start();
  scheduler.advance(1s);
  EXPECT_EQ(updates.size(), 1u);
  EXPECT_EQ(log.count("error=EPERM"), 1u);
}

TEST_F(HostSourceTest, IgnoresEventsThatNameNothing) {
  start_quietly();
  say(Uevent{"add", "/", "pci", {}});
  say(Uevent{"add", "/devices/x/net/..", "net", {{"INTERFACE", "a/b"}}});
  say(Uevent{"move", "/devices/x/net/a", "net", {{"DEVPATH_OLD", "/"}}});
  say(Uevent{"add", "/devices/x", "block", {}});
  say(LinkChange{3, "../up"});
  scheduler.advance(1s);
  EXPECT_TRUE(updates.empty());
}

}  // namespace
}  // namespace sliced::hotplug
