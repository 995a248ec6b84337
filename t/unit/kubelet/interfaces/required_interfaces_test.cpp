#include "kubelet/interfaces/required_interfaces.h"

#include <gtest/gtest.h>

namespace sliced::kubelet {
namespace wanted_test {
namespace {

PreparedClaims prepared(const std::string& mac) {
  PreparedClaim claim{.driver = "d", .namespace_ = "ns", .name = "c", .uid = "u", .pods = {{"p", "pod"}}};
  claim.is_complete = true;
  PreparedDevice device{.request = "vf", .device = "a", .pci = "0000:03:00.2"};
  device.network = "{}";
  device.config.if_name = "net1";
  device.mac = mac;
  claim.devices = {device};
  return {{key_of(claim), claim}};
}

TEST(WantedInterfaces, PassesARequestedAddressToPluginsThatAcceptOne) {
  EXPECT_EQ(interfaces_of(prepared("02:00:00:00:00:0a"), "pod")[0].capabilities,
            kube::Json(kube::Json::Object{{"mac", "02:00:00:00:00:0a"}}));
  EXPECT_TRUE(interfaces_of(prepared(""), "pod")[0].capabilities.is_null());
}

// Red when a pod's InfiniBand VF gets no GUID, one that two pods share, or one that is not a unicast EUI-64 of local administration.
TEST(WantedInterfaces, AnInfinibandFunctionHasAGuidPerClaim) {
  PreparedClaims claims = prepared("");
  PreparedDevice& device = claims.begin()->second.devices[0];
  const auto guid = [&] {
    return std::string(interfaces_of(claims, "pod")[0].capabilities.text("infinibandGUID"));
  };
  device.holding.is_exclusive = true;
  device.held.emplace().netdev = hotplug::Netdev{.name = "ib1", .link_type = 1};
  EXPECT_EQ(guid(), "") << "Ethernet";
  device.held->netdev->link_type = 32;
  const std::string first = guid();
  ASSERT_EQ(first.size(), 23u);
  EXPECT_EQ(std::stoi(first.substr(0, 2), nullptr, 16) & 3, 2);
  EXPECT_EQ(guid(), first) << "the same at each attempt";
  device.held->netdev.reset();
  EXPECT_EQ(guid(), "") << "nothing says that it is InfiniBand";
  device.held->enforced.emplace().node_guid = "00:11:22:33:44:55:66:77";
  EXPECT_EQ(guid(), first) << "on a VFIO driver: by its PF's answer";
  device.pci = "0000:03:00.3";
  EXPECT_NE(guid(), first) << "another device of the claim";
  device.pci = "0000:03:00.2";
  claims.begin()->second.uid = "u2";
  EXPECT_NE(guid(), first) << "another claim";
  device.share_id = "s1";
  EXPECT_EQ(guid(), "") << "others have the device, too";
}

TEST(WantedInterfaces, ReportsThePodsEndOfAnInterface) {
  const RequiredInterface wanted = interfaces_of(prepared(""), "pod")[0];
  cni::Attached result;
  result.interfaces = {{.name = "net1", .mac = "02:00:00:00:00:01"},  // a bridge of the host's, by chance
                       {.name = "net1", .mac = "02:00:00:00:00:02", .sandbox = "/ns"},
                       {.name = "net2", .mac = "02:00:00:00:00:03", .sandbox = "/ns"}};
  result.ips = {{.interface = 1, .address = "10.0.0.5/24"},
                {.interface = 2, .address = "10.0.1.5/24"},
                {.interface = 1, .address = "10.0.0.5/24"},
                {.interface = std::nullopt, .address = "fd00::5/64"}};
  EXPECT_EQ(pod_network_of(wanted.interface, result),
            (NetworkData{"net1", {"10.0.0.5/24", "fd00::5/64"}, "02:00:00:00:00:02"}));
  EXPECT_EQ(pod_network_of(wanted.interface, {}), (NetworkData{.interface = "net1"}));
}

}  // namespace
}  // namespace wanted_test
}  // namespace sliced::kubelet
