// `discover` on virtual machines of public clouds. Each tree follows the public description that its test names; none was copied from a
// machine.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/show.h"
#include "t/fixture/scan_host.h"
#include "t/fixture/sysfs_tree.h"

namespace sliced::cli {
namespace cloud_hosts_test {
namespace {

using fixture::SysfsTree;

struct CloudHosts : testing::Test {
  SysfsTree tree;

  // An interface below a bus other than PCI.
  void netdev(const std::string& dir, const std::string& name, int ifindex) {
    const std::string at = "sys/devices/" + dir + "/net/" + name;
    for (const auto& [file, value] : std::initializer_list<std::pair<const char*, std::string>>{
             {"address", "02:00:00:00:01:0" + std::to_string(ifindex % 10)},
             {"type", "1"},
             {"mtu", "1500"},
             {"ifindex", std::to_string(ifindex)},
             {"flags", "0x1003"},
             {"operstate", "up"},
             {"uevent", "INTERFACE=" + name}})
      tree.write(at + "/" + file, value);
    tree.symlink("../../devices/" + dir + "/net/" + name, "sys/class/net/" + name);
  }

  // Rows of `discover` with one space between cells.
  std::vector<std::string> discovered() {
    const auto host = tree.view();
    hotplug::Inventory inventory;
    const auto result = fixture::scan_host(*host, fixture::SlowReads::kRead);
    EXPECT_EQ(result.problems, std::vector<std::string>{});
    for (const hotplug::HostDevice& device : result.devices) inventory.devices[device.id.text] = device;
    std::vector<std::string> rows;
    std::istringstream lines(devices_table(inventory));
    std::string line, word;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string row;
      while (words >> word) row += (row.empty() ? "" : " ") + word;
      rows.push_back(row);
    }
    return rows;
  }
};

using Rows = std::vector<std::string>;

// Elastic Network Adapter of Amazon EC2: 1d0f:ec20 (drivers/net/ethernet/amazon/ena), interfaces ens5 and ens6 on bus 0. A guest's NUMA
// node is not told, and neither is SR-IOV, which the hypervisor keeps to itself.
TEST_F(CloudHosts, AmazonEnaIsDiscovered) {
  for (const auto& [address, name] : {std::pair("0000:00:05.0", "ens5"), {"0000:00:06.0", "ens6"}})
    tree.pci(address, "pci0000:00").id("1d0f", "ec20").numa(-1).driver("ena").netdev(name);
  tree.default_route("ens5");
  EXPECT_EQ(discovered(), (Rows{"0000:00:05.0 nic ens5 ena - - default route through ens5",
                                "0000:00:06.0 nic ens6 ena - - up"}));
}

// Google Virtual NIC: 1ae0:0042, driver gve (Documentation/networking/device_drivers/ethernet/google/gve.rst).
TEST_F(CloudHosts, GoogleGveIsDiscovered) {
  for (const auto& [address, name] : {std::pair("0000:00:04.0", "ens4"), {"0000:00:05.0", "ens5"}})
    tree.pci(address, "pci0000:00").id("1ae0", "0042").numa(-1).driver("gve").netdev(name);
  tree.default_route("ens4");
  EXPECT_EQ(discovered(), (Rows{"0000:00:04.0 nic ens4 gve - - default route through ens4",
                                "0000:00:05.0 nic ens5 gve - - up"}));
}

// Azure's accelerated networking: a synthetic interface on VMBus, and a VF without PF whose interface netvsc enslaves
// (Documentation/networking/device_drivers/ethernet/microsoft/netvsc.rst; drivers/net/hyperv/netvsc_drv.c, netvsc_vf_join).
TEST_F(CloudHosts, AzureNetvscIsDiscoveredWithItsVf) {
  const std::string bus = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/";
  netdev(bus + "000d3a00-0001-0000-3130-444531334632", "eth0", 102);
  tree.pci("7ad3:00:02.0", bus + "00000001-7ad3-8899-0000-000000000000/pci7ad3:00")
      .id("15b3", "1016")
      .driver("mlx5_core")
      .netdev("enP31443s1");
  EXPECT_EQ(discovered(),
            (Rows{"7ad3:00:02.0 nic enP31443s1 mlx5_core 0 - up", "eth0 virtual eth0 - - - up"}))
      << "before netvsc joins them";
  tree.enslave("enP31443s1", "eth0");
  tree.default_route("eth0");
  EXPECT_EQ(discovered(), (Rows{"7ad3:00:02.0 nic enP31443s1 mlx5_core 0 - enslaved to eth0",
                                "eth0 virtual eth0 - - - default route through eth0"}));
}

// Microsoft Azure Network Adapter: one function, 1414:00ba, with a port for each synthetic interface
// (drivers/net/ethernet/microsoft/mana; vyos/vyos-1x#5338).
TEST_F(CloudHosts, AzureManaIsDiscovered) {
  const std::string bus = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/";
  netdev(bus + "7c1e5200-0001-0000-3130-444531334632", "eth0", 102);
  netdev(bus + "7c1e5200-0002-0000-3130-444531334632", "eth1", 103);
  tree.pci("7870:00:00.0", bus + "00000001-7870-8899-0000-000000000000/pci7870:00")
      .id("1414", "00ba")
      .driver("mana")
      .netdev("enP30832s1")
      .netdev("enP30832s1d1");
  tree.netdev_attr("enP30832s1d1", "dev_port", "1");
  tree.enslave("enP30832s1d1", "eth1");
  EXPECT_EQ(discovered(),
            (Rows{"7870:00:00.0 nic enP30832s1 mana 0 - enslaved to eth1 (its port enP30832s1d1)",
                  "eth0 virtual eth0 - - - up", "eth1 virtual eth1 - - - up"}))
      << "the host uses the second port";
  tree.enslave("enP30832s1", "eth0");
  EXPECT_EQ(discovered()[0], "7870:00:00.0 nic enP30832s1 mana 0 - enslaved to eth0");
}

// virtio 1.0, section 5.1: 1af4:1041; the interface is below the virtio device.
TEST_F(CloudHosts, VirtioIsDiscovered) {
  tree.pci("0000:00:03.0", "pci0000:00")
      .id("1af4", "1041")
      .numa(-1)
      .driver("virtio-pci")
      .netdev("ens3", "virtio0/");
  tree.default_route("ens3");
  EXPECT_EQ(discovered(), (Rows{"0000:00:03.0 nic ens3 virtio-pci - - default route through ens3"}));
}

}  // namespace
}  // namespace cloud_hosts_test
}  // namespace sliced::cli
