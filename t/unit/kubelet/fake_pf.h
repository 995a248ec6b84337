#pragma once
// A PF's driver, with one VF.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/prepared.h"
#include "kubelet/vf_settings.h"
#include "t/unit/kubelet/sample_settings.h"

namespace sliced::kubelet::sample {

inline constexpr VfOfInterface kVfOfFakePf{.ifindex = 7, .index = 3};

// A PF's driver: stores the settings of VFs from RTM_SETLINK, and reports them (net/core/rtnetlink.c, do_setvfinfo()).
class FakePf {
 public:
  VfSettingsKernel kernel() {
    return {.read = [this](int) -> Result<std::map<int, hotplug::VfConfig>> {
              return std::map<int, hotplug::VfConfig>{{3, vf}};
            },
            .send = [this](const std::string& request) { return take(request); }};
  }
  hotplug::VfConfig vf = vf_config_as_made(std::string(kNoMac));
  std::set<int> refused, ignored;  // attributes
  bool refuses_zeros = false;
  std::vector<int> written;

 private:
  template <class T>
  static T value_of(std::string_view bytes) {
    T out{};
    EXPECT_GE(bytes.size(), sizeof out);
    std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
  }
  static std::string_view inner(std::string_view bytes, int& type) {
    const auto head = value_of<nlattr>(bytes);
    type = head.nla_type & NLA_TYPE_MASK;
    EXPECT_EQ(NLA_ALIGN(head.nla_len), bytes.size());
    return bytes.substr(sizeof head, head.nla_len - sizeof head);
  }
  int take(const std::string& request) {
    const auto head = value_of<nlmsghdr>(request);
    EXPECT_EQ(head.nlmsg_len, request.size());
    EXPECT_EQ(head.nlmsg_type, RTM_SETLINK);
    int type = 0;
    std::string_view value = std::string_view(request).substr(NLMSG_LENGTH(sizeof(ifinfomsg)));
    for (const int wanted : {int{IFLA_VFINFO_LIST}, int{IFLA_VF_INFO}}) {
      value = inner(value, type);
      EXPECT_EQ(type, wanted);
    }
    value = inner(value, type);
    written.push_back(type);
    if (refused.contains(type)) return EOPNOTSUPP;
    if (refuses_zeros && value.find_first_not_of('\0', sizeof(uint32_t)) == std::string_view::npos)
      return EINVAL;
    if (ignored.contains(type)) return 0;
    EXPECT_EQ(value_of<uint32_t>(type == IFLA_VF_VLAN_LIST ? value.substr(sizeof(nlattr)) : value), 3u);
    apply(type, value);
    return 0;
  }
  void apply(int type, std::string_view value) {
    if (type == IFLA_VF_MAC) {
      const auto given = value_of<ifla_vf_mac>(value);
      const auto& bytes = given.mac;
      char text[18];
      std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0], bytes[1], bytes[2],
                    bytes[3], bytes[4], bytes[5]);
      vf.mac = text;
    }
    if (type == IFLA_VF_VLAN) {
      vf.vlan = static_cast<int>(value_of<ifla_vf_vlan>(value).vlan);
      vf.vlan_qos = static_cast<int>(value_of<ifla_vf_vlan>(value).qos);
      vf.vlan_protocol = "802.1Q";
    }
    if (type == IFLA_VF_VLAN_LIST) {
      int one = 0;
      const auto tag = value_of<ifla_vf_vlan_info>(inner(value, one));
      EXPECT_EQ(one, IFLA_VF_VLAN_INFO);
      vf.vlan = static_cast<int>(tag.vlan), vf.vlan_qos = static_cast<int>(tag.qos);
      vf.vlan_protocol = tag.vlan_proto == htons(ETH_P_8021AD) ? "802.1ad" : "802.1Q";
    }
    if (type == IFLA_VF_TRUST) vf.trust = value_of<ifla_vf_trust>(value).setting != 0;
    if (type == IFLA_VF_SPOOFCHK) vf.spoof_check = value_of<ifla_vf_spoofchk>(value).setting != 0;
    if (type == IFLA_VF_RSS_QUERY_EN) vf.rss_query = value_of<ifla_vf_rss_query_en>(value).setting != 0;
    if (type == IFLA_VF_LINK_STATE) {
      const char* const names[] = {"auto", "enable", "disable"};
      vf.link_state = names[value_of<ifla_vf_link_state>(value).link_state];
    }
    if (type == IFLA_VF_RATE) {
      vf.min_rate_mbps = value_of<ifla_vf_rate>(value).min_tx_rate;
      vf.max_rate_mbps = value_of<ifla_vf_rate>(value).max_tx_rate;
    }
    if (type == IFLA_VF_IB_NODE_GUID || type == IFLA_VF_IB_PORT_GUID) {
      const auto guid = value_of<ifla_vf_guid>(value).guid;
      std::string text;
      for (int shift = 56; shift >= 0; shift -= 8) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned>(guid >> shift & 0xff));
        text += (text.empty() ? "" : ":") + std::string(byte);
      }
      (type == IFLA_VF_IB_NODE_GUID ? vf.node_guid : vf.port_guid) = text;
    }
  }
};

}  // namespace sliced::kubelet::sample
