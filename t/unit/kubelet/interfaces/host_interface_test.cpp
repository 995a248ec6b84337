#include "kubelet/interfaces/host_interface.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "kubelet/netlink.h"

namespace sliced::kubelet {
namespace {

template <class T>
std::string raw_bytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// An RTM_NEWLINK as the kernel writes it. settings: IFLA_INFO_DATA.
std::string new_link(int ifindex, const std::string& name, const std::string& kind,
                     const std::string& settings, int lower, bool is_lower_elsewhere = false) {
  std::string attributes, info;
  put_attribute(attributes, IFLA_IFNAME, name + '\0');
  put_attribute(attributes, IFLA_LINK, raw_bytes(lower));
  if (is_lower_elsewhere) put_attribute(attributes, IFLA_LINK_NETNSID, raw_bytes(int{0}));
  put_attribute(info, IFLA_INFO_KIND, kind);
  if (!settings.empty()) put_attribute(info, IFLA_INFO_DATA, settings);
  if (!kind.empty()) put_attribute(attributes, IFLA_LINKINFO, info);
  nlmsghdr header{};
  ifinfomsg message{};
  header.nlmsg_type = RTM_NEWLINK;
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + sizeof message + attributes.size());
  message.ifi_index = ifindex;
  return raw_bytes(header) + raw_bytes(message) + attributes;
}

std::string ipvlan_settings(uint16_t mode, uint16_t flags) {
  std::string out;
  put_attribute(out, IFLA_IPVLAN_MODE, raw_bytes(mode));
  put_attribute(out, IFLA_IPVLAN_FLAGS, raw_bytes(flags));
  return out;
}

TEST(CheckIpvlan, APodDoesNotChangeTheModeOfTheHostsInterfaces) {
  struct Case {
    std::string host, plugin;
    bool is_good;
  };
  const std::string device = new_link(7, "ens1f0", "", "", 0);
  const auto ipvlan = [](uint16_t mode, uint16_t flags, int lower = 7, bool is_elsewhere = false) {
    return new_link(8, "ipvl0", "ipvlan", ipvlan_settings(mode, flags), lower, is_elsewhere);
  };
  const std::string absent = R"({"type":"ipvlan","master":"ens1f0"})";
  const std::string l3 = R"({"type":"ipvlan","master":"ens1f0","mode":"l3"})";
  const Case cases[] = {
      {device, absent, true},
      {device + ipvlan(IPVLAN_MODE_L2, 0), absent, true},
      {device + ipvlan(IPVLAN_MODE_L3, 0), absent, false},
      {device + ipvlan(IPVLAN_MODE_L3S, 0), absent, false},
      {device + ipvlan(IPVLAN_MODE_L2, IPVLAN_F_PRIVATE), absent, false},
      {device + ipvlan(IPVLAN_MODE_L3, 0), l3, true},
      {device + ipvlan(IPVLAN_MODE_L2, 0), l3, false},
      {device + ipvlan(IPVLAN_MODE_L3, 0, 9), absent, true},
      {device + ipvlan(IPVLAN_MODE_L3, 0, 7, true), absent, true},
      {device + new_link(8, "vlan5", "vlan", ipvlan_settings(IPVLAN_MODE_L3, 0), 7), absent, true},
  };
  for (const Case& one : cases) {
    std::vector<HostLink> links;
    ASSERT_TRUE(decode_links(one.host, links).ok());
    const auto good = check_ipvlan(*kube::decode_json(one.plugin), links);
    EXPECT_EQ(good.ok(), one.is_good) << &one - cases;
    if (!good) EXPECT_NE(good.error().what.find("\"ipvl0\""), std::string::npos);
  }
}

}  // namespace
}  // namespace sliced::kubelet
