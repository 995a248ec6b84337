#include "kubelet/interfaces/host_interface.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "kubelet/native_network.h"
#include "kubelet/netlink.h"
#include "t/fixture/sysfs_tree.h"

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

constexpr const char* kRenamedVf = "0000:03:00.2";

struct PresentNames : testing::Test {
  PresentNames() {
    tree.pci(kRenamedVf).id("8086", "10ca").netdev("net7").rdma("mlx5_9");
    tree.pci("0000:03:00.3").id("8086", "10ca").netdev("ens1f0v0").rdma("mlx5_3");
  }
  // Its config afterwards; "" refused.
  std::string config_of(const std::string& config, const std::string& hardware) {
    cni::Record record{.config = config, .hardware = hardware};
    const auto used = use_present_names(record, *tree.view());
    problem = used ? "" : used.error().what;
    return used ? record.config : "";
  }
  std::string problem;
  fixture::SysfsTree tree;
};

// The VFs were created again since the claim was prepared: ens1f0v0 and mlx5_3 belong to another one now.
TEST_F(PresentNames, ReturnsThoseOfTheClaimsFunction) {
  EXPECT_EQ(config_of(R"({"type":"macvlan","master":"ens1f0v0"})", kRenamedVf),
            R"({"type":"macvlan","master":"net7"})");
  EXPECT_EQ(config_of(R"({"plugins":[{"type":"vlan","master":"ens1f0v0","vlanId":5},{"type":"tuning"}]})",
                      kRenamedVf),
            R"({"plugins":[{"type":"vlan","master":"net7","vlanId":5},{"type":"tuning"}]})");
  EXPECT_EQ(config_of(R"({"type":"mine","device":"ens1f0v0"})", kRenamedVf),
            R"({"type":"mine","device":"net7"})");
  const std::string native = config_of(native_config({.rdma = "move"}, "ens1f0v0", "", "mlx5_3"), kRenamedVf);
  EXPECT_EQ(native, native_config({.rdma = "move"}, "net7", "", "mlx5_9"));

  cni::Record record{.config = R"({"type":"sriov"})",
                     .host_interface = cni::HostInterface{.name = "ens1f0v0"},
                     .hardware = kRenamedVf};
  ASSERT_TRUE(use_present_names(record, *tree.view()).ok());
  EXPECT_EQ(record.host_interface->name, "net7") << "to which it returns";
  EXPECT_EQ(record.config, R"({"type":"sriov"})") << "it is given the address";
}

TEST_F(PresentNames, DoesNotReplaceAFunctionWithoutInterfaceByAnother) {
  tree.remove_netdev("net7");
  EXPECT_EQ(config_of(R"({"type":"macvlan","master":"ens1f0v0"})", kRenamedVf), "");
  EXPECT_NE(problem.find("0000:03:00.2 has no interface"), std::string::npos) << problem;
  EXPECT_EQ(config_of(R"({"type":"sriov"})", kRenamedVf), R"({"type":"sriov"})") << "a DPDK driver has none";
}

TEST_F(PresentNames, ReturnsTheNameOfAVirtualLink) {
  const char* config = R"({"type":"macvlan","master":"bond0"})";
  EXPECT_EQ(config_of(config, ""), config);
}

TEST(CheckIpvlan, RefusesAModeThatChangesTheHostsInterfaces) {
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
    if (!good) {
      EXPECT_NE(good.error().what.find("\"ipvl0\""), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sliced::kubelet
