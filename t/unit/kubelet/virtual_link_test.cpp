#include "kubelet/virtual_link.h"

#include <endian.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include <cstring>
#include <map>

#include "kubelet/netlink.h"

namespace sliced::kubelet {
namespace made_link_test {
namespace {

using Attributes = std::map<int, std::string>;

Attributes attributes_in(std::string_view list) {
  Attributes out;
  EXPECT_TRUE(netlink::each_attribute(
      list, [&](int type, std::string_view value) { out[type] = std::string(value); }));
  return out;
}

template <class T>
T value_in(const std::string& bytes) {
  T out{};
  EXPECT_EQ(bytes.size(), sizeof out);
  std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
  return out;
}

struct Request {
  nlmsghdr header{};
  ifinfomsg info{};
  Attributes attributes;
  explicit Request(const std::string& bytes) {
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(&info, bytes.data() + sizeof header, sizeof info);
    EXPECT_EQ(header.nlmsg_len, bytes.size());
    attributes = attributes_in(std::string_view(bytes).substr(sizeof header + sizeof info));
  }
  Attributes link_info() const { return attributes_in(attributes.at(IFLA_LINKINFO)); }
};

TEST(MadeLinkTest, CreatesALinkInThePod) {
  const VirtualLink wanted{.kind = "macvlan",
                           .name = "net1",
                           .lower = 7,
                           .to_namespace = 9,
                           .mtu = 1400,
                           .mac = "02:00:00:00:00:0a",
                           .macvlan_mode = "vepa",
                           .host_end = ""};
  const Request request(encode_virtual_link(wanted));
  EXPECT_EQ(request.header.nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(request.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  EXPECT_EQ(request.attributes.at(IFLA_IFNAME), std::string("net1\0", 5));
  EXPECT_EQ(value_in<int>(request.attributes.at(IFLA_LINK)), 7);
  EXPECT_EQ(value_in<int>(request.attributes.at(IFLA_NET_NS_FD)), 9);
  EXPECT_EQ(value_in<int>(request.attributes.at(IFLA_MTU)), 1400);
  EXPECT_EQ(value_in<uint32_t>(request.attributes.at(IFLA_GROUP)), kVirtualLinkGroup);
  EXPECT_EQ(request.attributes.at(IFLA_ADDRESS), std::string("\2\0\0\0\0\x0a", 6));
  const Attributes info = request.link_info();
  EXPECT_EQ(info.at(IFLA_INFO_KIND), "macvlan");
  EXPECT_EQ(value_in<uint32_t>(attributes_in(info.at(IFLA_INFO_DATA)).at(IFLA_MACVLAN_MODE)),
            uint32_t{MACVLAN_MODE_VEPA});
}

TEST(MadeLinkTest, SetsVlanIdAndIpvlanMode) {
  VirtualLink wanted{.kind = "vlan", .name = "net1", .lower = 7, .to_namespace = 9, .vlan_id = 100};
  const Request vlan(encode_virtual_link(wanted));
  const Attributes settings = attributes_in(vlan.link_info().at(IFLA_INFO_DATA));
  EXPECT_EQ(value_in<uint16_t>(settings.at(IFLA_VLAN_ID)), 100);
  EXPECT_EQ(value_in<uint16_t>(settings.at(IFLA_VLAN_PROTOCOL)), htobe16(0x8100));
  EXPECT_FALSE(vlan.attributes.contains(IFLA_ADDRESS));
  wanted.is_8021ad = true;
  EXPECT_EQ(
      value_in<uint16_t>(attributes_in(Request(encode_virtual_link(wanted)).link_info().at(IFLA_INFO_DATA))
                             .at(IFLA_VLAN_PROTOCOL)),
      htobe16(0x88a8));
  wanted.kind = "ipvlan";
  const Attributes modes = attributes_in(Request(encode_virtual_link(wanted)).link_info().at(IFLA_INFO_DATA));
  EXPECT_EQ(value_in<uint16_t>(modes.at(IFLA_IPVLAN_MODE)), IPVLAN_MODE_L2);
  EXPECT_EQ(value_in<uint16_t>(modes.at(IFLA_IPVLAN_FLAGS)), 0);
}

TEST(MadeLinkTest, CreatesAVethBetweenHostAndPod) {
  const Request request(encode_virtual_link({.kind = "veth",
                                             .name = "net1",
                                             .to_namespace = 9,
                                             .mtu = 1400,
                                             .host_end = "slv0123456789ab",
                                             .host_mtu = 9000}));
  EXPECT_EQ(request.attributes.at(IFLA_IFNAME), std::string("slv0123456789ab\0", 16));
  EXPECT_EQ(value_in<int>(request.attributes.at(IFLA_MTU)), 9000);
  EXPECT_FALSE(request.attributes.contains(IFLA_NET_NS_FD));
  EXPECT_FALSE(request.attributes.contains(IFLA_LINK));
  const std::string peer = attributes_in(request.link_info().at(IFLA_INFO_DATA)).at(VETH_INFO_PEER);
  const Attributes pods = attributes_in(std::string_view(peer).substr(sizeof(ifinfomsg)));
  EXPECT_EQ(pods.at(IFLA_IFNAME), std::string("net1\0", 5));
  EXPECT_EQ(value_in<int>(pods.at(IFLA_NET_NS_FD)), 9);
  EXPECT_EQ(value_in<int>(pods.at(IFLA_MTU)), 1400);
}

TEST(MadeLinkTest, AVlanOfAPortIsUntagged) {
  for (const bool is_added : {true, false}) {
    const Request request(encode_port_vlan(7, 100, is_added));
    EXPECT_EQ(request.header.nlmsg_type, is_added ? RTM_SETLINK : RTM_DELLINK);
    EXPECT_EQ(request.info.ifi_family, AF_BRIDGE);
    EXPECT_EQ(request.info.ifi_index, 7);
    const auto vlan =
        value_in<PortVlan>(attributes_in(request.attributes.at(IFLA_AF_SPEC)).at(kPortVlanAttribute));
    EXPECT_EQ(vlan.vid, 100);
    EXPECT_EQ(vlan.flags, is_added ? kPortVlanPvid | kPortVlanUntagged : 0);
  }
}

}  // namespace
}  // namespace made_link_test
}  // namespace sliced::kubelet
