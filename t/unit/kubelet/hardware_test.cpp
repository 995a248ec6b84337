#include "kubelet/hardware.h"

#include <gtest/gtest.h>

#include "t/fixture/sysfs_tree.h"

namespace sliced::kubelet {
namespace hardware_test {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kPf = "0000:03:00.0";
constexpr const char* kVf = "0000:03:00.2";

// A PF in switchdev mode with a VF, and with a scalable function that has an RDMA device.
struct HardwareTest : testing::Test {
  HardwareTest() {
    pf.id("15b3", "101d").netdev("a_sf88").netdev("ens1f0np0").netdev("enp3s0f0s88", "mlx5_core.sf.4/");
    port("ens1f0np0", "p0", "0a0b");
    port("a_sf88", "pf0sf88", "0a0b");
    rdma("mlx5_core.sf.4", "mlx5_12");
    tree.write(pf.path() + "/mlx5_core.sf.4/sfnum", "88");
    tree.pci(kVf).id("15b3", "101e").link("physfn", "../0000:03:00.0").netdev("ens1f0v0").rdma("mlx5_3");
  }
  void port(const std::string& netdev, const std::string& name, const std::string& switch_id) {
    tree.netdev_attr(netdev, "phys_port_name", name);
    tree.netdev_attr(netdev, "phys_switch_id", switch_id);
  }
  void rdma(const std::string& auxiliary, const std::string& name) {
    const std::string path = "/" + auxiliary + "/infiniband/" + name;
    tree.write(pf.path() + path + "/node_type", "1: CA");
    tree.symlink("../../" + pf.path().substr(4) + path, "sys/class/infiniband/" + name);
  }

  fixture::SysfsTree tree;
  fixture::SysfsTree::Pci pf = tree.pci(kPf);
};

TEST_F(HardwareTest, IsAFunctionOrAScalableFunctionByNumber) {
  EXPECT_EQ(hardware_of({.pci = kVf}), kVf);
  EXPECT_EQ(hardware_of({.interface = "enp3s0f0s88", .identity = {"15b3", "sf88", kPf}}),
            "0000:03:00.0/sf88");
  EXPECT_EQ(hardware_of({.interface = "br0"}), "");
  EXPECT_EQ(path_of_hardware(*tree.view(), "0000:03:00.0/sf88"),
            "sys/bus/pci/devices/0000:03:00.0/mlx5_core.sf.4");
  for (const char* gone : {"", "0000:03:00.0/sf8", "0000:03:00.0/sf", "0000:3b:00.0/sf88", "0000:03:00.7"})
    EXPECT_EQ(path_of_hardware(*tree.view(), gone), "") << gone;
}

// Red when a name that a function has got since is taken for the claim's.
TEST_F(HardwareTest, ReturnsTheCurrentInterface) {
  const auto interface = [&](const std::string& hardware, const std::string& remembered) {
    return interface_of_hardware(*tree.view(), hardware, remembered);
  };
  EXPECT_EQ(interface(kVf, "ens1f0v0"), "ens1f0v0");
  EXPECT_EQ(interface(kPf, ""), "ens1f0np0");
  EXPECT_EQ(interface(kPf, "a_sf88"), "ens1f0np0") << "that name has a representor now";
  EXPECT_EQ(interface("0000:03:00.0/sf88", "enp3s0f0s88"), "enp3s0f0s88");

  tree.rename_netdev("ens1f0v0", "net7");
  tree.pci("0000:03:00.3").id("15b3", "101e").netdev("ens1f0v0");
  EXPECT_EQ(interface(kVf, "ens1f0v0"), "net7");
  tree.remove_netdev("net7");
  EXPECT_EQ(interface(kVf, "ens1f0v0"), "") << "it is in a pod";
  EXPECT_EQ(interface("", "br0"), "");
}

// Red when the RDMA device of a scalable function is that of its PF, or the PF's that of a scalable function.
TEST_F(HardwareTest, DistinguishesRdmaOfAScalableFunctionFromItsPfs) {
  const auto view = tree.view();
  EXPECT_EQ(rdma_device_of_hardware(*view, "0000:03:00.0/sf88"), "mlx5_12");
  EXPECT_EQ(rdma_device_of_hardware(*view, kPf), "") << "RoCE is off on the PF";
  EXPECT_EQ(rdma_device_of_hardware(*view, kVf), "mlx5_3");
  EXPECT_EQ(hardware_of_rdma_device(*view, "mlx5_12"), "0000:03:00.0/sf88");
  EXPECT_EQ(hardware_of_rdma_device(*view, "mlx5_3"), kVf);
  EXPECT_EQ(hardware_of_rdma_device(*view, "mlx5_99"), "");
  EXPECT_EQ(hardware_of_interface(*view, "enp3s0f0s88"), "0000:03:00.0/sf88");
  EXPECT_EQ(hardware_of_interface(*view, "ens1f0v0"), kVf);

  // Created again under another auxiliary device, while another one has its names.
  tree.write(pf.path() + "/mlx5_core.sf.4/sfnum", "99");
  tree.write(pf.path() + "/mlx5_core.sf.7/sfnum", "88");
  rdma("mlx5_core.sf.7", "mlx5_20");
  pf.netdev("enp3s0f0s88b", "mlx5_core.sf.7/");
  EXPECT_EQ(rdma_device_of_hardware(*tree.view(), "0000:03:00.0/sf88"), "mlx5_20");
  EXPECT_EQ(hardware_of_rdma_device(*tree.view(), "mlx5_12"), "0000:03:00.0/sf99");
  EXPECT_EQ(interface_of_hardware(*tree.view(), "0000:03:00.0/sf88", "enp3s0f0s88"), "enp3s0f0s88b");
}

}  // namespace
}  // namespace hardware_test
}  // namespace sliced::kubelet
