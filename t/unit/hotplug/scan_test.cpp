#include "hotplug/scan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

#include "hotplug/resolve.h"
#include "t/fixture/scan_host.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::hotplug {
namespace {

using fixture::SysfsTree;

struct ScanTest : testing::Test {
  SysfsTree tree;

  std::map<std::string, HostDevice> scan() {
    std::map<std::string, HostDevice> out;
    const auto host = tree.view();
    result = fixture::scan_host(*host, fixture::SlowReads::kRead);
    for (const HostDevice& device : result.devices) out.emplace(device.id.text, device);
    return out;
  }
  fixture::ScanResult result;
};

std::vector<std::string> ids(const std::map<std::string, HostDevice>& devices) {
  std::vector<std::string> out;
  for (const auto& [id, device] : devices) out.push_back(id);
  return out;
}

TEST_F(ScanTest, AnEmptyMachineHasNoDevicesAndNoProblems) {
  EXPECT_TRUE(scan().empty()) << "lo never";
  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(result.boot_id.size(), 36u);
}

TEST_F(ScanTest, AnEmptyRootHasNoDevicesAndNoProblems) {
  tree.remove("sys");
  tree.remove("proc");
  EXPECT_TRUE(scan().empty());
  EXPECT_TRUE(result.problems.empty());
  EXPECT_EQ(result.boot_id, "");
}

// mlx4, cxgb4, nfp: the host may use the second port while the first one is free.
TEST_F(ScanTest, ReadsAllPortsOfAFunction) {
  tree.pci("0000:3b:00.0").id("15b3", "1007").driver("mlx4_core").netdev("two0").netdev("one0");
  tree.netdev_attr("one0", "dev_port", "0");
  tree.netdev_attr("two0", "dev_port", "1");
  tree.netdev_attr("two0", "address", "02:00:00:00:00:02");
  auto devices = scan();
  ASSERT_EQ(ids(devices), std::vector<std::string>{"0000:3b:00.0"}) << "its ports are no links of their own";
  const HostDevice& function = devices.at("0000:3b:00.0");
  EXPECT_EQ(function.netdev->name, "one0");
  ASSERT_EQ(function.other_netdevs.size(), 1u);
  EXPECT_EQ(function.other_netdevs[0].name, "two0");
  EXPECT_EQ(function.other_netdevs[0].mac, "02:00:00:00:00:02");
  EXPECT_FALSE(function.misses_ports);
  EXPECT_EQ(function.host_use, "");

  const auto use = [&] { return scan().at("0000:3b:00.0").host_use; };
  tree.bridge("br0");
  tree.enslave("two0", "br0");
  EXPECT_EQ(use(), "enslaved to br0 (its port two0)");
  tree.enslave("two0", "");
  tree.default_route("two0");
  EXPECT_EQ(use(), "default route through two0 (its port two0)");
  tree.no_default_routes();
  // A VLAN over a bond over the second port.
  tree.bond("bond0");
  tree.stack("bond0", "two0");
  tree.vlan("bond0.7", 7, "bond0");
  tree.default_route6("bond0.7");
  EXPECT_EQ(use(), "default route through bond0.7 (its port two0)");
  tree.no_default_routes();
  EXPECT_EQ(use(), "");

  tree.pci("0000:5e:00.0").id("15b3", "1007").driver("mlx4_core").netdev("three0");
  tree.netdev_attr("three0", "dev_port", "1");
  EXPECT_TRUE(scan().at("0000:5e:00.0").misses_ports) << "ports of this driver begin with 0";
  tree.pci("0000:5e:00.0").driver("sfc");
  EXPECT_FALSE(scan().at("0000:5e:00.0").misses_ports) << "and this one's are functions each";
}

TEST_F(ScanTest, RepresentorsAreNoPorts) {
  tree.pci("0000:3b:00.0").id("15b3", "101d").driver("mlx5_core").sriov(4).netdev("rep9").netdev("uplink0");
  tree.pci("0000:3b:00.0").netdev("sf0");
  const std::pair<const char*, const char*> names[] = {
      {"rep9", "pf0vf0"}, {"uplink0", "p0"}, {"sf0", "pf0sf1"}};
  for (const auto& [name, port] : names) {
    tree.netdev_attr(name, "phys_switch_id", "aabb");
    tree.netdev_attr(name, "phys_port_name", port);
  }
  tree.bridge("br0");
  tree.enslave("rep9", "br0");
  tree.enslave("sf0", "br0");
  const auto devices = scan();
  EXPECT_EQ(ids(devices), (std::vector<std::string>{"0000:3b:00.0", "br0", "rep9", "sf0"}));
  EXPECT_TRUE(devices.at("0000:3b:00.0").other_netdevs.empty());
  EXPECT_EQ(devices.at("0000:3b:00.0").host_use, "");
}

// vDPA devices are below their functions and may have any name (`vdpa dev add name vdpa0 mgmtdev
// pci/0000:3b:02.1`). In a manual snapshot the link shows the function. Red when a VF that the host uses
// through its vDPA device counts as free, or when no device node is found for a pod.
TEST_F(ScanTest, FindsVdpaDevicesOfVfs) {
  auto pf = tree.pci("0000:3b:00.0").netdev("ens1f0").sriov(8).vfs(6);
  const auto vdpa = [&](const std::string& below, const std::string& name, const std::string& driver,
                        const std::string& node = "") {
    const std::string dir = below + "/" + name;
    tree.write(dir + "/uevent", "");
    if (!node.empty()) tree.write(dir + "/" + node + "/dev", "510:0");
    if (!driver.empty()) tree.symlink("../../../bus/vdpa/drivers/" + driver, dir + "/driver");
    tree.symlink("../../../" + dir.substr(4), "sys/bus/vdpa/devices/" + name);
  };
  vdpa("sys/devices/pci0000:00", "vdpa:0000:3b:02.0", "vhost_vdpa");
  vdpa(pf.vf(1).path(), "vdpa0", "virtio_vdpa");
  vdpa(pf.vf(2).path(), "vdpa:0000:3b:02.2", "vhost_vdpa", "vhost-vdpa-3");
  vdpa(pf.vf(3).path(), "blue", "some_vdpa");
  vdpa(pf.vf(4).path(), "a", "");
  vdpa(pf.vf(4).path(), "b", "virtio_vdpa");
  vdpa(pf.path() + "/mlx5_core.sf.4", "vdpa7", "vhost_vdpa", "vhost-vdpa-0");
  pf.netdev("enp3s0f0s88", "mlx5_core.sf.4/");
  tree.write(pf.path() + "/mlx5_core.sf.4/sfnum", "88");
  tree.write("sys/devices/virtual/vdpa-mgmt/vdpasim/uevent", "");
  tree.symlink("../../../devices/virtual/vdpa-mgmt/vdpasim", "sys/bus/vdpa/devices/vdpasim");
  const auto devices = scan();
  const auto of = [&](int vf) { return devices.at(pf.vf(vf).address()).vdpa; };
  EXPECT_EQ(of(0), (VdpaDevice{"vdpa:0000:3b:02.0", "vhost", ""}));
  EXPECT_EQ(of(1), (VdpaDevice{"vdpa0", "virtio", ""}));
  EXPECT_EQ(of(2), (VdpaDevice{"vdpa:0000:3b:02.2", "vhost", "/dev/vhost-vdpa-3"}));
  EXPECT_EQ(of(3), (VdpaDevice{"blue", "", ""}));
  EXPECT_EQ(of(4), (VdpaDevice{"b", "virtio", ""})) << "of several one that the host uses";
  EXPECT_EQ(of(5), VdpaDevice());
  EXPECT_EQ(devices.at("0000:3b:00.0").vdpa, VdpaDevice()) << "its scalable function's is not its own";
  EXPECT_EQ(devices.at("sf88-0000-3b-00-0").vdpa, (VdpaDevice{"vdpa7", "vhost", "/dev/vhost-vdpa-0"}));
  for (const int vf : {0, 2, 3, 5}) EXPECT_EQ(devices.at(pf.vf(vf).address()).host_use, "") << vf;
  EXPECT_EQ(devices.at(pf.vf(1).address()).host_use, "an interface on its vDPA device vdpa0 (virtio_vdpa)");
  EXPECT_EQ(devices.at(pf.vf(1).address()).host_use_kind, HostUseKind::kOther);
  using All = std::vector<VdpaDevice>;
  EXPECT_EQ(find_vdpa_devices(*tree.view(), pf.vf(2).address()), All{of(2)});
  EXPECT_EQ(find_vdpa_devices(*tree.view(), "0000:3b:00.0/mlx5_core.sf.4").at(0).name, "vdpa7");
  EXPECT_EQ(find_vdpa_devices(*tree.view(), pf.vf(5).address()), All());
  EXPECT_EQ(devices.at(pf.vf(4).address()).other_vdpas, (All{{"a", "", ""}}));

  // Several of one function: all are seen, and the one that a container gets is the first by name.
  vdpa(pf.vf(5).path(), "vdpa10", "vhost_vdpa", "vhost-vdpa-10");
  vdpa(pf.vf(5).path(), "vdpa2", "vhost_vdpa", "vhost-vdpa-20");
  vdpa(pf.vf(5).path(), "a", "vhost_vdpa");
  const HostDevice several = scan().at(pf.vf(5).address());
  EXPECT_EQ(several.vdpa, (VdpaDevice{"vdpa2", "vhost", "/dev/vhost-vdpa-20"}));
  EXPECT_EQ(several.other_vdpas, (All{{"vdpa10", "vhost", "/dev/vhost-vdpa-10"}, {"a", "vhost", ""}}))
      << "one without a node last";
  EXPECT_EQ(several.host_use, "");
  vdpa(pf.vf(5).path(), "vdpa11", "virtio_vdpa");
  EXPECT_EQ(scan().at(pf.vf(5).address()).host_use, "an interface on its vDPA device vdpa11 (virtio_vdpa)");
}

TEST_F(ScanTest, WhetherAnInterfaceIsUp) {
  tree.pci("0000:3b:00.0").netdev("ens1f0");
  EXPECT_EQ(scan().at("0000:3b:00.0").netdev->is_up, true);
  tree.netdev_attr("ens1f0", "flags", "0x1002");
  EXPECT_EQ(scan().at("0000:3b:00.0").netdev->is_up, false);
  for (const char* nonsense : {"1003", "up", ""}) {
    tree.netdev_attr("ens1f0", "flags", nonsense);
    EXPECT_EQ(scan().at("0000:3b:00.0").netdev->is_up, std::nullopt) << nonsense;
  }
}

TEST_F(ScanTest, ReadsAPfWithItsVfs) {
  tree.pci("0000:3b:00.0")
      .id("15b3", "101d")
      .numa(1)
      .driver("mlx5_core")
      .netdev("ens1f0")
      .rdma("mlx5_0")
      .sriov(8)
      .vfs(2, [](SysfsTree::Pci vf, int index) {
        vf.id("15b3", "101e").numa(-1).driver("mlx5_core").netdev("ens1f0v" + std::to_string(index));
        vf.rdma("mlx5_" + std::to_string(index + 2));
      });
  const auto devices = scan();
  ASSERT_EQ(ids(devices), (std::vector<std::string>{"0000:3b:00.0", "0000:3b:02.0", "0000:3b:02.1"}));

  const HostDevice& pf = devices.at("0000:3b:00.0");
  EXPECT_EQ(pf.type, DeviceType::kPf);
  EXPECT_EQ(pf.vendor, "15b3");
  EXPECT_EQ(pf.product, "101d");
  EXPECT_EQ(pf.subsystem_vendor, "8086");
  EXPECT_EQ(pf.subsystem_product, "0002");
  EXPECT_EQ(pf.driver, "mlx5_core");
  EXPECT_EQ(pf.numa_node, 1);
  EXPECT_EQ(pf.pcie_root, "pci0000:00");
  EXPECT_EQ(pf.total_vfs, 8);
  EXPECT_EQ(pf.num_vfs, 2);
  EXPECT_EQ(pf.eswitch_mode, "legacy");
  EXPECT_EQ(pf.rdma_device, "mlx5_0");
  EXPECT_EQ(pf.pf, std::nullopt);
  ASSERT_TRUE(pf.netdev);
  EXPECT_EQ(pf.netdev->name, "ens1f0");
  EXPECT_EQ(pf.netdev->kernel_name, "ens1f0");
  EXPECT_EQ(pf.netdev->mtu, 1500);
  EXPECT_EQ(pf.netdev->link_type, 1);
  EXPECT_EQ(pf.netdev->oper_state, "up");
  EXPECT_EQ(pf.netdev->speed_mbps, 25000);
  EXPECT_EQ(pf.netdev->mac.size(), 17u);
  EXPECT_GT(pf.netdev->ifindex, 0);

  const HostDevice& vf = devices.at("0000:3b:02.1");
  EXPECT_EQ(vf.type, DeviceType::kVf);
  EXPECT_EQ(vf.product, "101e");
  EXPECT_EQ(vf.pf, PciAddress::decode("0000:3b:00.0"));
  EXPECT_EQ(vf.vf_index, 1);
  EXPECT_EQ(vf.pf_name, "ens1f0");
  EXPECT_EQ(vf.pf_product, "101d");
  EXPECT_EQ(vf.pf_link_type, 1);
  EXPECT_EQ(vf.numa_node, 1) << "its own is -1, so its PF's";
  EXPECT_EQ(vf.pf_numa_node, 1);
  EXPECT_EQ(vf.netdev->name, "ens1f0v1");
  EXPECT_EQ(vf.rdma_device, "mlx5_3");
  EXPECT_EQ(vf.eswitch_mode, "");
  for (const auto& [id, device] : devices) {
    EXPECT_EQ(device.broken, "") << id;
    EXPECT_EQ(device.host_use, "") << id;
    EXPECT_TRUE(device.unreadable.empty()) << id;
  }
}

TEST_F(ScanTest, DerivesTheNumaNodeOfAVf) {
  const struct {
    const char* why;
    int pf, vf;
    std::optional<int> want, want_pf_raw;
  } rows[] = {
      {"its own wins", 0, 1, 1, 0},
      {"-1 takes the PF's", 1, -1, 1, 1},
      {"-1 there too is absent, and the PF's is kept as it stands", -1, -1, std::nullopt, -1},
      {"its own when only the PF's is -1", -1, 0, 0, -1},
  };
  for (const auto& row : rows) {
    auto pf = tree.pci("0000:3b:00.0").numa(row.pf).sriov(1).vfs(1, {});
    pf.vf(0).numa(row.vf);
    const auto vf = scan().at("0000:3b:02.0");
    EXPECT_EQ(vf.numa_node, row.want) << row.why;
    EXPECT_EQ(vf.pf_numa_node, row.want_pf_raw) << row.why;
  }
}

TEST_F(ScanTest, ClassifiesFunctions) {
  tree.pci("0000:01:00.0");
  tree.pci("0000:02:00.0").sriov(0);
  tree.pci("0000:03:00.0").sriov(4);
  tree.pci("0000:04:00.0").attr("class", "0x020700");
  tree.pci("0000:05:00.0").attr("class", "0x010802").sriov(16);  // a disk with virtual functions
  tree.pci("0000:06:00.0").attr("class", "0x060400");
  tree.pci("0000:07:00.0").attr("class", "junk");
  std::map<std::string, DeviceType> types;
  for (const auto& [id, device] : scan()) types[id] = device.type;
  EXPECT_EQ(types, (std::map<std::string, DeviceType>{{"0000:01:00.0", DeviceType::kNic},
                                                      {"0000:02:00.0", DeviceType::kNic},
                                                      {"0000:03:00.0", DeviceType::kPf},
                                                      {"0000:04:00.0", DeviceType::kNic}}));
}

TEST_F(ScanTest, NetdevsOfOtherBusesBelowAFunction) {
  tree.pci("0000:00:03.0", "pci0000:00").driver("virtio-pci").netdev("eth0", "virtio2/");
  tree.pci("0000:00:14.0", "pci0000:00").attr("class", "0x0c0330").netdev("enx01", "usb1/1-1/1-1:1.0/");
  tree.pci("0000:3b:00.0").sriov(2).netdev("ens1f0").netdev("ens1f0s8", "mlx5_core.sf.2/");
  const auto devices = scan();
  EXPECT_EQ(ids(devices), (std::vector<std::string>{"0000:00:03.0", "0000:3b:00.0", "ens1f0s8", "enx01"}));
  EXPECT_EQ(devices.at("0000:00:03.0").netdev->name, "eth0");
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev->name, "ens1f0")
      << "a scalable function's netdev is not the PF's";
  EXPECT_EQ(devices.at("enx01").type, DeviceType::kVirtual);
  EXPECT_EQ(devices.at("ens1f0s8").type, DeviceType::kSf);
  EXPECT_EQ(devices.at("ens1f0s8").sf_number, std::nullopt);
  EXPECT_EQ(devices.at("ens1f0s8").broken,
            "the number (sfnum) of 0000:3b:00.0/mlx5_core.sf.2 cannot be read");
}

TEST_F(ScanTest, FindsPcieRoots) {
  const struct {
    const char* below;
    const char* want;
  } rows[] = {
      {"pci0000:40/0000:40:01.0", "pci0000:40"},
      {"pci0000:00", "pci0000:00"},
      {"pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:01.0", "pci0000:00"},  // VMD
      {"pci10000:00/10000:00:01.0", "pci10000:00"},
      {"platform/40000000.pcie/pci0002:00", ""},
      // Hyper-V (kubernetes/kubernetes#134076): Kubernetes' helper has none for it.
      {"LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/000000c1-0001-0000-3130-444532304235/pci0001:00", ""},
  };
  for (const auto& row : rows) {
    tree.pci("0000:3b:00.0", row.below);
    EXPECT_EQ(scan().at("0000:3b:00.0").pcie_root, row.want) << row.below;
    tree.pci("0000:3b:00.0").remove();
  }
}

TEST_F(ScanTest, WideDomainsKeepPfAndVfTogether) {
  tree.pci("10000:01:00.0", "pci0000:00/0000:00:0e.0/pci10000:00/10000:00:02.0")
      .sriov(2)
      .netdev("ens5")
      .vfs(2);
  const auto devices = scan();
  ASSERT_EQ(ids(devices), (std::vector<std::string>{"10000:01:00.0", "10000:01:02.0", "10000:01:02.1"}));
  EXPECT_EQ(devices.at("10000:01:02.1").pf_name, "ens5");
  EXPECT_EQ(devices.at("10000:01:02.1").vf_index, 1);
}

// The tree of k8snetworkplumbingwg/sriov-network-device-plugin#430: RoCE in a scalable function. Red when a PF is published with the
// RDMA device of a function below it: its pods would get none.
TEST_F(ScanTest, AssignsTheRdmaDeviceOfAScalableFunctionToIt) {
  tree.pci("0000:03:00.0").sriov(8).netdev("ens1");
  tree.symlink("../../devices/pci0000:00/0000:03:00.0/mlx5_core.sf.4/infiniband/mlx5_12",
               "sys/class/infiniband/mlx5_12");
  EXPECT_EQ(scan().at("0000:03:00.0").rdma_device, "") << "RoCE is off in the PF";
  tree.symlink("../../devices/pci0000:00/0000:03:00.0/infiniband/mlx5_2", "sys/class/infiniband/mlx5_2");
  EXPECT_EQ(scan().at("0000:03:00.0").rdma_device, "mlx5_2");
}

// mlx5 in switchdev mode with a VF and two scalable functions (Documentation/networking/devlink/devlink-port.rst; trees of
// k8snetworkplumbingwg/sriov-network-device-plugin#430 and #383). Red when one is taken for the other, or for a link without a PF.
TEST_F(ScanTest, AScalableFunctionIsADeviceOfItsPf) {
  auto pf = tree.pci("0000:03:00.0").driver("mlx5_core").numa(1).sriov(8);
  pf.vfs(1, [](SysfsTree::Pci vf, int) { vf.driver("mlx5_core").netdev("enp3s0f0v0"); });
  // Representors are older than the uplink here, and come first by name.
  const auto port = [&](const char* netdev, const char* name) {
    pf.netdev(netdev);
    tree.netdev_attr(netdev, "phys_switch_id", "00aa");
    tree.netdev_attr(netdev, "phys_port_name", name);
  };
  port("en3f0pf0sf88", "pf0sf88");
  port("en3f0pf0sf99", "pf0sf99");
  port("eth7", "pf0vf0");
  port("enp3s0f0np0", "p0");
  pf.rdma("mlx5_2");
  const auto add_sf = [&](const std::string& auxiliary, const std::string& number, const std::string& netdev,
                          const std::string& rdma) {
    const std::string dir = pf.path() + "/" + auxiliary;
    tree.write(dir + "/sfnum", number);
    pf.netdev(netdev, auxiliary + "/");
    tree.write(dir + "/infiniband/" + rdma + "/node_type", "1: CA");
    tree.symlink("../../" + dir.substr(4) + "/infiniband/" + rdma, "sys/class/infiniband/" + rdma);
  };
  add_sf("mlx5_core.sf.4", "88", "enp3s0f0s88", "mlx5_12");
  add_sf("mlx5_core.sf.5", "99", "enp3s0f0s99", "mlx5_1");
  // One for vDPA alone, without an interface (devlink dev param set enable_eth false).
  const std::string vdpa = pf.path() + "/mlx5_core.sf.6";
  tree.write(vdpa + "/sfnum", "5");
  tree.write(vdpa + "/vdpa5/vhost-vdpa-0/dev", "510:0");
  tree.symlink("../../../bus/vdpa/drivers/vhost_vdpa", vdpa + "/vdpa5/driver");
  tree.symlink("../../../" + vdpa.substr(4) + "/vdpa5", "sys/bus/vdpa/devices/vdpa5");
  for (const char* name : {"mlx5_core.sf.4", "mlx5_core.sf.5", "mlx5_core.sf.6"})
    tree.symlink("../../../" + pf.path().substr(4) + "/" + name,
                 std::string("sys/bus/auxiliary/devices/") + name);
  tree.write(pf.path() + "/mlx5_core.eth.0/uevent", "");
  tree.symlink("../../../" + pf.path().substr(4) + "/mlx5_core.eth.0",
               "sys/bus/auxiliary/devices/mlx5_core.eth.0");
  const auto devices = scan();
  EXPECT_EQ(ids(devices),
            (std::vector<std::string>{"0000:03:00.0", pf.vf(0).address(), "en3f0pf0sf88", "en3f0pf0sf99",
                                      "eth7", "sf5-0000-03-00-0", "sf88-0000-03-00-0", "sf99-0000-03-00-0"}));
  const HostDevice& function = devices.at("0000:03:00.0");
  EXPECT_EQ(function.netdev->name, "enp3s0f0np0");
  EXPECT_TRUE(function.other_netdevs.empty());
  EXPECT_EQ(function.rdma_device, "mlx5_2");
  EXPECT_EQ(function.eswitch_mode, "switchdev");
  const HostDevice& sf = devices.at("sf88-0000-03-00-0");
  EXPECT_EQ(sf.type, DeviceType::kSf);
  EXPECT_EQ(sf.pf, function.pci);
  EXPECT_EQ(sf.pci, std::nullopt);
  EXPECT_EQ(sf.sf_number, 88);
  EXPECT_EQ(sf.vendor, function.vendor);
  EXPECT_EQ(sf.pf_name, "enp3s0f0np0");
  EXPECT_EQ(sf.numa_node, 1);
  EXPECT_EQ(sf.rdma_device, "mlx5_12");
  EXPECT_EQ(sf.representor, "en3f0pf0sf88");
  EXPECT_EQ(sf.unreadable, std::vector<std::string>());
  EXPECT_EQ(devices.at("sf99-0000-03-00-0").rdma_device, "mlx5_1");
  EXPECT_EQ(devices.at("sf99-0000-03-00-0").representor, "en3f0pf0sf99");
  const HostDevice& alone = devices.at("sf5-0000-03-00-0");
  EXPECT_EQ(alone.pf, function.pci);
  EXPECT_EQ(alone.netdev, std::nullopt);
  EXPECT_EQ(alone.broken, "");
  EXPECT_EQ(alone.vdpa, (VdpaDevice{"vdpa5", "vhost", "/dev/vhost-vdpa-0"}));
  EXPECT_TRUE(is_netdev_elsewhere(alone));
  EXPECT_EQ(devices.at("en3f0pf0sf88").type, DeviceType::kVirtual);
  EXPECT_EQ(devices.at("en3f0pf0sf88").representor_of, "sf88-0000-03-00-0");
  EXPECT_EQ(devices.at("eth7").representor_of, pf.vf(0).address());
  EXPECT_EQ(devices.at(pf.vf(0).address()).representor, "eth7");
  tree.remove_netdev("enp3s0f0np0");
  EXPECT_EQ(scan().at("0000:03:00.0").netdev, std::nullopt) << "no representor stands for the PF";
}

// kubernetes-sigs/dranet#186: a NIC in one IOMMU group with the management port. Red when the function beside it is not found, when
// a bridge counts, or when a group that isolates nothing (vfio-noiommu) is one.
TEST_F(ScanTest, FunctionsThatShareAnIommuGroup) {
  const auto group = [&](const std::string& number, const std::vector<std::string>& members) {
    for (const std::string& member : members) {
      tree.write("sys/kernel/iommu_groups/" + number + "/devices/" + member + "/x", "");
      tree.pci(member).link("iommu_group", "../../../../kernel/iommu_groups/" + number);
    }
  };
  for (const char* nic : {"0000:02:00.0", "0000:02:00.1", "0000:03:00.0", "0000:04:00.0"})
    tree.pci(nic).driver("ixgbe");
  tree.pci("0000:02:00.2").attr("class", "0x010802");
  tree.pci("0000:02:00.3").attr("class", "0x060400");
  group("75", {"0000:02:00.0", "0000:02:00.1", "0000:02:00.2", "0000:02:00.3"});
  group("7", {"0000:03:00.0"});
  auto devices = scan();
  const auto partners = [&](const char* pci) {
    std::string out;
    for (const PciAddress& partner : devices.at(pci).iommu_partners) out += partner.text() + " ";
    return out;
  };
  EXPECT_EQ(devices.at("0000:02:00.1").iommu_group, 75);
  EXPECT_EQ(partners("0000:02:00.1"), "0000:02:00.0 0000:02:00.2 ")
      << "an NVMe controller too, and no bridge";
  EXPECT_EQ(devices.at("0000:03:00.0").iommu_group, 7);
  EXPECT_EQ(partners("0000:03:00.0"), "");
  EXPECT_EQ(devices.at("0000:04:00.0").iommu_group, std::nullopt) << "the IOMMU is off";

  tree.pci("0000:03:00.0").driver("vfio-pci");
  tree.write("sys/kernel/iommu_groups/7/name", "vfio-noiommu");
  devices = scan();
  EXPECT_EQ(devices.at("0000:03:00.0").iommu_group, std::nullopt);
}

TEST_F(ScanTest, FunctionsWithoutNetdevOrDriver) {
  tree.pci("0000:3b:00.0").driver("vfio-pci").sriov(8).vfs(2, [](SysfsTree::Pci vf, int index) {
    if (index == 1) vf.driver("vfio-pci");
  });
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:00.0").driver, "vfio-pci");
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev, std::nullopt);
  EXPECT_EQ(devices.at("0000:3b:02.0").driver, "");
  EXPECT_EQ(devices.at("0000:3b:02.1").driver, "vfio-pci");
  EXPECT_TRUE(devices.at("0000:3b:02.1").is_on_vfio);
  EXPECT_FALSE(devices.at("0000:3b:02.0").is_on_vfio);
  for (const char* vf : {"0000:3b:02.0", "0000:3b:02.1"}) {
    EXPECT_EQ(devices.at(vf).type, DeviceType::kVf);
    EXPECT_EQ(devices.at(vf).pf_name, "");
    EXPECT_EQ(devices.at(vf).pf_link_type, std::nullopt);
    EXPECT_TRUE(devices.at(vf).vf_index.has_value());
    EXPECT_EQ(devices.at(vf).broken, "");
  }
}

// switchdev: the representors hang below the PF beside the uplink, and sort before it.
TEST_F(ScanTest, SwitchdevNamesThePfByItsUplink) {
  auto pf =
      tree.pci("0000:3b:00.0").sriov(8).netdev("aaa_rep0").netdev("aaa_rep1").netdev("ens1f0np0").vfs(2);
  for (const auto& [name, port] :
       {std::pair{"aaa_rep0", "pf0vf0"}, {"aaa_rep1", "pf0vf1"}, {"ens1f0np0", "p0"}}) {
    tree.netdev_attr(name, "phys_switch_id", "A088C2000300E0A0");
    tree.netdev_attr(name, "phys_port_name", port);
  }
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev->name, "ens1f0np0");
  EXPECT_EQ(devices.at("0000:3b:00.0").eswitch_mode, "switchdev");
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev->phys_port_name, "p0");
  EXPECT_EQ(devices.at("0000:3b:02.0").pf_name, "ens1f0np0");
  EXPECT_EQ(devices.at("0000:3b:02.0").representor, "aaa_rep0");
  EXPECT_EQ(devices.at("0000:3b:02.1").representor, "aaa_rep1");
  EXPECT_EQ(devices.at("aaa_rep1").representor_of, "0000:3b:02.1");
  EXPECT_EQ(devices.at("aaa_rep1").type, DeviceType::kVirtual);
}

// A host whose drivers say in phys_port_name nothing, or a number alone.
class DevlinkView final : public HostView {
 public:
  explicit DevlinkView(std::shared_ptr<const HostView> files) : files_(std::move(files)) {}
  Result<std::string> read(std::string_view path, size_t size_max) const override {
    return files_->read(path, size_max);
  }
  Result<std::vector<std::string>> list(std::string_view path) const override { return files_->list(path); }
  Result<std::string> readlink(std::string_view path) const override { return files_->readlink(path); }
  Result<std::string> devlink_port(int ifindex) const override {
    ++asked;
    const auto at = ports.find(ifindex);
    return at == ports.end() ? std::string() : at->second;
  }
  bool is_live() const override { return true; }
  std::map<int, std::string> ports;
  mutable int asked = 0;

 private:
  std::shared_ptr<const HostView> files_;
};

// Red when a representor without a name is a port of its PF, when its VF has none, or when devlink is asked of an interface whose name says
// what it is.
TEST_F(ScanTest, PortsOfASwitchWithoutNamesAreThoseOfDevlink) {
  tree.pci("0000:3b:00.0")
      .sriov(8)
      .netdev("aaa_pf")
      .netdev("aaa_rep0")
      .netdev("aaa_rep1")
      .netdev("ens1f0np0")
      .vfs(2);
  const auto host = std::make_shared<DevlinkView>(tree.view());
  for (const auto& [name, port, devlink] : {std::tuple{"aaa_rep0", "", "pf0vf0"},
                                            {"aaa_rep1", "1", "pf0vf1"},
                                            {"aaa_pf", "", "pf0"},
                                            {"ens1f0np0", "p0", "not asked"}}) {
    tree.netdev_attr(name, "phys_switch_id", "A088C2000300E0A0");
    if (*port != '\0') tree.netdev_attr(name, "phys_port_name", port);
    host->ports[std::stoi(*host->read(std::string("sys/class/net/") + name + "/ifindex", 16))] = devlink;
  }
  const auto scanned = [&] {
    std::map<std::string, HostDevice> out;
    for (const HostDevice& device : fixture::scan_host(*host, fixture::SlowReads::kRead).devices)
      out.emplace(device.id.text, device);
    return out;
  };
  const auto devices = scanned();
  EXPECT_EQ(host->asked, 3);
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev->name, "ens1f0np0");
  EXPECT_TRUE(devices.at("0000:3b:00.0").other_netdevs.empty());
  EXPECT_EQ(devices.at("0000:3b:00.0").eswitch_mode, "switchdev");
  EXPECT_EQ(devices.at("aaa_rep0").representor_of, "0000:3b:02.0");
  EXPECT_EQ(devices.at("aaa_rep1").representor_of, "0000:3b:02.1");
  EXPECT_EQ(devices.at("aaa_pf").representor_of, "");
  EXPECT_EQ(devices.at("0000:3b:02.0").representor, "aaa_rep0");
  host->ports.clear();
  EXPECT_EQ(scanned().at("aaa_rep1").representor_of, "0000:3b:02.1") << "by its phys_port_name";
}

TEST_F(ScanTest, SwitchdevOfTwoPortsWithRepresentorsThatHangNowhere) {
  for (const int port : {0, 1}) {
    const std::string n = std::to_string(port);
    tree.pci("0000:3b:00." + n).sriov(8).netdev("ens1f" + n);
    tree.netdev_attr("ens1f" + n, "phys_switch_id", "e0a0");
    tree.netdev_attr("ens1f" + n, "phys_port_name", "p" + n);
    tree.virtual_link("rep" + n);
    tree.netdev_attr("rep" + n, "phys_switch_id", "e0a0");
    tree.netdev_attr("rep" + n, "phys_port_name", "pf" + n + "vf0");
  }
  tree.pci("0000:3b:00.0").vfs(1);
  tree.pci("0000:3b:00.1").link("virtfn0", "../0000:3b:04.0");
  tree.pci("0000:3b:04.0").link("physfn", "../0000:3b:00.1");
  tree.virtual_link("other");  // another switch's
  tree.netdev_attr("other", "phys_switch_id", "ffff");
  tree.netdev_attr("other", "phys_port_name", "pf0vf0");
  tree.virtual_link("vague");  // its name shows neither PF
  tree.netdev_attr("vague", "phys_switch_id", "e0a0");
  tree.netdev_attr("vague", "phys_port_name", "0");
  const auto devices = scan();
  EXPECT_EQ(devices.at("rep0").representor_of, "0000:3b:02.0");
  EXPECT_EQ(devices.at("rep1").representor_of, "0000:3b:04.0");
  EXPECT_EQ(devices.at("0000:3b:04.0").representor, "rep1");
  EXPECT_EQ(devices.at("other").representor_of, "");
  EXPECT_EQ(devices.at("vague").representor_of, "");
}

TEST_F(ScanTest, ASwitchIdWithoutRepresentorsIsLegacy) {
  tree.pci("0000:3b:00.0").sriov(8).netdev("ens1f0").vfs(1);
  tree.netdev_attr("ens1f0", "phys_switch_id", "e0a0");
  tree.netdev_attr("ens1f0", "phys_port_name", "p0");
  EXPECT_EQ(scan().at("0000:3b:00.0").eswitch_mode, "legacy");
}

// Hardware of public reports, each as its drivers present it. Red when a port, a representor or an RDMA device is another
// function's.
struct ReportedHardware : ScanTest {
  void port(const std::string& netdev, const std::string& name, const std::string& switch_id) {
    tree.netdev_attr(netdev, "phys_port_name", name);
    tree.netdev_attr(netdev, "phys_switch_id", switch_id);
  }
};

// OpenShift on BlueField: in the DPU the host's functions have representors, too, as those of controller 1.
TEST_F(ReportedHardware, RepresentorsOfAnotherControllerAreOfNoLocalVf) {
  auto pf = tree.pci("0000:03:00.0").id("15b3", "a2d6").driver("mlx5_core").sriov(2).vfs(1);
  for (const auto& [netdev, name] : {std::pair{"a_hpf", "c1pf0"},
                                     {"a_hvf", "c1pf0vf0"},
                                     {"a_hsf", "c1pf0sf0"},
                                     {"local", "pf0vf0"},
                                     {"p0", "p0"}}) {
    pf.netdev(netdev);
    port(netdev, name, "bf02");
  }
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:03:00.0").netdev->name, "p0");
  EXPECT_TRUE(devices.at("0000:03:00.0").other_netdevs.empty());
  EXPECT_EQ(devices.at(pf.vf(0).address()).representor, "local");
  for (const char* host : {"a_hpf", "a_hvf", "a_hsf"}) {
    EXPECT_EQ(devices.at(host).representor_of, "") << host;
    EXPECT_EQ(devices.at(host).type, DeviceType::kVirtual) << host;
  }
}

// VF LAG: both uplinks in a bond, one RDMA device for both ports, representors in OVS. The VFs stay free.
TEST_F(ReportedHardware, ABondOfUplinksTakesNoVf) {
  tree.bond("bond0");
  tree.virtual_link("ovs-system", "openvswitch");
  for (const int number : {0, 1}) {
    const std::string n = std::to_string(number);
    auto pf = tree.pci("0000:3b:00." + n).driver("mlx5_core").sriov(2);
    pf.netdev("up" + n).netdev("rep" + n);
    port("up" + n, "p" + n, "b8");
    port("rep" + n, "pf" + n + "vf0", "b8");
    tree.enslave("up" + n, "bond0");
    tree.enslave("rep" + n, "ovs-system");
  }
  auto vf = tree.pci("0000:3b:00.0").vfs(1).vf(0);
  vf.driver("mlx5_core").netdev("vf0").rdma("mlx5_2");
  tree.pci("0000:3b:00.0").rdma("mlx5_bond_0");
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:00.0").host_use, "enslaved to bond0");
  EXPECT_EQ(devices.at("0000:3b:00.1").host_use, "enslaved to bond0");
  EXPECT_EQ(devices.at(vf.address()).host_use, "");
  EXPECT_EQ(devices.at(vf.address()).rdma_device, "mlx5_2");
  EXPECT_EQ(devices.at(vf.address()).representor, "rep0");
  EXPECT_EQ(devices.at("0000:3b:00.0").rdma_device, "mlx5_bond_0");
  EXPECT_EQ(devices.at("0000:3b:00.1").rdma_device, "");
}

// Intel E810: its subfunctions have no sfnum in sysfs.
TEST_F(ReportedHardware, ASubfunctionWithoutNumberIsHeldBackAndIsNoPort) {
  auto pf = tree.pci("0000:18:00.0").id("8086", "1592").driver("ice");
  pf.netdev("ens1f0npf0sf1", "ice.sf.1/").netdev("ens1f0np0");
  pf.rdma("rocep24s0f0");
  tree.symlink("../../../" + pf.path().substr(4) + "/ice.sf.1", "sys/bus/auxiliary/devices/ice.sf.1");
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:18:00.0").netdev->name, "ens1f0np0");
  EXPECT_TRUE(devices.at("0000:18:00.0").other_netdevs.empty());
  EXPECT_EQ(devices.at("0000:18:00.0").rdma_device, "rocep24s0f0");
  const HostDevice& sf = devices.at("ens1f0npf0sf1");
  EXPECT_EQ(sf.type, DeviceType::kSf);
  EXPECT_NE(sf.broken.find("(sfnum)"), std::string::npos) << sf.broken;
}

// InfiniBand with partitions: the children of ib0 have the same function and dev_port.
TEST_F(ReportedHardware, AnInterfaceOfAPartitionIsNotTheFirstPort) {
  auto hca = tree.pci("0000:3b:00.0").id("15b3", "101b").driver("mlx5_core");
  hca.netdev("ibp59s0").netdev("aa.8001");
  for (const char* name : {"ibp59s0", "aa.8001"}) tree.netdev_attr(name, "type", "32");
  tree.default_route("aa.8001");
  const HostDevice device = scan().at("0000:3b:00.0");
  EXPECT_EQ(device.netdev->name, "ibp59s0");
  ASSERT_EQ(device.other_netdevs.size(), 1u);
  EXPECT_EQ(device.host_use, "default route through aa.8001 (its port aa.8001)");
}

// Microsoft's MANA, and GKE's gVNIC: functions without PF and VFs.
TEST_F(ReportedHardware, FunctionsOfCloudsAreNicsWithTheirRdmaDevice) {
  tree.pci("7870:00:00.0").id("1414", "00ba").driver("mana").netdev("enP30832s1").rdma("mana_0");
  tree.pci("0000:00:04.0").id("1ae0", "0042").driver("gve").netdev("eth0");
  const auto devices = scan();
  EXPECT_EQ(devices.at("7870:00:00.0").type, DeviceType::kNic);
  EXPECT_EQ(devices.at("7870:00:00.0").rdma_device, "mana_0");
  EXPECT_EQ(devices.at("0000:00:04.0").type, DeviceType::kNic);
  EXPECT_EQ(devices.at("0000:00:04.0").rdma_device, "");
}

// Netronome and Mellanox Spectrum: a port that is split has two uplinks.
TEST_F(ReportedHardware, PartsOfASplitPortAreUplinks) {
  auto nic = tree.pci("0000:05:00.0").id("19ee", "4000").driver("nfp");
  nic.netdev("enp5s0np0s0").netdev("enp5s0np0s1");
  port("enp5s0np0s0", "p0s0", "aa");
  port("enp5s0np0s1", "p0s1", "aa");
  const HostDevice device = scan().at("0000:05:00.0");
  EXPECT_EQ(device.netdev->name, "enp5s0np0s0");
  ASSERT_EQ(device.other_netdevs.size(), 1u);
  EXPECT_EQ(device.other_netdevs[0].name, "enp5s0np0s1");
}

// AMD Solarflare and Alveo SmartNICs (sfc, EF100): names of representors begin with the port. Red when a representor is of no VF.
TEST_F(ReportedHardware, RepresentorsOfEf100BeginWithThePort) {
  auto pf = tree.pci("0000:21:00.0").id("10ee", "0100").driver("sfc_ef100").sriov(4).vfs(2);
  for (const auto& [netdev, name] :
       {std::pair{"a_rep", "p0pf0vf1"}, {"b_rep", "p0pf0vf0"}, {"enp33s0np0", "p0"}}) {
    pf.netdev(netdev);
    port(netdev, name, "0a0b");
  }
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:21:00.0").netdev->name, "enp33s0np0");
  EXPECT_TRUE(devices.at("0000:21:00.0").other_netdevs.empty());
  EXPECT_EQ(devices.at("0000:21:00.0").eswitch_mode, "switchdev");
  EXPECT_EQ(devices.at(pf.vf(1).address()).representor, "a_rep");
  EXPECT_EQ(devices.at(pf.vf(0).address()).representor, "b_rep");
  EXPECT_EQ(devices.at("a_rep").netdev->port_flavour, "pcivf");
}

// Mellanox/k8s-rdma-sriov-dev-plugin#13: a ConnectX-3 VPI whose first port is InfiniBand, on a host without ib_ipoib. Red when
// that port's interface counts as moved away, so that excludes by interface withhold the function.
TEST_F(ReportedHardware, AnInfinibandPortBesideAnEthernetPortIsNotMissing) {
  tree.pci("0000:21:00.0").id("15b3", "1003").driver("mlx4_core").netdev("ens3d1").rdma("mlx4_0");
  tree.netdev_attr("ens3d1", "dev_port", "1");
  tree.write("sys/class/infiniband/mlx4_0/ports/1/link_layer", "InfiniBand");
  tree.write("sys/class/infiniband/mlx4_0/ports/2/link_layer", "Ethernet");
  EXPECT_TRUE(scan().at("0000:21:00.0").misses_ports) << "a root without sys/module shows nothing";
  tree.write("sys/module/mlx4_core/parameters/port_type_array", "1,2");
  const HostDevice device = scan().at("0000:21:00.0");
  EXPECT_FALSE(device.misses_ports);
  EXPECT_EQ(device.unreadable, std::vector<std::string>());
  tree.remove_netdev("ens3d1");
  EXPECT_TRUE(is_netdev_elsewhere(scan().at("0000:21:00.0"))) << "the Ethernet port's interface is in a pod";
  tree.pci("0000:21:00.0").netdev("ens3d1");
  tree.netdev_attr("ens3d1", "dev_port", "1");
  tree.write("sys/module/ib_ipoib/parameters/send_queue_size", "256");
  EXPECT_TRUE(scan().at("0000:21:00.0").misses_ports) << "it may be in a pod";
  tree.remove("sys/module/ib_ipoib");
  tree.write("sys/class/infiniband/mlx4_0/ports/1/link_layer", "Ethernet");
  EXPECT_TRUE(scan().at("0000:21:00.0").misses_ports) << "an Ethernet port has an interface";
}

// Documentation/networking/devlink/mlx5.rst: with enable_eth false a function is for RDMA or vDPA alone. Red when its interface
// counts as moved away: the name of its VFs' PF would be unknown for ever.
TEST_F(ReportedHardware, AnMlx5FunctionWithoutEthernetHasNoInterfaceAnywhere) {
  auto pf = tree.pci("0000:03:00.0").driver("mlx5_core").rdma("mlx5_0").sriov(2).vfs(1);
  auto vf = pf.vf(0);
  vf.driver("mlx5_core");
  tree.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet");
  const auto auxiliary = [&](const std::string& owner, const std::string& name) {
    tree.write(owner + "/" + name + "/uevent", "");
    tree.symlink("../../../" + owner.substr(4) + "/" + name, "sys/bus/auxiliary/devices/" + name);
  };
  const std::string sf = pf.path() + "/mlx5_core.sf.4";
  auxiliary(pf.path(), "mlx5_core.sf.4");
  tree.write(sf + "/sfnum", "88");
  const auto is_elsewhere = [&](const std::string& id) { return is_netdev_elsewhere(scan().at(id)); };
  EXPECT_TRUE(is_elsewhere("0000:03:00.0")) << "a kernel before 5.11";
  auxiliary(pf.path(), "mlx5_core.rdma.0");
  auxiliary(vf.path(), "mlx5_core.vnet.1");
  auxiliary(sf, "mlx5_core.vnet.2");
  EXPECT_FALSE(is_elsewhere("0000:03:00.0"));
  EXPECT_FALSE(is_elsewhere(vf.address()));
  EXPECT_FALSE(is_elsewhere("sf88-0000-03-00-0"));
  EXPECT_EQ(scan().at(vf.address()).pf_link_type, 1);
  EXPECT_EQ(
      scan().at("0000:03:00.0").unreadable,
      std::vector<std::string>{"net: the driver makes no interface (devlink parameter enable_eth is false)"});
  tree.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
  EXPECT_TRUE(is_elsewhere("0000:03:00.0")) << "ib_ipoib makes its interface";
  tree.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet");
  auxiliary(pf.path(), "mlx5_core.eth.0");
  auxiliary(vf.path(), "mlx5_core.eth.1");
  auxiliary(sf, "mlx5_core.eth.2");
  for (const std::string& id : {std::string("0000:03:00.0"), std::string("sf88-0000-03-00-0"), vf.address()})
    EXPECT_TRUE(is_elsewhere(id)) << id;
}

// Marvell Octeon: the loopback VFs (177d:a0f8) are of the admin function, which is not a network function. Red when they are said to be
// of a PF that cannot be read.
TEST_F(ReportedHardware, AVfOfAPfThatIsNoNetworkFunctionIsHeldBackWithTheReason) {
  auto admin = tree.pci("0002:01:00.0").id("177d", "a065").attr("class", "0x088000").sriov(2).vfs(1);
  admin.vf(0).id("177d", "a0f8").attr("class", "0x020000");
  const auto devices = scan();
  EXPECT_FALSE(devices.contains("0002:01:00.0"));
  EXPECT_EQ(devices.at(admin.vf(0).address()).broken,
            "its PF 0002:01:00.0 cannot be read, or is not a network function (PCI class 02)");
}

// k8snetworkplumbingwg/sriov-network-device-plugin#507 (a virtio DPU): PF and VFs have their interfaces below virtio devices.
TEST_F(ReportedHardware, APfWithVirtioInterfacesHasAName) {
  auto pf = tree.pci("0000:01:00.0").id("1af4", "1000").driver("virtio-pci").netdev("ens1", "virtio5/");
  pf.sriov(6).vfs(1, [](SysfsTree::Pci vf, int) { vf.driver("virtio-pci").netdev("ens1v0", "virtio6/"); });
  const auto devices = scan();
  EXPECT_EQ(devices.at(pf.vf(0).address()).pf_name, "ens1");
  EXPECT_EQ(devices.at(pf.vf(0).address()).netdev->name, "ens1v0");
}

// containernetworking/plugins#957: host-device cannot move a wireless interface. Kernels before 6.15 do not report that. Red when it is
// offered to such a plugin, whose ADD then fails for each pod.
TEST_F(ReportedHardware, AWirelessInterfaceDoesNotMove) {
  tree.pci("0000:04:00.0").id("168c", "003c").driver("ath10k_pci").netdev("wlp4s0");
  tree.pci("0000:05:00.0").driver("igb").netdev("ens5");
  tree.netdev_attr("wlp4s0", "uevent", "DEVTYPE=wlan\nINTERFACE=wlp4s0");
  tree.netdev_attr("ens5", "uevent", "INTERFACE=ens5");
  tree.virtual_link("wlan1");  // a USB adapter, or a second interface of the radio
  tree.netdev_attr("wlan1", "uevent", "DEVTYPE=wlan\nINTERFACE=wlan1");
  const auto devices = scan();
  EXPECT_EQ(immovable_kind(devices.at("0000:04:00.0")),
            "an interface that is netns-immutable, as wireless ones are");
  EXPECT_NE(immovable_kind(devices.at("wlan1")), "");
  EXPECT_EQ(immovable_kind(devices.at("0000:05:00.0")), "");
}

// ARI: with many VFs their functions are on the next buses, also in a domain above ffff (VMD).
TEST_F(ReportedHardware, VfsOnOtherBusesBelongToTheirPf) {
  auto pf = tree.pci("10000:3b:00.0").driver("mlx5_core").netdev("ens1").sriov(512).vfs(400);
  const auto devices = scan();
  std::set<int> buses;
  for (int i = 0; i < 400; ++i) {
    const HostDevice& vf = devices.at(pf.vf(i).address());
    EXPECT_EQ(vf.broken, "") << i;
    EXPECT_EQ(vf.vf_index, i);
    EXPECT_EQ(vf.pf_name, "ens1");
    buses.insert(vf.pci->bus);
  }
  EXPECT_GT(buses.size(), 1u);
}

TEST_F(ScanTest, LinksHaveTypes) {
  tree.bridge("br0", true);
  tree.bridge("br1", false);
  tree.bond("bond0");
  tree.vlan("bond0.7", 7, "bond0");
  tree.virtual_link("veth0");
  tree.virtual_link("br-int", "openvswitch");
  const auto devices = scan();
  EXPECT_EQ(ids(devices), (std::vector<std::string>{"bond0", "bond0.7", "br-int", "br0", "br1", "veth0"}));
  EXPECT_EQ(devices.at("br0").type, DeviceType::kBridge);
  EXPECT_EQ(devices.at("br0").bridge_type, "linux");
  EXPECT_EQ(devices.at("br0").vlan_filtering, true);
  EXPECT_EQ(devices.at("br1").vlan_filtering, false);
  EXPECT_EQ(devices.at("bond0").type, DeviceType::kBond);
  EXPECT_EQ(devices.at("bond0.7").type, DeviceType::kVlan);
  EXPECT_EQ(devices.at("bond0.7").vlan_id, 7);
  EXPECT_EQ(devices.at("bond0.7").parent_name, "bond0");
  EXPECT_EQ(devices.at("veth0").type, DeviceType::kVirtual);
  EXPECT_EQ(devices.at("veth0").vlan_filtering, std::nullopt);
  EXPECT_EQ(devices.at("br-int").type, DeviceType::kVirtual);
  EXPECT_EQ(devices.at("br-int").bridge_type, "ovs");
}

TEST_F(ScanTest, AVlanIsKnownWithoutProc) {
  tree.virtual_link("eth0");
  tree.vlan("storage", 9, "eth0");
  tree.remove("proc/net/vlan");
  const auto vlan = scan().at("storage");
  EXPECT_EQ(vlan.type, DeviceType::kVlan);
  EXPECT_EQ(vlan.vlan_id, std::nullopt);
  EXPECT_EQ(vlan.parent_name, "eth0");
}

// Red when the interface that the host works with is offered, because its routes cannot be read when the daemon begins.
TEST_F(ScanTest, KeepsHostUseOrGuardsEverythingIfRoutesCannotBeRead) {
  tree.pci("0000:3b:00.0").netdev("eth0");
  tree.pci("0000:3b:01.0").netdev("eth1");
  tree.default_route("eth0");
  const auto host = tree.view();
  const HostReadings known = read_host(*host);
  tree.remove("proc/net/route");
  std::filesystem::create_directory(tree.root() + "/proc/net/route");
  const auto use = [](const HostReadings& readings, size_t device) {
    return resolve(readings).at(device).host_use;
  };
  const HostReadings first = read_host(*host), later = read_host(*host, known);
  EXPECT_EQ(use(first, 0), "unknown, the default routes cannot be read");
  EXPECT_EQ(use(first, 1), "unknown, the default routes cannot be read");
  EXPECT_EQ(use(later, 0), "default route through eth0");
  EXPECT_EQ(use(later, 1), "");
  EXPECT_EQ(use(read_host(*host, read_host(*host, first)), 1), "unknown, the default routes cannot be read");
  tree.remove("proc/net/route");
  tree.no_default_routes();
  EXPECT_EQ(use(read_host(*host, first), 0), "");
}

TEST_F(ScanTest, FindsUsesByTheHost) {
  const struct {
    const char* why;
    std::function<void(SysfsTree&)> build;
    const char* want;
  } rows[] = {
      {"nothing", [](SysfsTree&) {}, ""},
      {"default route", [](SysfsTree& t) { t.default_route("eth0"); }, "default route through eth0"},
      {"IPv6 default route", [](SysfsTree& t) { t.default_route6("eth0"); }, "default route through eth0"},
      {"the second of two default routes",
       [](SysfsTree& t) { t.default_route("other", 101), t.default_route("eth0"); },
       "default route through eth0"},
      {"a default route that is worse than another's",
       [](SysfsTree& t) { t.default_route("other"), t.default_route("eth0", 101); }, ""},
      {"another's default route", [](SysfsTree& t) { t.default_route("eth1"); }, ""},
      {"in a bridge", [](SysfsTree& t) { t.bridge("br0"), t.enslave("eth0", "br0"); }, "enslaved to br0"},
      {"in a bond", [](SysfsTree& t) { t.bond("bond0"), t.enslave("eth0", "bond0"); }, "enslaved to bond0"},
      {"in OVS", [](SysfsTree& t) { t.virtual_link("ovs-system"), t.enslave("eth0", "ovs-system"); },
       "enslaved to ovs-system"},
      {"under a VLAN", [](SysfsTree& t) { t.vlan("eth0.7", 7, "eth0"); }, ""},
      {"under a VLAN with default route",
       [](SysfsTree& t) { t.vlan("eth0.7", 7, "eth0"), t.default_route("eth0.7"); },
       "default route through eth0.7"},
      {"under a macvlan with default route",
       [](SysfsTree& t) { t.virtual_link("mv0"), t.stack("mv0", "eth0"), t.default_route("mv0"); },
       "default route through mv0"},
      {"under a VLAN in a bridge with default route",
       [](SysfsTree& t) {
         t.vlan("eth0.7", 7, "eth0"), t.bridge("br0"), t.enslave("eth0.7", "br0"), t.default_route("br0");
       },
       "default route through br0"},
      {"an address alone", [](SysfsTree& t) { t.address("eth0"); }, ""},
      {"a host route", [](SysfsTree& t) { t.address("eth0"), t.host_route("eth0"); },
       "routes beyond its own subnet through eth0"},
      {"another's host route", [](SysfsTree& t) { t.address("eth1"), t.host_route("eth1"); }, ""},
      {"under a VLAN with an address", [](SysfsTree& t) { t.vlan("eth0.7", 7, "eth0"), t.address("eth0.7"); },
       ""},
      {"under a VLAN with a host route",
       [](SysfsTree& t) { t.vlan("eth0.7", 7, "eth0"), t.address("eth0.7"), t.host_route("eth0.7"); },
       "routes beyond its own subnet through eth0.7"},
      {"under a VLAN in a bridge with a host route",
       [](SysfsTree& t) {
         t.vlan("eth0.7", 7, "eth0"), t.bridge("br0"), t.enslave("eth0.7", "br0"), t.host_route("br0");
       },
       "routes beyond its own subnet through br0"},
      {"under a VLAN in a bond with a host route",
       [](SysfsTree& t) {
         t.vlan("eth0.7", 7, "eth0"), t.bond("bond0"), t.enslave("eth0.7", "bond0"), t.host_route("bond0");
       },
       "routes beyond its own subnet through bond0"},
      {"in a bond with a host route",
       [](SysfsTree& t) { t.bond("bond0"), t.enslave("eth0", "bond0"), t.host_route("bond0"); },
       "enslaved to bond0"},
      {"in a bond under a VLAN with a host route",
       [](SysfsTree& t) {
         t.bond("bond0"), t.enslave("eth0", "bond0"), t.vlan("bond0.7", 7, "bond0"), t.host_route("bond0.7");
       },
       "enslaved to bond0"},
      {"under a VLAN on a VLAN with a host route",
       [](SysfsTree& t) { t.vlan("eth0.7", 7, "eth0"), t.vlan("qinq", 9, "eth0.7"), t.host_route("qinq"); },
       "routes beyond its own subnet through qinq"},
      {"under a macvlan with a host route",
       [](SysfsTree& t) { t.virtual_link("mv0"), t.stack("mv0", "eth0"), t.host_route("mv0"); },
       "routes beyond its own subnet through mv0"},
      {"links in a ring",
       [](SysfsTree& t) {
         t.virtual_link("a"), t.stack("a", "eth0"), t.stack("eth0", "a"), t.default_route("other");
       },
       ""},
  };
  for (const auto& row : rows) {
    SysfsTree host;
    host.pci("0000:3b:00.0").netdev("eth0");
    row.build(host);
    const auto view = host.view();
    const auto scanned = fixture::scan_host(*view);
    ASSERT_EQ(scanned.devices.front().id.text, "0000:3b:00.0") << row.why;
    EXPECT_EQ(scanned.devices.front().host_use, row.want) << row.why;
  }
}

TEST_F(ScanTest, DetectsHostUseOfAVf) {
  tree.pci("0000:3b:00.0").sriov(1).netdev("ens1f0").vfs(1, [](SysfsTree::Pci vf, int) {
    vf.netdev("ens1f0v0");
  });
  tree.default_route("ens1f0v0");
  EXPECT_EQ(scan().at("0000:3b:02.0").host_use, "default route through ens1f0v0");
  EXPECT_EQ(scan().at("0000:3b:00.0").host_use, "");
}

TEST_F(ScanTest, NamesThatAreNotUtf8WithholdTheirDevice) {
  tree.pci("0000:3b:00.0").netdev("eth\xff");
  tree.virtual_link("v\xc3");
  tree.virtual_link("v\xc3\xa9th");
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:00.0").broken, "interface name \"eth\\xff\" is not UTF-8");
  EXPECT_EQ(devices.at("v\xc3").broken, "interface name \"v\\xc3\" is not UTF-8");
  EXPECT_EQ(devices.at("v\xc3\xa9th").broken, "");
}

TEST_F(ScanTest, EscapesForeignNames) {
  tree.bridge("br\xff");
  tree.pci("0000:3b:00.0").netdev("pf\xff").sriov(1).vfs(1, [](SysfsTree::Pci vf, int) { vf.netdev("vf0"); });
  tree.enslave("vf0", "br\xff");
  tree.vlan("vlan7", 7, "pf\xff");
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:02.0").netdev->master, "br\\xff");
  EXPECT_EQ(devices.at("0000:3b:02.0").host_use, "enslaved to br\\xff");
  EXPECT_EQ(devices.at("0000:3b:02.0").pf_name, "pf\\xff");
  EXPECT_EQ(devices.at("0000:3b:02.0").broken, "");
  EXPECT_EQ(devices.at("vlan7").parent_name, "pf\\xff");
}

TEST_F(ScanTest, InvalidContentCostsOneFactAndIsReported) {
  tree.pci("0000:3b:00.0").attr("numa_node", "many").attr("subsystem_vendor", "0x12").netdev("eth0");
  tree.netdev_attr("eth0", "mtu", "99999999999");
  tree.netdev_attr("eth0", "address", "not a mac");
  const auto device = scan().at("0000:3b:00.0");
  EXPECT_EQ(device.numa_node, std::nullopt);
  EXPECT_EQ(device.subsystem_vendor, "");
  EXPECT_EQ(device.netdev->mtu, std::nullopt);
  EXPECT_EQ(device.netdev->mac, "");
  EXPECT_EQ(device.netdev->link_type, 1);
  EXPECT_EQ(device.broken, "");
  EXPECT_EQ(
      device.unreadable,
      (std::vector<std::string>{
          "subsystem_vendor: \"0x12\" is not an id of four digits", "numa_node: \"many\" is not a number",
          "address: \"not a mac\" is not a MAC address", "mtu: \"99999999999\" is not a number"}));
}

TEST_F(ScanTest, SpeedIsUnknownWithoutLink) {
  tree.pci("0000:3b:00.0").netdev("eth0");
  for (const char* value : {"-1", "0", "4294967295"}) {
    tree.netdev_attr("eth0", "speed", value);
    EXPECT_EQ(scan().at("0000:3b:00.0").netdev->speed_mbps, std::nullopt) << value;
  }
}

// As the kernel removes one: both links go first, its driver and its interface may stay for seconds.
TEST_F(ScanTest, AVfWithoutItsLinksIsNoNic) {
  tree.pci("0000:3b:00.0").sriov(8).vfs(2, [](SysfsTree::Pci vf, int index) {
    vf.netdev("ens1f0v" + std::to_string(index));
  });
  tree.remove(tree.pci("0000:3b:00.0").path() + "/virtfn1");
  tree.remove(tree.pci("0000:3b:02.1").path() + "/physfn");
  tree.pci("0000:3b:03.0");  // where the ninth VF of eight would be
  tree.pci("0000:3b:02.7");  // another product at a VF's address
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:02.0").broken, "");
  EXPECT_EQ(devices.at("0000:3b:02.1").broken, "half there: a VF of 0000:3b:00.0 without physfn link");
  EXPECT_EQ(devices.at("0000:3b:02.1").type, DeviceType::kVf);
  EXPECT_EQ(devices.at("0000:3b:02.1").pf->text(), "0000:3b:00.0");
  EXPECT_EQ(devices.at("0000:3b:02.7").type, DeviceType::kNic);
  EXPECT_EQ(devices.at("0000:3b:03.0").type, DeviceType::kNic);
}

TEST_F(ScanTest, MarksPartlyRemovedFunctionsAsBroken) {
  tree.pci("0000:3b:00.0").sriov(8).vfs(2);
  tree.remove(tree.pci("0000:3b:00.0").path() + "/virtfn1");
  tree.pci("0000:3b:02.0").no_attr("vendor");
  tree.symlink("../../../devices/pci0000:00/0000:7b:00.0",
               "sys/bus/pci/devices/0000:7b:00.0");  // leads nowhere
  tree.pci("0000:5b:00.0").link("physfn", "../0000:5a:00.0");
  const auto devices = scan();
  EXPECT_EQ(ids(devices),
            (std::vector<std::string>{"0000:3b:00.0", "0000:3b:02.0", "0000:3b:02.1", "0000:5b:00.0"}));
  EXPECT_EQ(devices.at("0000:3b:00.0").broken, "");
  EXPECT_EQ(devices.at("0000:3b:02.0").broken,
            "vendor or device: ENOENT twice (the function is appearing or vanishing)");
  EXPECT_EQ(devices.at("0000:3b:02.1").broken, "half there: its PF 0000:3b:00.0 has no virtfn link to it");
  EXPECT_EQ(devices.at("0000:5b:00.0").broken,
            "its PF 0000:5a:00.0 cannot be read, or is not a network function (PCI class 02)");
}

TEST_F(ScanTest, IgnoresEntriesThatAreNoDevices) {
  tree.write("sys/class/net/bonding_masters", "bond0");
  tree.write("sys/bus/pci/devices/README", "x");
  EXPECT_TRUE(scan().empty());
  EXPECT_EQ(result.problems,
            std::vector<std::string>{"sys/bus/pci/devices: \"README\" is not a PCI address"});
}

TEST_F(ScanTest, FindsSoftRdmaByItsInterface) {
  tree.pci("0000:3b:00.0").netdev("eth0");
  tree.write("sys/devices/virtual/infiniband/rxe0/parent", "eth0");
  tree.symlink("../../devices/virtual/infiniband/rxe0", "sys/class/infiniband/rxe0");
  EXPECT_EQ(scan().at("0000:3b:00.0").rdma_device, "rxe0");
}

// The class directories are sufficient for a manual snapshot.
TEST_F(ScanTest, ReadsATreeWithoutTheKernelsLinks) {
  tree.write("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x8086");
  tree.write("sys/bus/pci/devices/0000:3b:00.0/device", "0x1593");
  tree.write("sys/class/net/eth0/address", "02:00:00:00:00:01");
  tree.write("sys/class/net/eth0/type", "1");
  tree.symlink("../../../bus/pci/devices/0000:3b:00.0", "sys/class/net/eth0/device");
  tree.write("sys/bus/pci/devices/0000:3b:00.0/net", "");
  const auto devices = scan();
  ASSERT_EQ(ids(devices), std::vector<std::string>{"0000:3b:00.0"});
  EXPECT_EQ(devices.at("0000:3b:00.0").type, DeviceType::kNic);
  EXPECT_EQ(devices.at("0000:3b:00.0").netdev->mac, "02:00:00:00:00:01");
}

// Two packages of two NUMA nodes each, as processors in the modes NPS2 and SNC2 are, and node 4, memory alone.
TEST_F(ScanTest, NumaNodesOfTheSamePackageAreNeighbors) {
  const struct {
    const char *distance, *processor, *package;
  } nodes[] = {{"10 12 20 20 28", "cpu1", "0"},
               {"12 10 20 20 28", "cpu2", "0"},
               {"20 20 10 12 28", "cpu8", "1"},
               {"20 20 12 10 28", "cpu9", "1"},
               {"28 28 28 28 10", nullptr, nullptr}};
  for (int i = 0; i < 5; ++i) {
    const std::string dir = "sys/devices/system/node/node" + std::to_string(i);
    tree.write(dir + "/distance", nodes[i].distance);
    if (nodes[i].processor == nullptr) continue;
    tree.symlink("../../cpu/" + std::string(nodes[i].processor), dir + "/" + nodes[i].processor);
    tree.write("sys/devices/system/cpu/" + std::string(nodes[i].processor) + "/topology/physical_package_id",
               nodes[i].package);
  }
  tree.symlink("../../cpu/cpu0", "sys/devices/system/node/node0/cpu0");  // offline: without a topology
  auto pf = tree.pci("0000:3b:00.0").numa(3).sriov(1);
  pf.vfs(1, [](SysfsTree::Pci vf, int) { vf.numa(-1); });
  tree.pci("0000:04:00.0").numa(4);
  const auto devices = scan();
  EXPECT_EQ(devices.at("0000:3b:00.0").numa_neighbors, std::vector<int>{2});
  EXPECT_EQ(devices.at(pf.vf(0).address()).numa_neighbors, std::vector<int>{2}) << "its PF's";
  EXPECT_EQ(devices.at("0000:04:00.0").numa_neighbors, std::vector<int>{});

  // Of a package's nodes only the nearest: four on one package, in two pairs.
  for (int i = 0; i < 4; ++i) {
    const char* distance[] = {"10 11 12 12 28", "11 10 12 12 28", "12 12 10 11 28", "12 12 11 10 28"};
    tree.write("sys/devices/system/node/node" + std::to_string(i) + "/distance", distance[i]);
    tree.write("sys/devices/system/cpu/" + std::string(nodes[i].processor) + "/topology/physical_package_id",
               "0");
  }
  EXPECT_EQ(scan().at("0000:3b:00.0").numa_neighbors, std::vector<int>{2});

  tree.write("sys/devices/system/node/node3/distance", "10 11");
  EXPECT_EQ(scan().at("0000:3b:00.0").numa_neighbors, std::vector<int>{})
      << "a file that cannot be understood";
}

}  // namespace
// A VLAN names its interface by the new name before the rename's own event is read. Red when an interface that carries the
// host's default route looks free in between.
TEST(Reread, StackedInterfacesFollowARename) {
  SysfsTree host;
  host.pci("0000:3b:00.0").netdev("eth0");
  host.netdev_attr("eth0", "ifindex", "7");
  host.vlan("storage", 9, "eth0");
  host.remove(host.netdev_path("storage") + "/lower_eth0");  // so that the VLAN's own text alone names it
  host.netdev_attr("storage", "ifindex", "8");
  host.default_route("storage");
  const auto view = host.view();
  HostReadings readings = read_host(*view, {});
  const auto use = [&] { return resolve(readings, {}).front().host_use; };
  EXPECT_EQ(use(), "default route through storage");
  host.rename_netdev("eth0", "p0");
  host.write("proc/net/vlan/config", "VLAN Dev name | VLAN ID\nstorage | 9 | p0\n");
  reread(*view, {.lists = true}, readings);
  EXPECT_EQ(use(), "default route through storage");
  EXPECT_FALSE(readings.netdevs.contains("eth0"));
}

// Red when the interface is believed to be still there: the function would be remembered as one without RDMA.
TEST_F(ScanTest, RereadsTheInterfaceOfARemovedRdmaDevice) {
  tree.pci("0000:3b:00.0").netdev("ens1").rdma("mlx5_0");
  const auto host = tree.view();
  HostReadings readings = read_host(*host);
  ASSERT_TRUE(readings.netdevs.contains("ens1"));
  tree.remove("sys/class/infiniband/mlx5_0");
  tree.remove_netdev("ens1");
  reread(*host, {.lists = true}, readings);
  EXPECT_TRUE(readings.rdma_of_function.empty());
  EXPECT_FALSE(readings.netdevs.contains("ens1"));
}

}  // namespace sliced::hotplug
