#include "hotplug/link.h"

#include <gtest/gtest.h>

namespace sliced::hotplug {
namespace {

TEST(DecodeVlanConfig, ReadsEachLine) {
  const std::string_view text =
      "VLAN Dev name    | VLAN ID\n"
      "Name-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
      "eth0.100       | 100  | eth0\n"
      "storage        | 4094  | bond0\n"
      "bad            | 4095x | eth0\n"
      "worse          | 70000 | eth0\n"
      "cut            | 7";
  EXPECT_EQ(decode_vlan_config(text),
            (std::map<std::string, VlanEntry>{{"eth0.100", {100, "eth0"}}, {"storage", {4094, "bond0"}}}));
  EXPECT_TRUE(decode_vlan_config("").empty());
}

TEST(DecodeDefaultRoutes, ReadsIpv4Routes) {
  const struct {
    const char* why;
    const char* line;
    std::set<std::string> want;
  } rows[] = {
      {"a default route", "eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0", {"eth0"}},
      {"without gateway (a point-to-point link)",
       "ppp0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0",
       {"ppp0"}},
      {"a subnet", "eth0\t0002A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0", {}},
      {"half of everything is no default route",
       "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0",
       {}},
      {"an unreachable one", "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0", {}},
      {"one that is down", "eth1\t00000000\t00000000\t0002\t0\t0\t0\t00000000\t0\t0\t0", {}},
      {"the header",
       "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT",
       {}},
      {"a cut line", "eth0\t00000000\t0102A8C0\t0003", {}},
      {"of several the best",
       "eth1\t00000000\t0102A8C0\t0003\t0\t0\t101\t00000000\t0\t0\t0\n"
       "eth0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
       "eth2\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n",
       {"eth0"}},
      {"nothing", "", {}},
  };
  for (const auto& row : rows) {
    std::set<std::string> names;
    decode_default_routes4(row.line, names);
    EXPECT_EQ(names, row.want) << row.why;
  }
}

// OVN's management port: an address, and the cluster's networks through a gateway. Red when it is offered to pods.
TEST(DecodeOtherRoutes, ReadsIpv4Routes) {
  const std::string subnet = "mp0\t0001F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";   // 10.244.1.0/24
  const std::string cluster = "mp0\t0000F40A\t0101F40A\t0003\t0\t0\t0\t0000FFFF\t0\t0\t0\n";  // 10.244.0.0/16
  const std::string within =
      "mp0\t8001F40A\t0101F40A\t0003\t0\t0\t0\t80FFFFFF\t0\t0\t0\n";  // 10.244.1.128/25
  const std::string metadata =
      "mp0\tFEA9FEA9\t0101F40A\t0007\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";  // 169.254.169.254
  const std::string reject = "mp0\t0000F40A\t0101F40A\t0203\t0\t0\t0\t0000FFFF\t0\t0\t0\n";
  const std::string lead = "mp0\t00000000\t0101F40A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n";
  const struct {
    std::string text;
    std::set<std::string> want;
  } rows[] = {{subnet, {}},          {subnet + cluster, {"mp0"}}, {cluster, {"mp0"}},
              {subnet + within, {}}, {subnet + metadata, {}},     {subnet + reject, {}},
              {subnet + lead, {}}};
  for (const auto& row : rows) {
    std::set<std::string> names;
    decode_other_routes4(row.text, names);
    EXPECT_EQ(names, row.want) << row.text;
  }
}

TEST(DecodeOtherRoutes, ReadsIpv6Routes) {
  const std::string zeros(32, '0'), gateway = "fd000000000000010000000000000001";
  const auto line = [&](const std::string& destination, const std::string& length, const std::string& hop,
                        const std::string& flags) {
    return destination + " " + length + " " + zeros + " 00 " + hop + " 00000400 00000001 00000000 " + flags +
           "     mp0\n";
  };
  const std::string subnet = line("fd000000000000010000000000000000", "40", zeros, "00000001");
  const std::string cluster = line("fd000000000000000000000000000000", "30", gateway, "00000003");
  const std::string link_local = line("fe800000000000000000000000000000", "40", zeros, "00000001");
  const std::string within = line("fd000000000000010000000000000080", "79", gateway, "00000003");
  const struct {
    std::string text;
    std::set<std::string> want;
  } rows[] = {{subnet + link_local, {}}, {subnet + cluster, {"mp0"}}, {subnet + within, {}}};
  for (const auto& row : rows) {
    std::set<std::string> names;
    decode_other_routes6(row.text, names);
    EXPECT_EQ(names, row.want) << row.text;
  }
}

TEST(DecodeDefaultRoutes, ReadsIpv6Routes) {
  const std::string zeros(32, '0'), gateway = "fe800000000000000000000000000001";
  const auto line = [&](const std::string& metric, const std::string& flags, const std::string& name) {
    return zeros + " 00 " + zeros + " 00 " + gateway + " " + metric + " 00000001 00000000 " + flags +
           "     " + name + "\n";
  };
  const struct {
    const char* why;
    std::string line;
    std::set<std::string> want;
  } rows[] = {
      {"a default route",
       zeros + " 00 " + zeros + " 00 " + gateway + " 00000400 00000001 00000000 00000003     eth0",
       {"eth0"}},
      {"the null entry",
       zeros + " 00 " + zeros + " 00 " + zeros + " ffffffff 00000001 00000000 00200200       lo",
       {}},
      {"a prefix",
       zeros + " 08 " + zeros + " 00 " + gateway + " 00000400 00000001 00000000 00000003     eth0",
       {}},
      {"a host",
       gateway + " 80 " + zeros + " 00 " + zeros + " 00000000 00000001 00000000 80200001       lo",
       {}},
      {"a cut line", zeros + " 00 " + zeros, {}},
      {"next hops of one route",
       line("00000400", "00000003", "eth0") + line("00000400", "00000003", "eth1"),
       {"eth0", "eth1"}},
      {"several advertisements",
       line("00000400", "00450003", "eth0") + line("00000400", "00450003", "eth1"),
       {"eth0"}},
      {"one of a preferred router",
       line("00000400", "00450003", "eth0") + line("00000400", "08450003", "eth1"),
       {"eth1"}},
      {"the lowest metric",
       line("00000400", "08450003", "eth0") + line("00000064", "00000003", "eth1"),
       {"eth1"}},
  };
  for (const auto& row : rows) {
    std::set<std::string> names;
    decode_default_routes6(row.line, names);
    EXPECT_EQ(names, row.want) << row.why;
  }
}

}  // namespace
}  // namespace sliced::hotplug
