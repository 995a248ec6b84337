#include "hotplug/netlink_decode.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/devlink.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "reactor/base/text.h"

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
      {"a connected route", route(RTM_NEWROUTE, 24), {}},
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

TEST(DecodeLinkEvents, CountsOnlyWholeMessagesOfATruncatedDatagram) {
  const std::vector<std::string> messages = {link(RTM_NEWLINK, 7, name("eth0")),
                                             link(RTM_DELLINK, 8, name("eth1")), route(RTM_NEWROUTE, 0)};
  std::string whole;
  std::map<size_t, size_t> ends = {{0, 0}};  // by length, how many messages are whole
  for (const std::string& one : messages) {
    whole += one;
    ends[whole.size()] = ends.size();
  }
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::string heap(whole.data(), cut);  // its end is where a sanitizer looks
    const auto events = decode_link_events(heap);
    const auto& [boundary, count] = *std::prev(ends.upper_bound(cut));
    // What is left of a message that is shorter than a header is padding; any other rest spoils the datagram.
    ASSERT_EQ(events.ok(), cut - boundary < sizeof(nlmsghdr)) << cut;
    if (events) {
      EXPECT_EQ(events->size(), count) << cut;
    }
  }
}

std::string vf(uint32_t index, const std::string& mac, const std::string& more = "") {
  ifla_vf_mac value{};
  value.vf = index;
  std::copy(mac.begin(), mac.end(), value.mac);
  return attribute(IFLA_VF_INFO | NLA_F_NESTED, attribute(IFLA_VF_MAC, bytes_of(value)) + more);
}

std::string vfs_of_pf(const std::string& all) {
  return link(RTM_NEWLINK, 7, name("ens1f0") + attribute(IFLA_VFINFO_LIST | NLA_F_NESTED, all));
}

TEST(DecodeVfConfigs, ReturnsMacsByIndex) {
  const auto configs = decode_vf_configs(
      vfs_of_pf(vf(0, "\x02\x11\x22\x33\x44\xff") + vf(1, "") + vf(63, "\x02\1\1\1\1\1") + vf(70'000, "\2")));
  EXPECT_EQ(*configs, (std::map<int, VfConfig>{{0, {.mac = "02:11:22:33:44:ff"}},
                                               {1, {.mac = "00:00:00:00:00:00"}},
                                               {63, {.mac = "02:01:01:01:01:01"}}}));
  EXPECT_TRUE(decode_vf_configs(link(RTM_NEWLINK, 7, name("eth0")))->empty());
  EXPECT_EQ(decode_vf_configs(message(RTM_NEWLINK, "cut")).error().code, Errc::kInvalid);
}

TEST(DecodeVfConfigs, ReadsAllSettingsThatAPfEnforces) {
  ifla_vf_vlan_info vlan{.vf = 3, .vlan = 100, .qos = 5, .vlan_proto = htons(0x88a8)};
  const std::string more =
      attribute(IFLA_VF_VLAN, bytes_of(ifla_vf_vlan{.vf = 3, .vlan = 100, .qos = 5})) +
      attribute(IFLA_VF_VLAN_LIST | NLA_F_NESTED, attribute(IFLA_VF_VLAN_INFO, bytes_of(vlan))) +
      attribute(IFLA_VF_RATE,
                bytes_of(ifla_vf_rate{.vf = 3, .min_tx_rate = 10, .max_tx_rate = 4'000'000'000})) +
      attribute(IFLA_VF_SPOOFCHK, bytes_of(ifla_vf_spoofchk{.vf = 3, .setting = 1})) +
      attribute(IFLA_VF_TRUST, bytes_of(ifla_vf_trust{.vf = 3, .setting = 0})) +
      attribute(IFLA_VF_RSS_QUERY_EN, bytes_of(ifla_vf_rss_query_en{.vf = 3, .setting = 1})) +
      attribute(IFLA_VF_LINK_STATE,
                bytes_of(ifla_vf_link_state{.vf = 3, .link_state = IFLA_VF_LINK_STATE_DISABLE})) +
      attribute(IFLA_VF_IB_NODE_GUID, bytes_of(ifla_vf_guid{.vf = 3, .guid = 0x0c42a10000000001})) +
      attribute(IFLA_VF_IB_PORT_GUID, bytes_of(ifla_vf_guid{.vf = 3, .guid = 0}));
  const auto configs = decode_vf_configs(vfs_of_pf(vf(3, "\2\1\1\1\1\1", more)));
  EXPECT_EQ(configs->at(3), (VfConfig{.mac = "02:01:01:01:01:01",
                                      .vlan = 100,
                                      .vlan_qos = 5,
                                      .vlan_protocol = "802.1ad",
                                      .trust = false,
                                      .spoof_check = true,
                                      .rss_query = true,
                                      .min_rate_mbps = 10,
                                      .max_rate_mbps = 4'000'000'000,
                                      .link_state = "disable",
                                      .node_guid = "0c:42:a1:00:00:00:00:01",
                                      .port_guid = "00:00:00:00:00:00:00:00"}));
}

TEST(DecodeVfConfigs, OmitsSettingsThatADriverDoesNotReport) {
  const std::string more = attribute(IFLA_VF_TRUST, bytes_of(ifla_vf_trust{.vf = 3, .setting = UINT32_MAX})) +
                           attribute(IFLA_VF_SPOOFCHK, "cut");
  const auto configs = decode_vf_configs(vfs_of_pf(vf(3, "", more)));
  EXPECT_EQ(configs->at(3), VfConfig{.mac = "00:00:00:00:00:00"});
}

// As kernel 6.18 writes a VF: 196 bytes.
std::string vf_of_196_bytes(uint32_t index) {
  std::string mac("\2\xaa\0\0", 4);
  mac += {static_cast<char>(index >> 8), static_cast<char>(index)};
  const std::string more =
      attribute(IFLA_VF_BROADCAST, std::string(32, '\xff')) +
      attribute(IFLA_VF_VLAN, bytes_of(ifla_vf_vlan{.vf = index})) +
      attribute(IFLA_VF_RATE, bytes_of(ifla_vf_rate{.vf = index})) +
      attribute(IFLA_VF_TX_RATE, bytes_of(ifla_vf_tx_rate{.vf = index})) +
      attribute(IFLA_VF_SPOOFCHK, bytes_of(ifla_vf_spoofchk{.vf = index, .setting = 1})) +
      attribute(IFLA_VF_LINK_STATE, bytes_of(ifla_vf_link_state{.vf = index})) +
      attribute(IFLA_VF_TRUST, bytes_of(ifla_vf_trust{.vf = index}));
  std::string out = vf(index, mac, more);
  const size_t left = 196 - out.size();
  return vf(index, mac, more + attribute(IFLA_VF_STATS | NLA_F_NESTED, std::string(left - 4, '\0')));
}

// net/core/rtnetlink.c writes the list's length into 16 bits. Other attributes come before and behind it.
std::string vfs_with_wrapped_length(uint32_t count, size_t cut = 0) {
  std::string vfs;
  for (uint32_t i = 0; i < count; ++i) vfs += vf_of_196_bytes(i);
  nlattr list{};
  list.nla_len = static_cast<uint16_t>(sizeof list + vfs.size());
  list.nla_type = IFLA_VFINFO_LIST;
  vfs.resize(vfs.size() - cut);
  return link(RTM_NEWLINK, 7,
              name("ens1f0") + attribute(IFLA_NUM_VF, bytes_of(count)) + bytes_of(list) + vfs +
                  (cut > 0 ? ""
                           : attribute(IFLA_LINKINFO | NLA_F_NESTED, attribute(1, std::string(8, 'x'))) +
                                 attribute(IFLA_GROUP, bytes_of(0))));
}

// The kernel reports 0 of 335 VFs, 65 of 400 and 177 of 512 to programs that believe the length.
TEST(DecodeVfConfigs, RefusesAListWhoseLengthHasWrapped) {
  ASSERT_EQ(vf_of_196_bytes(7).size(), 196u);
  for (const int count : {1, 334, 335, 400, 512, 669, 1'000, 4'096}) {
    const auto configs = decode_vf_configs(vfs_with_wrapped_length(static_cast<uint32_t>(count)));
    ASSERT_TRUE(configs) << count << ": " << configs.error().what;
    ASSERT_EQ(configs->size(), static_cast<size_t>(count));
    EXPECT_EQ(configs->rbegin()->first, count - 1);
    EXPECT_EQ(configs->at(count - 1).mac, "02:aa:00:00:" + hex(static_cast<unsigned>(count - 1) >> 8, 2) +
                                              ":" + hex(static_cast<unsigned>(count - 1) & 0xff, 2));
    EXPECT_EQ(configs->at(count - 1).spoof_check, true);
  }
}

TEST(DecodeVfConfigs, RefusesATruncatedList) {
  const auto cut = decode_vf_configs(vfs_with_wrapped_length(400, 196));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().what, "netlink: RTM_GETLINK: the list of VFs is cut, IFLA_NUM_VF is 400");
}

TEST(DecodeVfConfigs, FiltersADumpByLink) {
  const auto message_of = [](int ifindex, uint32_t count) {
    std::string vfs;
    for (uint32_t i = 0; i < count; ++i) vfs += vf_of_196_bytes(i);
    return link(RTM_NEWLINK, ifindex, name("ens1f0") + attribute(IFLA_VFINFO_LIST | NLA_F_NESTED, vfs));
  };
  std::map<int, VfConfig> configs;
  EXPECT_EQ(*decode_vf_dump(message_of(6, 3) + message_of(7, 2), 7, configs), false);
  EXPECT_EQ(configs.size(), 2u);
  EXPECT_EQ(*decode_vf_dump(message(NLMSG_DONE, bytes_of(0)), 7, configs), true);
  EXPECT_EQ(decode_vf_dump(message(NLMSG_DONE, bytes_of(-EMSGSIZE)), 7, configs).error().code,
            Errc::kTooLarge);
}

TEST(DecodeLinkProperties, ReturnsThoseOfTheAnswer) {
  const auto names = attribute(IFLA_PROP_LIST | NLA_F_NESTED,
                               attribute(IFLA_ALT_IFNAME, std::string("ens7f0") + '\0') +
                                   attribute(IFLA_ALT_IFNAME, std::string("enp3s0f0") + '\0'));
  EXPECT_EQ(*decode_link_properties(link(RTM_NEWLINK, 7, name("ens7f0np0") + names)),
            (LinkProperties{{"ens7f0", "enp3s0f0"}, std::nullopt}));
  EXPECT_EQ(*decode_link_properties(link(RTM_NEWLINK, 7, name("ens7f0np0"))), LinkProperties());
  for (const char value : {0, 1})
    EXPECT_EQ(decode_link_properties(
                  link(RTM_NEWLINK, 7, name("ens7f0np0") + attribute(kNetnsImmutable, std::string(1, value))))
                  ->is_netns_immutable,
              value == 1);
  nlmsgerr error{};
  error.error = -ENODEV;
  EXPECT_EQ(decode_link_properties(message(NLMSG_ERROR, bytes_of(error))).error().code, Errc::kNotFound);
}

// Attributes as include/uapi/linux/devlink.h and devlink_nl_port_fill() of net/devlink/port.c have them; no recording of a NIC's.
TEST(DecodeDevlinkPort, ReturnsTheNameOfItsFlavour) {
  constexpr uint16_t kFamily = 21;
  const auto number = [](uint16_t type, uint32_t value) { return attribute(type, bytes_of(value)); };
  const auto small = [](uint16_t type, uint16_t value) { return attribute(type, bytes_of(value)); };
  const auto answer = [&](uint16_t flavour, const std::string& attributes) {
    const genlmsghdr header{.cmd = DEVLINK_CMD_PORT_NEW, .version = DEVLINK_GENL_VERSION};
    const std::string handle = attribute(DEVLINK_ATTR_BUS_NAME, std::string("pci") + '\0') +
                               attribute(DEVLINK_ATTR_DEV_NAME, std::string("0000:03:00.0") + '\0') +
                               number(DEVLINK_ATTR_PORT_INDEX, 65'535);
    return message(kFamily,
                   bytes_of(header) + handle + small(DEVLINK_ATTR_PORT_FLAVOUR, flavour) + attributes);
  };
  const std::string pf0 = small(DEVLINK_ATTR_PORT_PCI_PF_NUMBER, 0);
  const std::string vf3 = pf0 + small(DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3);
  const std::string sf88 = pf0 + number(DEVLINK_ATTR_PORT_PCI_SF_NUMBER, 88);
  const std::string of_ours = number(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER, 0) +
                              attribute(DEVLINK_ATTR_PORT_EXTERNAL, std::string(1, '\0'));
  const std::string of_another = number(DEVLINK_ATTR_PORT_CONTROLLER_NUMBER, 1) +
                                 attribute(DEVLINK_ATTR_PORT_EXTERNAL, std::string(1, '\1'));
  const struct {
    uint16_t flavour;
    std::string attributes;
    const char* name;
  } rows[] = {
      {DEVLINK_PORT_FLAVOUR_PHYSICAL, number(DEVLINK_ATTR_PORT_NUMBER, 1), "p1"},
      {DEVLINK_PORT_FLAVOUR_PHYSICAL,
       number(DEVLINK_ATTR_PORT_NUMBER, 1) + number(DEVLINK_ATTR_PORT_SPLIT_SUBPORT_NUMBER, 2), "p1s2"},
      {DEVLINK_PORT_FLAVOUR_PCI_PF, pf0 + of_ours, "pf0"},
      {DEVLINK_PORT_FLAVOUR_PCI_VF, vf3, "pf0vf3"},
      {DEVLINK_PORT_FLAVOUR_PCI_VF, vf3 + of_ours, "pf0vf3"},
      {DEVLINK_PORT_FLAVOUR_PCI_VF, vf3 + of_another, "c1pf0vf3"},
      {DEVLINK_PORT_FLAVOUR_PCI_SF, sf88 + of_ours, "pf0sf88"},
      {DEVLINK_PORT_FLAVOUR_PCI_SF, sf88 + of_another, "c1pf0sf88"},
      {DEVLINK_PORT_FLAVOUR_PCI_VF, pf0, ""},
      {DEVLINK_PORT_FLAVOUR_VIRTUAL, "", ""},
      {DEVLINK_PORT_FLAVOUR_CPU, number(DEVLINK_ATTR_PORT_NUMBER, 1), ""},
  };
  for (const auto& row : rows)
    EXPECT_EQ(*decode_devlink_port_name(answer(row.flavour, row.attributes), kFamily), row.name) << row.name;
  nlmsgerr error{};
  error.error = -ENODEV;
  EXPECT_EQ(decode_devlink_port_name(message(NLMSG_ERROR, bytes_of(error)), kFamily).error().code,
            Errc::kNotFound);
  std::string cut = answer(DEVLINK_PORT_FLAVOUR_PCI_VF, vf3);
  cut.resize(cut.size() - 4);
  EXPECT_FALSE(decode_devlink_port_name(cut, kFamily));
}

TEST(DecodeDevlinkPort, RequestsTheHandleOfTheLink) {
  const DevlinkPort port{"pci", "0000:03:00.0", 65'535};
  const uint32_t index = port.index;
  const std::string handle = attribute(DEVLINK_ATTR_BUS_NAME, std::string("pci") + '\0') +
                             attribute(DEVLINK_ATTR_DEV_NAME, std::string("0000:03:00.0") + '\0') +
                             attribute(DEVLINK_ATTR_PORT_INDEX, bytes_of(index));
  EXPECT_EQ(*decode_port_of_link(
                link(RTM_NEWLINK, 7, name("eth7") + attribute(kLinkDevlinkPort | NLA_F_NESTED, handle))),
            port);
  EXPECT_EQ(*decode_port_of_link(link(RTM_NEWLINK, 7, name("eth7"))), std::nullopt);
  EXPECT_EQ(*decode_port_of_link(link(RTM_NEWLINK, 7, attribute(kLinkDevlinkPort, "xx"))), std::nullopt);

  const genlmsghdr request{.cmd = DEVLINK_CMD_PORT_GET, .version = DEVLINK_GENL_VERSION};
  EXPECT_EQ(encode_devlink_port_request(21, port, 1).substr(sizeof(nlmsghdr)), bytes_of(request) + handle);
  const genlmsghdr found{.cmd = CTRL_CMD_NEWFAMILY, .version = 2};
  const uint16_t family = 21;
  EXPECT_EQ(*decode_family(
                message(GENL_ID_CTRL, bytes_of(found) + attribute(CTRL_ATTR_FAMILY_ID, bytes_of(family)))),
            family);
  EXPECT_FALSE(decode_family(message(GENL_ID_CTRL, bytes_of(found))));
}

TEST(DecodeVfConfigs, ReturnsTheKernelsRefusal) {
  nlmsgerr error{};
  error.error = -ENODEV;
  EXPECT_EQ(decode_vf_configs(message(NLMSG_ERROR, bytes_of(error))).error(),
            (Error{Errc::kNotFound, "netlink: RTM_GETLINK: ENODEV"}));
  error.error = -EPERM;
  EXPECT_EQ(decode_vf_configs(message(NLMSG_ERROR, bytes_of(error))).error().code, Errc::kDenied);
  error.error = -EMSGSIZE;
  EXPECT_EQ(decode_vf_configs(message(NLMSG_ERROR, bytes_of(error))).error(),
            (Error{Errc::kTooLarge, "netlink: RTM_GETLINK: EMSGSIZE"}));
  error.error = INT_MIN;  // has no negation
  EXPECT_EQ(decode_vf_configs(message(NLMSG_ERROR, bytes_of(error))).error().code, Errc::kIo);
  EXPECT_EQ(decode_vf_configs(message(NLMSG_ERROR, "")).error().code, Errc::kIo);
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

const std::set<uint32_t> kMain{RT_TABLE_MAIN};

Nexthops some_nexthops() {
  Nexthops nexthops;
  nexthops.links = {{1, 2}, {7, 3}};
  nexthops.groups = {{9, {1, 7, 8}}};
  return nexthops;
}
std::string by_nexthop(uint32_t id) { return attribute(RTA_NH_ID, bytes_of(id)); }

TEST(DecodeDefaultRoutes, DecodesNetlink) {
  const struct {
    const char* why;
    std::string datagram;
    std::set<int> want;
  } rows[] = {
      {"nothing", "", {}},
      {"one way out", default_route(out(2)), {2}},
      {"several next hops", default_route(attribute(RTA_MULTIPATH, hop(2) + hop(3))), {2, 3}},
      {"of equal ones the first", default_route(out(2)) + default_route(out(5)), {2}},
      {"a subnet", default_route(out(2), 24), {}},
      {"another table", default_route(out(2), 0, 100), {}},
      {"another table, by attribute", default_route(out(2) + attribute(RTA_TABLE, bytes_of(2005u))), {}},
      {"unreachable", default_route(out(2), 0, RT_TABLE_MAIN, RTN_UNREACHABLE), {}},
      {"no link", default_route(attribute(RTA_PRIORITY, bytes_of(100))), {}},
      {"a nexthop object", default_route(by_nexthop(7)), {3}},
      {"a group of them", default_route(by_nexthop(9)), {2, 3}},
      {"one that is not known", default_route(by_nexthop(10)), {}},
      {"one in another table", default_route(by_nexthop(7), 0, 100), {}},
  };
  for (const auto& row : rows) {
    std::vector<DefaultRoute> routes;
    const auto is_last = decode_default_routes(row.datagram, kMain, some_nexthops(), routes);
    ASSERT_TRUE(is_last) << row.why << ": " << is_last.error().what;
    EXPECT_FALSE(*is_last) << row.why;
    EXPECT_EQ(links_of_best(routes), row.want) << row.why;
  }
  std::vector<DefaultRoute> routes;
  EXPECT_TRUE(
      *decode_default_routes(default_route(out(2)) + message(NLMSG_DONE, bytes_of(0)), kMain, {}, routes));
  EXPECT_EQ(links_of_best(routes), std::set<int>{2});
  EXPECT_TRUE(*decode_default_routes(message(NLMSG_DONE, ""), kMain, {}, routes));
  routes.clear();
  EXPECT_FALSE(*decode_default_routes(default_route(out(2), 0, 100) + default_route(out(5), 0, 200), {100, 7},
                                      {}, routes));
  EXPECT_EQ(links_of_best(routes), std::set<int>{2}) << "of the tables that were asked for";
}

// What DHCP and router advertisements write on nodes with several NICs. Red when a NIC that only has a worse route is withdrawn, or one
// that traffic of the host takes is given away.
TEST(DecodeDefaultRoutes, OnlyTheBestOfEachFamilyAndTableCounts) {
  struct With {
    uint32_t metric = 0;
    bool is_v6 = false;
    unsigned flags = 0;
    uint8_t tos = 0, preference = 0;
    uint32_t table = RT_TABLE_MAIN;
    std::string more = {};
  };
  const auto route = [](const std::string& links, const With& with) {
    rtmsg info{};
    info.rtm_family = with.is_v6 ? AF_INET6 : AF_INET;
    info.rtm_type = RTN_UNICAST;
    info.rtm_tos = with.tos;
    info.rtm_flags = with.flags;
    info.rtm_table = RT_TABLE_UNSPEC;
    if (with.more.find("src") != std::string::npos) info.rtm_src_len = 32;
    return message(RTM_NEWROUTE,
                   bytes_of(info) + attribute(RTA_TABLE, bytes_of(with.table)) +
                       (with.metric == 0 ? "" : attribute(RTA_PRIORITY, bytes_of(with.metric))) +
                       (with.is_v6 ? attribute(RTA_PREF, bytes_of(with.preference)) : "") + links +
                       (with.more.empty() ? "" : attribute(RTA_SRC, with.more)));
  };
  const auto flagged = [](int link, uint8_t flags) {
    rtnexthop one{};
    one.rtnh_len = sizeof one;
    one.rtnh_ifindex = link;
    one.rtnh_flags = flags;
    return bytes_of(one);
  };
  const struct {
    const char* why;
    std::string datagram;
    std::set<int> want;
  } rows[] = {
      {"the node's, and by DHCP", route(out(2), {.metric = 100}) + route(out(3), {.metric = 101}), {2}},
      {"in the other order", route(out(3), {.metric = 101}) + route(out(2), {.metric = 100}), {2}},
      {"no metric is the best", route(out(3), {.metric = 1}) + route(out(2), {}), {2}},
      {"IPv6 of its own",
       route(out(2), {.metric = 100}) + route(out(3), {.metric = 1024, .is_v6 = true}),
       {2, 3}},
      {"an advertisement on each NIC",
       route(out(2), {.metric = 1024, .is_v6 = true}) + route(out(3), {.metric = 1024, .is_v6 = true}) +
           route(out(4), {.metric = 1024, .is_v6 = true}),
       {2}},
      {"a router that is preferred",
       route(out(3), {.metric = 1024, .is_v6 = true, .preference = 3}) +
           route(out(4), {.metric = 1024, .is_v6 = true}) +
           route(out(2), {.metric = 1024, .is_v6 = true, .preference = 1}),
       {2}},
      {"the metric comes before the preference",
       route(out(3), {.metric = 1024, .is_v6 = true, .preference = 1}) +
           route(out(2), {.metric = 512, .is_v6 = true, .preference = 3}),
       {2}},
      {"several next hops",
       route(attribute(RTA_MULTIPATH, hop(2) + hop(3)), {.metric = 100}) + route(out(4), {.metric = 200}),
       {2, 3}},
      {"each table", route(out(2), {.metric = 100}) + route(out(3), {.metric = 200, .table = 1000}), {2, 3}},
      {"each TOS", route(out(2), {.metric = 100}) + route(out(3), {.metric = 200, .tos = 8}), {2, 3}},
      {"each source",
       route(out(2), {.metric = 100, .is_v6 = true}) +
           route(out(3), {.metric = 200, .is_v6 = true, .more = "src of 16 bytes."}),
       {2, 3}},
      // The first is used again once its link is up: it is not given away meanwhile.
      {"the best is down",
       route(out(2), {.metric = 100, .flags = RTNH_F_DEAD | RTNH_F_LINKDOWN}) +
           route(out(3), {.metric = 200}) + route(out(4), {.metric = 300}),
       {2, 3}},
      {"a worse one is down",
       route(out(2), {.metric = 100}) + route(out(3), {.metric = 200, .flags = RTNH_F_LINKDOWN}),
       {2}},
      {"one hop is down",
       route(attribute(RTA_MULTIPATH, flagged(2, RTNH_F_DEAD) + flagged(3, 0)), {.metric = 100}) +
           route(out(4), {.metric = 200}),
       {2, 3}},
      {"all hops are down",
       route(attribute(RTA_MULTIPATH, flagged(2, RTNH_F_DEAD) + flagged(3, RTNH_F_LINKDOWN)),
             {.metric = 100}) +
           route(out(4), {.metric = 200}),
       {2, 3, 4}},
      {"all are down",
       route(out(2), {.metric = 100, .flags = RTNH_F_LINKDOWN}) +
           route(out(3), {.metric = 200, .flags = RTNH_F_LINKDOWN}),
       {2}},
  };
  for (const auto& row : rows) {
    std::vector<DefaultRoute> routes;
    ASSERT_TRUE(decode_default_routes(row.datagram, {RT_TABLE_MAIN, 1000}, {}, routes)) << row.why;
    EXPECT_EQ(links_of_best(routes), row.want) << row.why;
  }
}

TEST(DecodeDefaultRoutes, LearnedRoutesAreThoseOfDhcpAndRouterAdvertisements) {
  const auto route = [](int link, uint8_t protocol) {
    return DefaultRoute{.protocol = protocol, .links = {link}};
  };
  EXPECT_EQ(learned_links({route(2, RTPROT_DHCP), route(3, RTPROT_RA), route(4, RTPROT_BOOT),
                           route(5, RTPROT_STATIC), route(6, RTPROT_DHCP), route(6, RTPROT_STATIC)}),
            (std::set<int>{2, 3}));
}

TEST(DecodeDefaultRoutes, ReturnsTheRouteOfOneAddress) {
  rtmsg info{};
  info.rtm_type = RTN_UNICAST;
  info.rtm_dst_len = 128;
  EXPECT_EQ(*decode_route_of_address(message(RTM_NEWROUTE, bytes_of(info) + out(7))), std::set<int>{7});
  info.rtm_type = RTN_UNREACHABLE;
  EXPECT_TRUE(decode_route_of_address(message(RTM_NEWROUTE, bytes_of(info) + out(7)))->empty());
  nlmsgerr error{};
  error.error = -ENETUNREACH;
  EXPECT_FALSE(decode_route_of_address(message(NLMSG_ERROR, bytes_of(error))));
}

std::string network(const std::string& destination, uint8_t length, const std::string& attributes,
                    uint8_t protocol = RTPROT_STATIC, uint8_t table = RT_TABLE_MAIN,
                    uint8_t kind = RTN_UNICAST) {
  rtmsg info{};
  info.rtm_family = destination.size() == 16 ? AF_INET6 : AF_INET;
  info.rtm_dst_len = length;
  info.rtm_table = table;
  info.rtm_type = kind;
  info.rtm_protocol = protocol;
  return message(RTM_NEWROUTE, bytes_of(info) + attribute(RTA_DST, destination) + attributes);
}

// Red when OVN's management port counts as free, or an address alone as use.
TEST(DecodeSubnetRoutes, OnlyRoutesBeyondTheLinksOwnSubnetsCount) {
  const std::string own("\x0a\xf4\1\0", 4), all("\x0a\xf4\0\0", 4), half("\x0a\xf4\1\x80", 4);
  const std::string metadata("\xa9\xfe\xa9\xfe", 4), groups("\xe0\0\0\0", 4);
  const std::string router("\xfd\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 16);
  const std::string gateway = attribute(RTA_GATEWAY, std::string("\x0a\xf4\1\1", 4));
  const std::string address = attribute(RTA_PREFSRC, std::string("\x0a\xf4\1\2", 4));
  const std::string connected = network(own, 24, out(2), RTPROT_KERNEL);
  const struct {
    const char* why;
    std::string datagram;
    std::set<int> want;
  } rows[] = {
      {"its own subnet", connected, {}},
      {"the cluster, through a gateway", connected + network(all, 16, out(2) + gateway), {2}},
      {"the cluster, on the link", connected + network(all, 16, out(2)), {2}},
      {"a part of its subnet, through a gateway", connected + network(half, 25, out(2) + gateway), {}},
      {"a host of its subnet, by DHCP", connected + network(half, 32, out(2), RTPROT_DHCP), {}},
      {"a part of another link's subnet", connected + network(half, 25, out(3) + gateway), {3}},
      {"its subnet, by hand", network(own, 24, out(2) + address), {}},
      {"a prefix that a router advertises", network(router, 64, out(2), RTPROT_RA), {}},
      {"a route that a router advertises", network(router, 48, out(2) + gateway, RTPROT_RA), {2}},
      {"a cloud's metadata server", connected + network(metadata, 32, out(2) + gateway), {}},
      {"multicast", network(groups, 4, out(2)), {}},
      {"an ICMP redirect", network(all, 32, out(2) + gateway, RTPROT_REDIRECT), {}},
      {"several next hops", network(all, 16, attribute(RTA_MULTIPATH, hop(2) + hop(3))), {2, 3}},
      {"a group of nexthop objects", network(all, 16, by_nexthop(9)), {2, 3}},
      {"another table", network(all, 16, out(2) + gateway, RTPROT_STATIC, 100), {}},
      {"unreachable", network(all, 16, out(2), RTPROT_STATIC, RT_TABLE_MAIN, RTN_UNREACHABLE), {}},
      {"a default route", default_route(out(2) + gateway), {}},
  };
  for (const auto& row : rows) {
    std::set<SubnetRoute> routes;
    const auto is_last = decode_subnet_routes(row.datagram, kMain, some_nexthops(), routes);
    ASSERT_TRUE(is_last) << row.why << ": " << is_last.error().what;
    EXPECT_EQ(links_beyond_subnets(routes), row.want) << row.why;
  }
  // A link is reported when it gets such a route; a removed route waits for the next full read.
  const auto told =
      decode_link_events(network(all, 16, out(2) + gateway) + network(all, 16, out(3)) + connected);
  EXPECT_EQ(*told, std::vector<HostEvent>{RouteChange{.new_link = 2}});
}

TEST(DecodeDefaultRoutes, Refuses) {
  std::vector<DefaultRoute> links;
  std::string long_hop = default_route(attribute(RTA_MULTIPATH, hop(2)));
  long_hop[sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(nlattr)] = 100;
  std::string no_hop = default_route(attribute(RTA_MULTIPATH, hop(2)));
  no_hop[sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(nlattr)] = 0;
  for (const auto& bad : {long_hop, no_hop, message(RTM_NEWROUTE, "cut")})
    EXPECT_EQ(decode_default_routes(bad, kMain, {}, links).error().code, Errc::kInvalid);
  nlmsgerr error{};
  error.error = -ENOENT;
  EXPECT_EQ(decode_default_routes(message(NLMSG_ERROR, bytes_of(error)), kMain, {}, links).error(),
            (Error{Errc::kNotFound, "netlink: RTM_GETROUTE: ENOENT"}));
  EXPECT_EQ(decode_default_routes(message(NLMSG_DONE, bytes_of(-EINTR)), kMain, {}, links).error(),
            (Error{Errc::kIo, "netlink: RTM_GETROUTE: EINTR"}))
      << "a dump that failed on its way is not the whole";
}

// Red when what was told of a table that changed meanwhile counts for all of it: a default route may be missing, and
// what carries it be given away.
TEST(DecodeDefaultRoutes, RefusesAnInterruptedDump) {
  const auto interrupted = [](std::string datagram) {
    datagram[offsetof(nlmsghdr, nlmsg_flags)] = NLM_F_MULTI | NLM_F_DUMP_INTR;
    return datagram;
  };
  std::vector<DefaultRoute> links;
  std::set<uint32_t> tables;
  Nexthops nexthops;
  const std::string end = interrupted(message(NLMSG_DONE, bytes_of(0)));
  for (const std::string& datagram : {interrupted(default_route(out(2))), default_route(out(2)) + end, end}) {
    EXPECT_EQ(decode_default_routes(datagram, {RT_TABLE_MAIN}, {}, links).error().code, Errc::kBusy);
    EXPECT_EQ(decode_rule_tables(datagram, tables).error().code, Errc::kBusy);
    EXPECT_EQ(decode_vrf_tables(datagram, tables).error().code, Errc::kBusy);
    EXPECT_EQ(decode_nexthops(datagram, nexthops).error().code, Errc::kBusy);
  }
}

struct Rule {
  uint8_t src_len = 0, dst_len = 0, action = FR_ACT_TO_TBL;
  uint32_t flags = 0;
  std::string attributes = {};
  uint8_t table = 100;
};
std::string rule(const Rule& given, uint16_t type = RTM_NEWRULE) {
  fib_rule_hdr header{};
  header.src_len = given.src_len;
  header.dst_len = given.dst_len;
  header.action = given.action;
  header.flags = given.flags;
  header.table = given.table;
  return message(type, bytes_of(header) + given.attributes);
}
std::string number(uint16_t type, uint32_t value) { return attribute(type, bytes_of(value)); }

TEST(DecodeRuleTables, Messages) {
  const struct {
    const char* why;
    Rule rule;
    bool leads_there;
  } rows[] = {
      {"from all", {}, true},
      {"from 10.0.0.1", {.src_len = 32}, false},
      {"to 10.0.0.0/8", {.dst_len = 8}, true},
      {"fwmark 5", {.attributes = number(FRA_FWMARK, 5)}, false},
      {"fwmark 0: what has none", {.attributes = number(FRA_FWMARK, 0) + number(FRA_FWMASK, 255)}, true},
      {"not fwmark 5", {.flags = FIB_RULE_INVERT, .attributes = number(FRA_FWMARK, 5)}, true},
      {"not from 10.0.0.1", {.src_len = 32, .flags = FIB_RULE_INVERT}, true},
      {"iif lo", {.attributes = attribute(FRA_IIFNAME, std::string("lo\0", 3))}, true},
      {"uidrange", {.attributes = attribute(FRA_UID_RANGE, std::string(8, '\0'))}, true},
      {"suppress_prefixlength 0", {.attributes = number(FRA_SUPPRESS_PREFIXLEN, 0)}, false},
      {"suppress_prefixlength that is none",
       {.attributes = number(FRA_SUPPRESS_PREFIXLEN, UINT32_MAX)},
       true},
      {"unreachable", {.action = FR_ACT_UNREACHABLE}, false},
      {"goto", {.action = FR_ACT_GOTO}, false},
      {"no table", {.table = RT_TABLE_UNSPEC}, false},
      {"l3mdev, from 10.0.0.1",
       {.src_len = 32, .attributes = attribute(FRA_L3MDEV, "\1"), .table = RT_TABLE_UNSPEC},
       false},
  };
  for (const auto& row : rows) {
    std::set<uint32_t> tables;
    ASSERT_TRUE(decode_rule_tables(rule(row.rule), tables)) << row.why;
    EXPECT_EQ(tables, row.leads_there ? std::set<uint32_t>{100} : std::set<uint32_t>()) << row.why;
    // And a change of such a rule, alone, is one of default routes.
    for (const uint16_t type : {RTM_NEWRULE, RTM_DELRULE})
      EXPECT_EQ(decode_link_events(rule(row.rule, type))->size(), row.leads_there ? 1u : 0u) << row.why;
  }
  std::set<uint32_t> tables;
  EXPECT_TRUE(*decode_rule_tables(
      rule({.attributes = number(FRA_TABLE, 5000)}) + message(NLMSG_DONE, bytes_of(0)), tables));
  EXPECT_EQ(tables, std::set<uint32_t>{5000});
  EXPECT_EQ(decode_rule_tables(message(RTM_NEWRULE, "cut"), tables).error().code, Errc::kInvalid);
}

std::string vrf(uint32_t table, const std::string& kind = "vrf") {
  return attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, kind + '\0') +
                                      attribute(IFLA_INFO_DATA, attribute(IFLA_VRF_TABLE, bytes_of(table))));
}

// The rule of all VRFs leads to the table of each; the links show which VRFs exist.
TEST(DecodeVrfTables, Messages) {
  const std::string lookup = rule({.attributes = attribute(FRA_L3MDEV, "\1"), .table = RT_TABLE_UNSPEC});
  std::set<uint32_t> tables;
  EXPECT_TRUE(decode_rule_tables(lookup, tables));
  EXPECT_EQ(tables, std::set<uint32_t>{kTablesOfVrfs});
  EXPECT_EQ(decode_link_events(lookup)->size(), 1u);
  tables.clear();
  const std::string links =
      link(RTM_NEWLINK, 5, name("blue") + vrf(10)) + link(RTM_NEWLINK, 6, name("vlan7") + vrf(7, "vlan")) +
      link(RTM_NEWLINK, 7, name("eth0")) + link(RTM_NEWLINK, 8, name("red") + vrf(5000));
  EXPECT_TRUE(*decode_vrf_tables(links + message(NLMSG_DONE, bytes_of(0)), tables));
  EXPECT_EQ(tables, (std::set<uint32_t>{10, 5000}));
  EXPECT_EQ(decode_vrf_tables(message(RTM_NEWLINK, "cut"), tables).error().code, Errc::kInvalid);
}

// Red when a VRF that comes to a table with a default route is not a change of routes.
TEST(DecodeLinkEvents, ReportsAVrfAsAChangeOfRoutes) {
  for (const uint16_t type : {RTM_NEWLINK, RTM_DELLINK}) {
    EXPECT_EQ(decode_link_events(link(type, 5, name("blue") + vrf(10)))->size(), 2u);
    EXPECT_EQ(decode_link_events(link(type, 6, name("vlan7") + vrf(7, "vlan")))->size(), 1u);
  }
}

std::string nexthop(const std::string& attributes, uint16_t type = RTM_NEWNEXTHOP) {
  return message(type, bytes_of(nhmsg{}) + attributes);
}
std::string member(uint32_t id) { return bytes_of(nexthop_grp{.id = id}); }

TEST(DecodeNexthops, Messages) {
  Nexthops nexthops;
  const std::string group = number(NHA_ID, 9) + attribute(NHA_GROUP, member(1) + member(7));
  const std::string bridge_entry = number(NHA_ID, 5) + number(NHA_OIF, 6) + attribute(NHA_FDB, "");
  EXPECT_TRUE(*decode_nexthops(nexthop(number(NHA_ID, 1) + number(NHA_OIF, 2)) +
                                   nexthop(number(NHA_ID, 7) + number(NHA_OIF, 3)) + nexthop(group) +
                                   nexthop(number(NHA_ID, 4) + attribute(NHA_BLACKHOLE, "")) +
                                   nexthop(bridge_entry) + message(NLMSG_DONE, bytes_of(0)),
                               nexthops));
  EXPECT_EQ(nexthops.links_of(1), std::set<int>{2});
  EXPECT_EQ(nexthops.links_of(9), (std::set<int>{2, 3}));
  EXPECT_EQ(nexthops.links_of(4), std::set<int>());
  EXPECT_EQ(nexthops.links_of(5), std::set<int>());
  EXPECT_EQ(decode_nexthops(message(RTM_NEWNEXTHOP, "cut"), nexthops).error().code, Errc::kInvalid);
  nlmsgerr error{};
  error.error = -EOPNOTSUPP;
  EXPECT_EQ(decode_nexthops(message(NLMSG_ERROR, bytes_of(error)), nexthops).error().code, Errc::kNotFound)
      << "a kernel without them";
  for (const uint16_t type : {RTM_NEWNEXTHOP, RTM_DELNEXTHOP}) {
    EXPECT_EQ(decode_link_events(nexthop(group, type))->size(), 1u);
    EXPECT_EQ(decode_link_events(nexthop(bridge_entry, type))->size(), 0u);
  }
}

}  // namespace
}  // namespace sliced::hotplug
