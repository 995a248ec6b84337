#include "hotplug/netlink_decode.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace sliced::hotplug {
namespace {

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 3) & ~size_t{3});
  return bytes;
}

std::string attribute(uint16_t type, const std::string& payload) {
  nlattr header{};
  header.nla_type = type;
  header.nla_len = static_cast<uint16_t>(sizeof header + payload.size());
  return padded(bytes_of(header) + payload);
}

std::string message(uint16_t type, const std::string& payload) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + payload.size());
  return padded(bytes_of(header) + payload);
}

std::string link(uint16_t type, int ifindex, const std::string& attributes, uint8_t family = AF_UNSPEC) {
  ifinfomsg info{};
  info.ifi_family = family;
  info.ifi_index = ifindex;
  return message(type, bytes_of(info) + attributes);
}

std::string name(const std::string& text) { return attribute(IFLA_IFNAME, text + '\0'); }

std::string route(uint16_t type, uint8_t dst_len, uint8_t kind = RTN_UNICAST) {
  rtmsg info{};
  info.rtm_dst_len = dst_len;
  info.rtm_type = kind;
  return message(type, bytes_of(info));
}

TEST(DecodeLinkEvents, Messages) {
  const int zero = 0;
  const struct {
    const char* why;
    std::string datagram;
    std::vector<HostEvent> want;
  } rows[] = {
      {"nothing", "", {}},
      {"a link",
       link(RTM_NEWLINK, 7, attribute(IFLA_MTU, "\1\2\3\4") + name("eth0")),
       {LinkChange{7, "eth0"}}},
      {"two in a datagram",
       link(RTM_NEWLINK, 7, name("eth0")) + link(RTM_NEWLINK, 8, name("eth00")),
       {LinkChange{7, "eth0"}, LinkChange{8, "eth00"}}},
      {"its end", link(RTM_DELLINK, 7, name("eth0")), {LinkChange{7, "eth0", true}}},
      {"its move to a namespace with an id",
       link(RTM_DELLINK, 7, name("eth0") + attribute(IFLA_NEW_NETNSID, bytes_of(zero))),
       {LinkChange{7, "eth0", true, true}}},
      {"its move to a namespace without",
       link(RTM_DELLINK, 7, name("eth0") + attribute(IFLA_NEW_IFINDEX, bytes_of(zero))),
       {LinkChange{7, "eth0", true, true}}},
      {"a port that leaves its bridge is still a link",
       link(RTM_DELLINK, 7, name("eth0"), AF_BRIDGE),
       {LinkChange{7, "eth0"}}},
      {"a name without NUL", link(RTM_NEWLINK, 7, attribute(IFLA_IFNAME, "eth0")), {LinkChange{7, "eth0"}}},
      {"no name", link(RTM_NEWLINK, 7, ""), {}},
      {"a name that is a path", link(RTM_NEWLINK, 7, name("../eth0")), {}},
      {"a default route", route(RTM_NEWROUTE, 0), {RouteChange{}}},
      {"a default route's end", route(RTM_DELROUTE, 0), {RouteChange{}}},
      {"another route", route(RTM_NEWROUTE, 24), {}},
      {"no way out", route(RTM_NEWROUTE, 0, RTN_UNREACHABLE), {}},
      {"something else", message(RTM_NEWADDR, "xxxxxxxx"), {}},
  };
  for (const auto& row : rows) {
    const auto events = decode_link_events(row.datagram);
    ASSERT_TRUE(events) << row.why << ": " << events.error().what;
    EXPECT_EQ(*events, row.want) << row.why;
  }
}

TEST(DecodeLinkEvents, RefusesLengthsThatLeadOutside) {
  std::string long_message = link(RTM_NEWLINK, 7, name("eth0"));
  long_message[0] = static_cast<char>(long_message.size() + 1);
  std::string short_message = link(RTM_NEWLINK, 7, name("eth0"));
  short_message[0] = 15;
  std::string long_attribute = link(RTM_NEWLINK, 7, name("eth0"));
  long_attribute[sizeof(nlmsghdr) + sizeof(ifinfomsg)] = 60;
  std::string empty_attribute = link(RTM_NEWLINK, 7, name("eth0"));
  empty_attribute[sizeof(nlmsghdr) + sizeof(ifinfomsg)] = 0;
  for (const auto& bad :
       {long_message, short_message, long_attribute, empty_attribute, message(RTM_NEWLINK, "cut"),
        message(RTM_NEWROUTE, "cut"), message(NLMSG_OVERRUN, "")})
    EXPECT_EQ(decode_link_events(bad).error().code, Errc::kInvalid);
}

TEST(DecodeLinkEvents, NoCutMakesItTrip) {
  const std::string whole =
      link(RTM_NEWLINK, 7, name("eth0")) + link(RTM_DELLINK, 8, name("eth1")) + route(RTM_NEWROUTE, 0);
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::string heap(whole.data(), cut);  // its end is where a sanitizer looks
    (void)decode_link_events(heap).ok();
    (void)decode_vf_macs(heap).ok();
  }
  EXPECT_EQ(decode_link_events(whole)->size(), 3u);
}

std::string vf(uint32_t index, const std::string& mac) {
  ifla_vf_mac value{};
  value.vf = index;
  std::copy(mac.begin(), mac.end(), value.mac);
  return attribute(IFLA_VF_INFO | NLA_F_NESTED,
                   attribute(IFLA_VF_VLAN, "xxxxxxxxxxxx") + attribute(IFLA_VF_MAC, bytes_of(value)));
}

TEST(DecodeVfMacs, ByIndexWithoutZeros) {
  const std::string answer = link(
      RTM_NEWLINK, 7,
      name("ens1f0") + attribute(IFLA_VFINFO_LIST | NLA_F_NESTED,
                                 vf(0, "\x02\x11\x22\x33\x44\xff") + vf(1, "") + vf(63, "\x02\1\1\1\1\1")));
  EXPECT_EQ(*decode_vf_macs(answer),
            (std::map<int, std::string>{{0, "02:11:22:33:44:ff"}, {63, "02:01:01:01:01:01"}}));
  EXPECT_TRUE(decode_vf_macs(link(RTM_NEWLINK, 7, name("eth0")))->empty());
  EXPECT_EQ(decode_vf_macs(message(RTM_NEWLINK, "cut")).error().code, Errc::kInvalid);
}

TEST(DecodeVfMacs, TheKernelsRefusal) {
  nlmsgerr error{};
  error.error = -ENODEV;
  EXPECT_EQ(decode_vf_macs(message(NLMSG_ERROR, bytes_of(error))).error(),
            (Error{Errc::kNotFound, "netlink: RTM_GETLINK: ENODEV"}));
  error.error = -EPERM;
  EXPECT_EQ(decode_vf_macs(message(NLMSG_ERROR, bytes_of(error))).error().code, Errc::kDenied);
  error.error = INT_MIN;  // has no negation
  EXPECT_EQ(decode_vf_macs(message(NLMSG_ERROR, bytes_of(error))).error().code, Errc::kIo);
  EXPECT_EQ(decode_vf_macs(message(NLMSG_ERROR, "")).error().code, Errc::kIo);
}

std::string default_route(const std::string& attributes, uint8_t dst_len = 0, uint8_t table = RT_TABLE_MAIN,
                          uint8_t kind = RTN_UNICAST) {
  rtmsg info{};
  info.rtm_dst_len = dst_len;
  info.rtm_table = table;
  info.rtm_type = kind;
  return message(RTM_NEWROUTE, bytes_of(info) + attributes);
}

std::string out(int ifindex) { return attribute(RTA_OIF, bytes_of(ifindex)); }

std::string hop(int ifindex) {
  rtnexthop one{};
  one.rtnh_len = sizeof one + 8;
  one.rtnh_ifindex = ifindex;
  return bytes_of(one) + attribute(RTA_GATEWAY, "\x0a\0\0\1");
}

TEST(DecodeDefaultRouteLinks, Messages) {
  const struct {
    const char* why;
    std::string datagram;
    std::set<int> want;
  } rows[] = {
      {"nothing", "", {}},
      {"one way out", default_route(out(2)), {2}},
      {"several next hops", default_route(attribute(RTA_MULTIPATH, hop(2) + hop(3))), {2, 3}},
      {"two metrics", default_route(out(2)) + default_route(out(5)), {2, 5}},
      {"a subnet", default_route(out(2), 24), {}},
      {"another table", default_route(out(2), 0, 100), {}},
      {"another table, by attribute", default_route(out(2) + attribute(RTA_TABLE, bytes_of(2005u))), {}},
      {"unreachable", default_route(out(2), 0, RT_TABLE_MAIN, RTN_UNREACHABLE), {}},
      {"no link", default_route(attribute(RTA_PRIORITY, bytes_of(100))), {}},
  };
  for (const auto& row : rows) {
    std::set<int> links;
    const auto is_last = decode_default_route_links(row.datagram, links);
    ASSERT_TRUE(is_last) << row.why << ": " << is_last.error().what;
    EXPECT_FALSE(*is_last) << row.why;
    EXPECT_EQ(links, row.want) << row.why;
  }
  std::set<int> links;
  EXPECT_TRUE(*decode_default_route_links(default_route(out(2)) + message(NLMSG_DONE, "xxxx"), links));
}

TEST(DecodeDefaultRouteLinks, Refuses) {
  std::set<int> links;
  std::string long_hop = default_route(attribute(RTA_MULTIPATH, hop(2)));
  long_hop[sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(nlattr)] = 100;
  std::string no_hop = default_route(attribute(RTA_MULTIPATH, hop(2)));
  no_hop[sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(nlattr)] = 0;
  for (const auto& bad : {long_hop, no_hop, message(RTM_NEWROUTE, "cut")})
    EXPECT_EQ(decode_default_route_links(bad, links).error().code, Errc::kInvalid);
  nlmsgerr error{};
  error.error = -ENOENT;
  EXPECT_EQ(decode_default_route_links(message(NLMSG_ERROR, bytes_of(error)), links).error(),
            (Error{Errc::kNotFound, "netlink: RTM_GETROUTE: ENOENT"}));
}

}  // namespace
}  // namespace sliced::hotplug
