#include "kubelet/interfaces/wanted.h"

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

TEST(WantedInterfaces, AnAddressThatThePodAsksForGoesToThePluginsThatTakeOne) {
  EXPECT_EQ(interfaces_of(prepared("02:00:00:00:00:0a"), "pod")[0].capabilities,
            kube::Json(kube::Json::Object{{"mac", "02:00:00:00:00:0a"}}));
  EXPECT_TRUE(interfaces_of(prepared(""), "pod")[0].capabilities.is_null());
}

TEST(WantedInterfaces, WhatIsToldOfOneIsItsOwnAndNotTheHostsEnd) {
  const WantedInterface wanted = interfaces_of(prepared(""), "pod")[0];
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
