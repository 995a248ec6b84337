#include "kubelet/native_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "kubelet/cni/network.h"
#include "kubelet/vf_config.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace native_network_test {
namespace {

using kube::Json;
using sample::config;

Result<NativeNetwork> decoded(const std::string& text) {
  return decode_native_network(kube::decode_json(text).value(), "network");
}

TEST(NativeNetworkTest, DecodesAllFields) {
  const auto network = decoded(
      R"({"mtu":9000,"mac":"02-00-00-00-00-0A","addresses":["192.0.2.5/24","2001:DB8:0::5/64"],)"
      R"("routes":[{"destination":"0.0.0.0/0","gateway":"192.0.2.1"},{"destination":"2001:db8:1::/48","priority":7}]})");
  ASSERT_TRUE(network.ok()) << network.error().what;
  EXPECT_EQ(*network, (NativeNetwork{.mtu = 9000,
                                     .mac = "02:00:00:00:00:0a",
                                     .addresses = {"192.0.2.5/24", "2001:db8::5/64"},
                                     .routes = {{"0.0.0.0/0", "192.0.2.1", 0}, {"2001:db8:1::/48", "", 7}}}));
  EXPECT_EQ(*decode_native_network(encode_native_network(*network), "network"), *network);
  EXPECT_TRUE(check_native_network(*network, "network").ok());
  EXPECT_EQ(*decoded("{}"), NativeNetwork{});
  EXPECT_TRUE(cni::is_native(cni::decode_network(native_config(*network, "ens1v0"), "x").value()));
}

TEST(NativeNetworkTest, DecodesRulesNeighborsSysctlsAndTables) {
  const auto network = decoded(
      R"({"addresses":["192.0.2.5/24","2001:db8::5/64"],"routes":[{"destination":"10.0.0.0/8","table":100}],)"
      R"("rules":[{"source":"192.0.2.5/32","table":100,"priority":50},{"destination":"2001:DB8::/32","table":7,"priority":1}],)"
      R"("neighbors":[{"address":"2001:DB8::1","mac":"02-00-00-00-00-0A"}],)"
      R"("sysctls":{"net.ipv6.conf.IFNAME.accept_ra":"0","net.ipv4.conf.IFNAME.arp_ignore":"1"},)"
      R"("duplicateAddressDetection":"wait"})");
  ASSERT_TRUE(network.ok()) << network.error().what;
  EXPECT_EQ(network->routes, (std::vector<NativeRoute>{{"10.0.0.0/8", "", 0, 100}}));
  EXPECT_EQ(network->rules,
            (std::vector<NativeRule>{{"192.0.2.5/32", "", 100, 50}, {"", "2001:db8::/32", 7, 1}}));
  EXPECT_EQ(network->neighbors, (std::vector<NativeNeighbor>{{"2001:db8::1", "02:00:00:00:00:0a"}}));
  EXPECT_EQ(network->sysctls, (std::vector<NativeSysctl>{{"net.ipv4.conf.IFNAME.arp_ignore", "1"},
                                                         {"net.ipv6.conf.IFNAME.accept_ra", "0"}}));
  EXPECT_EQ(path_of_sysctl(network->sysctls.front(), "net1.5"), "net/ipv4/conf/net1.5/arp_ignore");
  EXPECT_TRUE(network->waits_for_dad());
  EXPECT_EQ(*decode_native_network(encode_native_network(*network), "network"), *network);
  EXPECT_TRUE(check_native_network(*network, "network").ok());
  const auto config = kube::decode_json(native_config(*network, "ens1v0"));
  EXPECT_EQ(*network_of_config(*config), *network);
  EXPECT_TRUE(cni::decode_network(native_config(*network, "ens1v0"), "x").ok());
}

// Each is of one interface: its value is set for IFNAME, and for no other.
TEST(NativeNetworkTest, EachSysctlBelongsToTheInterface) {
  std::string_view before;
  for (const AllowedSysctl& one : allowed_sysctls()) {
    EXPECT_LT(before, one.name);
    before = one.name;
    EXPECT_LE(one.min, one.max) << one.name;
    const std::string path = path_of_sysctl({std::string(one.name), ""}, "net1");
    const bool is_of_interface =
        path.starts_with("net/ipv4/conf/net1/") || path.starts_with("net/ipv6/conf/net1/") ||
        path.starts_with("net/ipv4/neigh/net1/") || path.starts_with("net/ipv6/neigh/net1/");
    EXPECT_TRUE(is_of_interface) << path;
    EXPECT_EQ(std::count(path.begin(), path.end(), '/'), 4) << path;
  }
}

TEST(NativeNetworkTest, ATypeIsTheNameOfItsPlugin) {
  for (const auto& [type, plugin, field] :
       {std::tuple("macvlan", "macvlan", "master"), std::tuple("vlan", "vlan", "master"),
        std::tuple("bridgePort", "bridge", "bridge"),
        std::tuple("passthrough", "sliced-native", "hostInterface"),
        std::tuple("", "sliced-native", "hostInterface")}) {
    NativeNetwork network;
    network.type = type, network.vf.vlan = 5;
    const auto config = kube::decode_json(native_config(network, "eno1", "0000:03:00.0"));
    EXPECT_EQ(made_by_plugin(*config), plugin);
    EXPECT_EQ(config->text(field), "eno1");
    EXPECT_EQ(network_of_config(*config)->type, type);
  }
}

TEST(NativeNetworkTest, DocumentsEachSysctl) {
  std::ifstream file(SLICED_DOCS "/pods.md");
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (const AllowedSysctl& one : allowed_sysctls()) {
    const size_t dot = one.name.rfind('.');
    const size_t row = page.find("| `" + std::string(one.name.substr(0, dot + 1)) + "` |");
    ASSERT_NE(row, std::string::npos) << one.name;
    const std::string line = page.substr(row, page.find('\n', row) - row);
    EXPECT_NE(line.find("`" + std::string(one.name.substr(dot + 1)) + "` " + std::to_string(one.min) +
                        " to " + std::to_string(one.max)),
              std::string::npos)
        << one.name;
  }
}

TEST(NativeNetworkTest, RefusesInvalidFields) {
  const struct {
    const char *text, *field;
  } kCases[] = {
      {R"([])", "network"},
      {R"({"vlan":"5"})", "network.vlan"},
      {R"({"Vlan":5})", "network.Vlan"},
      {R"({"Mtu":1500})", "network.Mtu"},
      {R"({"mtu":67})", "network.mtu"},
      {R"({"mtu":65536})", "network.mtu"},
      {R"({"mtu":"1500"})", "network.mtu"},
      {R"({"mtu":1500.5})", "network.mtu"},
      {R"({"mac":"01:00:00:00:00:01"})", "network.mac"},
      {R"({"mac":"00:00:00:00:00:00"})", "network.mac"},
      {R"({"mac":""})", "network.mac"},
      {R"({"addresses":"192.0.2.5/24"})", "network.addresses"},
      {R"({"addresses":["192.0.2.5"]})", "network.addresses[0]"},
      {R"({"addresses":["192.0.2.5/33"]})", "network.addresses[0]"},
      {R"({"addresses":["192.0.2.5/+4"]})", "network.addresses[0]"},
      {R"({"addresses":["192.0.2.5/024"]})", "network.addresses[0]"},
      {R"({"addresses":["192.0.2.05/24"]})", "network.addresses[0]"},
      {R"({"addresses":["127.0.0.1/8"]})", "network.addresses[0]"},
      {R"({"addresses":["224.0.0.1/24"]})", "network.addresses[0]"},
      {R"({"addresses":["ff02::1/64"]})", "network.addresses[0]"},
      {R"({"addresses":["::ffff:192.0.2.5/120"]})", "network.addresses[0]"},
      {R"({"addresses":["0.0.0.0/24"]})", "network.addresses[0]"},
      {R"({"addresses":["192.0.2.5/24","192.0.2.5/25"]})", "network.addresses[1]"},
      {R"({"addresses":[5]})", "network.addresses[0]"},
      {R"({"routes":[{}]})", "network.routes[0].destination"},
      {R"({"routes":[{"destination":"10.0.0.1/8"}]})", "network.routes[0].destination"},
      {R"({"routes":[{"destination":"224.0.0.0/4"}]})", "network.routes[0].destination"},
      {R"({"routes":[{"destination":"10.0.0.0/8","gateway":"fd00::1"}]})", "network.routes[0].gateway"},
      {R"({"routes":[{"destination":"10.0.0.0/8","gateway":"0.0.0.0"}]})", "network.routes[0].gateway"},
      {R"({"routes":[{"destination":"10.0.0.0/8","priority":0}]})", "network.routes[0].priority"},
      {R"({"routes":[{"destination":"10.0.0.0/8","gw":"192.0.2.1"}]})", "network.routes[0].gw"},
      {R"({"routes":[{"destination":"10.0.0.0/8","table":254}]})", "network.routes[0].table"},
      {R"({"routes":[{"destination":"::ffff:10.0.0.0/104"}]})", "network.routes[0].destination"},
      {R"({"rules":[{"table":5,"priority":5}]})", "network.rules[0]"},
      {R"({"rules":[{"source":"0.0.0.0/0","table":5,"priority":5}]})", "network.rules[0].source"},
      {R"({"rules":[{"source":"10.0.0.1/8","table":5,"priority":5}]})", "network.rules[0].source"},
      {R"({"rules":[{"source":"10.0.0.0/8","destination":"fd00::/8","table":5,"priority":5}]})",
       "network.rules[0].destination"},
      {R"({"rules":[{"source":"10.0.0.0/8","priority":5}]})", "network.rules[0].table"},
      {R"({"rules":[{"source":"10.0.0.0/8","table":255,"priority":5}]})", "network.rules[0].table"},
      {R"({"rules":[{"source":"10.0.0.0/8","table":5}]})", "network.rules[0].priority"},
      {R"({"rules":[{"source":"10.0.0.0/8","table":5,"priority":32766}]})", "network.rules[0].priority"},
      {R"({"rules":[{"source":"10.0.0.0/8","table":5,"priority":5,"iif":"lo"}]})", "network.rules[0].iif"},
      {R"({"neighbors":[{"address":"192.0.2.1"}]})", "network.neighbors[0].mac"},
      {R"({"neighbors":[{"address":"192.0.2.1/24","mac":"02:00:00:00:00:01"}]})",
       "network.neighbors[0].address"},
      {R"({"neighbors":[{"address":"192.0.2.1","mac":"01:00:00:00:00:01"}]})", "network.neighbors[0].mac"},
      {R"({"neighbors":[{"address":"ff02::1","mac":"02:00:00:00:00:01"}]})", "network.neighbors[0].address"},
      {R"({"sysctls":[]})", "network.sysctls"},
      {R"({"sysctls":{"net.ipv4.conf.all.arp_ignore":"1"}})", "network.sysctls.net.ipv4.conf.all.arp_ignore"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME/../all.arp_ignore":"1"}})",
       "network.sysctls.net.ipv4.conf.IFNAME/../all.arp_ignore"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME.route_localnet":"1"}})",
       "network.sysctls.net.ipv4.conf.IFNAME.route_localnet"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME.proxy_arp":"1"}})",
       "network.sysctls.net.ipv4.conf.IFNAME.proxy_arp"},
      {R"({"sysctls":{"net.ipv4.ip_forward":"1"}})", "network.sysctls.net.ipv4.ip_forward"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME.arp_ignore":1}})",
       "network.sysctls.net.ipv4.conf.IFNAME.arp_ignore"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME.arp_ignore":"9"}})",
       "network.sysctls.net.ipv4.conf.IFNAME.arp_ignore"},
      {R"({"sysctls":{"net.ipv4.conf.IFNAME.arp_ignore":"01"}})",
       "network.sysctls.net.ipv4.conf.IFNAME.arp_ignore"},
      {R"({"duplicateAddressDetection":"on"})", "network.duplicateAddressDetection"},
      {R"({"duplicateAddressDetection":true})", "network.duplicateAddressDetection"},
      {R"({"rdma":"shared"})", "network.rdma"},
      {R"({"rdma":true})", "network.rdma"},
      {R"({"type":"macvtap"})", "network.type"},
      {R"({"type":"bridge"})", "network.type"},
      {R"({"type":"macvlan","mode":"passthru"})", "network.mode"},
      {R"({"type":"macvlan","mode":"l2"})", "network.mode"},
  };
  for (const auto& [text, field] : kCases) {
    const auto network = decoded(text);
    ASSERT_FALSE(network.ok()) << text;
    EXPECT_TRUE(network.error().what.starts_with(std::string(field) + " "))
        << text << ": " << network.error().what;
  }
  std::string many;
  for (int i = 1; i <= 17; ++i) many += (i > 1 ? ",\"10.0.0." : "\"10.0.0.") + std::to_string(i) + "/8\"";
  EXPECT_EQ(decoded(R"({"addresses":[)" + many + "]}").error().code, Errc::kTooLarge);
}

TEST(NativeNetworkTest, RefusesWhatTheKernelWouldRefuse) {
  const struct {
    const char *text, *field;
  } kCases[] = {
      {R"({"addresses":["192.0.2.5/24"],"routes":[{"destination":"0.0.0.0/0","gateway":"192.0.3.1"}]})",
       "network.routes[0].gateway"},
      {R"({"routes":[{"destination":"0.0.0.0/0","gateway":"192.0.2.1"}]})", "network.routes[0].destination"},
      {R"({"addresses":["192.0.2.5/24"],"routes":[{"destination":"10.0.0.0/8"},{"destination":"10.0.0.0/8"}]})",
       "network.routes[1].destination"},
      {R"({"addresses":["fd00::5/64"],"routes":[{"destination":"fd01::/64"},{"destination":"fd01::/64","priority":1024}]})",
       "network.routes[1].destination"},
      {R"({"mtu":1279,"addresses":["fd00::5/64"]})", "network.mtu"},
      {R"({"rules":[{"source":"10.0.0.0/8","table":5,"priority":5},{"source":"10.0.0.0/8","table":5,"priority":5}]})",
       "network.rules[1]"},
      {R"({"neighbors":[{"address":"192.0.2.1","mac":"02:00:00:00:00:01"}]})",
       "network.neighbors[0].address"},
      {R"({"addresses":["192.0.2.5/24"],"neighbors":[{"address":"192.0.2.5","mac":"02:00:00:00:00:01"}]})",
       "network.neighbors[0].address"},
      {R"({"addresses":["192.0.2.5/24"],"neighbors":[{"address":"192.0.2.1","mac":"02:00:00:00:00:01"},)"
       R"({"address":"192.0.2.1","mac":"02:00:00:00:00:02"}]})",
       "network.neighbors[1].address"},
      {R"({"addresses":["fd00::5/64"],"sysctls":{"net.ipv6.conf.IFNAME.disable_ipv6":"1"}})",
       "network.sysctls.net.ipv6.conf.IFNAME.disable_ipv6"},
      {R"({"type":"macvlan","rdma":"move"})", "network.rdma"},
      {R"({"mode":"bridge"})", "network.mode"},
      {R"({"type":"ipvlan","mode":"bridge"})", "network.mode"},
      {R"({"type":"vlan"})", "network.vlan"},
      {R"({"type":"vlan","vlan":0})", "network.vlan"},
      {R"({"type":"macvlan","vlan":5})", "network.vlan"},
      {R"({"type":"ipvlan","vlan":5})", "network.vlan"},
      {R"({"type":"bridgePort","vlan":5,"vlanProto":"802.1ad"})", "network.vlanProto"},
      {R"({"type":"vlan","vlan":5,"vlanQoS":3})", "network.vlanQoS"},
      {R"({"type":"macvlan","trust":true})", "network.trust"},
      {R"({"type":"ipvlan","mac":"02:00:00:00:00:01"})", "network.mac"},
      {R"({"addresses":["192.0.2.5/24"],"duplicateAddressDetection":"wait"})",
       "network.duplicateAddressDetection"},
      {R"({"addresses":["fd00::5/64"],"duplicateAddressDetection":"wait","sysctls":{"net.ipv6.conf.IFNAME.dad_transmits":"0"}})",
       "network.sysctls.net.ipv6.conf.IFNAME.dad_transmits"},
  };
  for (const auto& [text, field] : kCases) {
    const auto good = check_native_network(decoded(text).value(), "network");
    ASSERT_FALSE(good.ok()) << text;
    EXPECT_TRUE(good.error().what.starts_with(std::string(field) + " ")) << good.error().what;
  }
  const auto link_local = decoded(
      R"({"addresses":["fd00::5/64"],"routes":[{"destination":"::/0","gateway":"fe80::1"},{"destination":"::/0","priority":9}]})");
  EXPECT_TRUE(check_native_network(link_local.value(), "network").ok());
}

TEST(NativeNetworkTest, AcceptsAGatewayBehindALinkRoute) {
  const auto check = [](const std::string& routes) {
    return check_native_network(
        decoded(R"({"addresses":["10.0.0.5/32","fd00::5/128"],"routes":[)" + routes + "]}").value(),
        "network");
  };
  const std::string by_gateway = R"({"destination":"0.0.0.0/0","gateway":"10.0.0.1"})";
  EXPECT_TRUE(check(R"({"destination":"10.0.0.1/32"},)" + by_gateway).ok());
  EXPECT_TRUE(check(by_gateway + R"(,{"destination":"10.0.0.0/24"})").ok()) << "in any order";
  EXPECT_TRUE(check(R"({"destination":"fd00::1/128"},{"destination":"::/0","gateway":"fd00::1"})").ok());
  EXPECT_TRUE(
      check(R"({"destination":"10.0.0.1/32"},{"destination":"0.0.0.0/0","gateway":"10.0.0.1","table":5})")
          .ok());
  for (const char* others :
       {R"({"destination":"10.0.0.2/32"})", R"({"destination":"10.0.0.1/32","table":5})",
        R"({"destination":"10.0.0.5/32"},{"destination":"10.0.0.1/32","gateway":"10.0.0.5"})"}) {
    const auto refused = check(by_gateway + "," + others);
    ASSERT_FALSE(refused.ok()) << others;
    EXPECT_NE(refused.error().what.find("network.routes[0].gateway is \"10.0.0.1\""), std::string::npos);
    EXPECT_NE(refused.error().what.find("add a route to \"10.0.0.1/32\""), std::string::npos);
  }
}

TEST(NativeNetworkTest, DecodesIpamByTheTablesOfDefinitions) {
  const struct {
    const char *ipam, *field;
  } kCases[] = {
      {"[]", "network.ipam "},
      {"{}", "network.ipam.type "},
      {R"({"type":7})", "network.ipam.type "},
      {R"({"type":"other"})", "network.ipam.type "},
      {R"({"type":"../static"})", "network.ipam.type "},
      {R"({"type":"dhcp"})", "network.ipam.type "},
      {R"({"Type":"static"})", "network.ipam.Type "},
      {R"({"type":"host-local","Subnet":"10.0.0.0/24"})", "network.ipam.Subnet "},
      {R"({"type":"host-local","range":"10.0.0.0/24"})", "network.ipam.range "},
      {R"({"type":"host-local","subnet":"10.0.0.0"})", "network.ipam.subnet "},
      {R"({"type":"host-local","subnet":"10.0.0.5/24"})", "network.ipam.subnet "},
      {R"({"type":"host-local","ranges":[[{"subnet":"10.0.0.0/32"}]]})", "network.ipam.ranges[0][0].subnet "},
      {R"({"type":"host-local","dataDir":"/etc"})", "network.ipam.dataDir "},
      {R"({"type":"host-local","ranges":[[{"subnet":"10.0.0.0/24","dataDir":"/etc"}]]})",
       "network.ipam.ranges[0][0].dataDir "},
      {R"({"type":"whereabouts","kubernetes":{"kubeconfig":"/etc/k"}})", "network.ipam.kubernetes "},
      {R"({"type":"static","addresses":[{"address":"10.0.0.5/24"}],"routes":[{"dst":"10.1.0.1/16"}]})",
       "network.ipam.routes[0].dst "},
      {R"({"type":"static","routes":[{"dst":"10.1.0.0/16","gw":"224.0.0.1"}]})",
       "network.ipam.routes[0].gw "},
      {R"({"type":"static","routes":[{"dst":"10.1.0.0/16","table":254}]})", "network.ipam.routes[0].table "},
      {R"({"type":"static","routes":[{"dst":"10.1.0.0/16","mtu":1400}]})", "network.ipam.routes[0].mtu "},
  };
  for (const auto& [ipam, field] : kCases) {
    const auto read =
        decode_native_network(kube::decode_json(std::string(R"({"ipam":)") + ipam + "}").value(), "network",
                              cni::Author::kNamespaceUser);
    ASSERT_FALSE(read.ok()) << ipam;
    EXPECT_TRUE(read.error().what.starts_with(field)) << ipam << ": " << read.error().what;
  }
  const std::string administrators =
      R"({"ipam":{"type":"host-local","subnet":"10.0.0.0/24","dataDir":"/var/lib/leases"}})";
  EXPECT_TRUE(decoded(administrators).ok());
  EXPECT_NE(
      decode_native_network(kube::decode_json(administrators).value(), "network", cni::Author::kNamespaceUser)
          .error()
          .what.find("leave it out, or set it in the DeviceClass"),
      std::string::npos);
}

TEST(NativeNetworkTest, TheConfigWithIpamNamesItsPlugin) {
  const auto network = decoded(
      R"({"mtu":1400,"routes":[{"destination":"10.9.0.0/16","gateway":"10.0.0.1"}],"neighbors":[{"address":"10.0.0.1","mac":"02:00:00:00:00:01"}],)"
      R"("ipam":{"type":"host-local","subnet":"10.0.0.0/24","routes":[{"dst":"0.0.0.0/0"}]}})");
  ASSERT_TRUE(network.ok()) << network.error().what;
  EXPECT_TRUE(check_native_network(*network, "network").ok()) << "the addresses are not known yet";
  EXPECT_EQ(*decode_native_network(encode_native_network(*network), "network"), *network);
  const auto config = cni::decode_network(native_config(*network, "ens1v0"), "x");
  ASSERT_TRUE(config.ok()) << config.error().what;
  EXPECT_EQ(*network_of_config(config->plugins.front().config), *network);
  const auto ipam = ipam_network_of(*config);
  ASSERT_TRUE(ipam.has_value());
  EXPECT_EQ(ipam->plugins.size(), 1u);
  EXPECT_EQ(
      cni::input_for(*ipam, 0, {}, std::nullopt),
      R"({"type":"host-local","ipam":{"type":"host-local","subnet":"10.0.0.0/24","routes":[{"dst":"0.0.0.0/0"}]},)"
      R"("name":"network","cniVersion":"0.4.0"})");
  for (const char* none : {R"({"addresses":["10.0.0.5/24"]})", "{}"})
    EXPECT_FALSE(
        ipam_network_of(*cni::decode_network(native_config(*decoded(none), "ens1v0"), "x")).has_value());
  EXPECT_FALSE(
      check_native_network(*decoded(R"({"addresses":["10.0.0.5/24"],"ipam":{"type":"static"}})"), "network")
          .ok());
}

TEST(NativeNetworkTest, ChecksIpamResultsLikeUserValues) {
  const NativeNetwork own =
      decoded(R"({"routes":[{"destination":"10.9.0.0/16","gateway":"10.0.0.1"}],"ipam":{"type":"static"}})")
          .value();
  const auto with = [&](const std::string& result) {
    return with_ipam_result(own, cni::decode_result(R"({"cniVersion":"0.4.0",)" + result + "}", "").value());
  };
  const auto good = with(
      R"("ips":[{"version":"4","address":"10.0.0.5/24","gateway":"10.0.0.1"},{"version":"6","address":"fd00::5/64"}],)"
      R"("routes":[{"dst":"0.0.0.0/0"},{"dst":"10.1.0.0/16","gw":"10.0.0.2","priority":7,"table":9},{"dst":"fd01::/64"}])");
  ASSERT_TRUE(good.ok()) << good.error().what;
  EXPECT_EQ(good->addresses, (std::vector<std::string>{"10.0.0.5/24", "fd00::5/64"}));
  EXPECT_EQ(good->routes, (std::vector<NativeRoute>{{"10.9.0.0/16", "10.0.0.1"},
                                                    {"0.0.0.0/0", "10.0.0.1"},
                                                    {"10.1.0.0/16", "10.0.0.2", 7, 9},
                                                    {"fd01::/64", ""}}));
  EXPECT_FALSE(good->runs_ipam());
  const std::string address = R"("ips":[{"version":"4","address":"10.0.0.5/24"}])";
  const struct {
    std::string result;
    const char* why;
  } kCases[] = {
      {R"("ips":[])", "its result has no address"},
      {R"("ips":[{"version":"4","address":"127.0.0.1/8"}])", "its result.addresses[0] is \"127.0.0.1/8\""},
      {R"("ips":[{"version":"4","address":"10.0.0.5/24"},{"version":"4","address":"10.0.0.5/16"}])",
       "its result.addresses[1]"},
      {R"("ips":[{"version":"4","address":"10.3.0.5/24"}])", "network.routes[0].gateway is \"10.0.0.1\""},
      {R"("ips":[{"version":"6","address":"fd00::5/64"}])", "the interface has no IPv4 address"},
      {address + R"(,"routes":[{"dst":"10.1.0.1/16"}])", "its result.routes[0].dst"},
      {address + R"(,"routes":[{"dst":"10.1.0.0/16","gw":"10.0.9.1"}])", "network.routes[1].gateway"},
      {address + R"(,"routes":[{"dst":"10.1.0.0/16","table":255}])", "its result.routes[0].table"},
      {address + R"(,"routes":[{"dst":"10.1.0.0/16","mtu":1400}])", "its result.routes[0].mtu"},
      {address + R"(,"routes":[{"dst":"10.9.0.0/16"}])", "network.routes[1].destination"},
  };
  for (const auto& [result, why] : kCases) {
    const auto refused = with(result);
    ASSERT_FALSE(refused.ok()) << result;
    EXPECT_NE(refused.error().what.find(why), std::string::npos) << refused.error().what;
  }
}

Result<VfConfig> merged(Json::Array configs) {
  sample::ClaimText text;
  text.configs = std::move(configs);
  auto all = VfConfigs::decode(text.decoded(), sample::kSriov);
  if (!all) return std::move(all.error());
  return all->of("vf");
}

Json network(const char* text) { return kube::decode_json(text).value(); }

TEST(NativeNetworkTest, AClaimOnlyAddsToItsClass) {
  const Json of_class =
      config({{"network", network(R"({"mtu":9000,"addresses":["192.0.2.5/24"]})")}}, {}, "FromClass");
  const auto added = merged(
      {of_class,
       config({{"network",
                network(R"({"mtu":9000,"routes":[{"destination":"10.0.0.0/8","gateway":"192.0.2.1"}]})")}})});
  ASSERT_TRUE(added.ok()) << added.error().what;
  EXPECT_EQ(added->network->mtu, 9000);
  EXPECT_EQ(added->network->addresses.size() + added->network->routes.size(), 2u);
  for (const char* other : {R"({"mtu":1500})", R"({"addresses":["192.0.2.6/24"]})"}) {
    const auto changed = merged({of_class, config({{"network", network(other)}})});
    ASSERT_FALSE(changed.ok()) << other;
    EXPECT_NE(changed.error().what.find("which a claim cannot change"), std::string::npos)
        << changed.error().what;
  }
}

TEST(NativeNetworkTest, IpamBelongsToItsAuthor) {
  const auto by = [](const char* text, const char* source) {
    return config({{"network", network(text)}}, {}, source);
  };
  constexpr const char* kOfClass =
      R"({"ipam":{"type":"host-local","subnet":"10.0.0.0/24","dataDir":"/var/leases"}})";
  constexpr const char* kOfClaim = R"({"ipam":{"type":"host-local","subnet":"10.0.0.0/24"}})";
  const auto of_class = merged({by(kOfClass, "FromClass"), by(R"({"mtu":1400})", "FromClaim")});
  ASSERT_TRUE(of_class.ok()) << of_class.error().what;
  EXPECT_FALSE(of_class->is_ipam_claims);
  EXPECT_TRUE(of_class->network->runs_ipam());
  EXPECT_TRUE(merged({by(kOfClaim, "FromClaim")})->is_ipam_claims);
  EXPECT_TRUE(merged({by("{}", "FromClass"), by(kOfClaim, "FromClaim")})->is_ipam_claims);
  EXPECT_FALSE(merged({by(kOfClass, "FromClaim")}).ok()) << "a directory of the host";
  EXPECT_FALSE(merged({by(kOfClass, "FromClass"), by(kOfClaim, "FromClaim")}).ok());
  EXPECT_FALSE(merged({by(kOfClass, "FromClass"), by(R"({"addresses":["10.0.0.5/24"]})", "FromClaim")}).ok());
}

TEST(NativeNetworkTest, IpamOfAClaimAddsNoRouteToItsClass) {
  const auto of_claim = [](const std::string& routes) {
    const std::string text =
        R"({"ipam":{"type":"host-local","subnet":"10.0.0.0/24","routes":)" + routes + "}}";
    return config({{"network", network(text.c_str())}});
  };
  const Json of_class =
      config({{"network", network(R"({"routes":[{"destination":"10.1.0.0/16","gateway":"10.0.0.1"}]})")}}, {},
             "FromClass");
  EXPECT_TRUE(merged({of_class, of_claim("[]")}).ok());
  EXPECT_TRUE(merged({of_claim(R"([{"dst":"0.0.0.0/0"}])")}).ok());
  const auto changed = merged({of_class, of_claim(R"([{"dst":"0.0.0.0/0"}])")});
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().what.find("network.ipam.routes adds to routes, which the DeviceClass sets"),
            std::string::npos)
      << changed.error().what;
}

TEST(NativeNetworkTest, AClaimAddsNoRouteToTheIpamOfItsClass) {
  const auto of_class = [](const std::string& routes) {
    const std::string text =
        R"({"ipam":{"type":"host-local","subnet":"10.0.0.0/24","routes":)" + routes + "}}";
    return config({{"network", network(text.c_str())}}, {}, "FromClass");
  };
  const Json of_claim =
      config({{"network", network(R"({"routes":[{"destination":"0.0.0.0/1","gateway":"10.0.0.9"}]})")}});
  EXPECT_TRUE(merged({of_class("[]"), of_claim}).ok());
  const auto changed = merged({of_class(R"([{"dst":"0.0.0.0/0"}])"), of_claim});
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().what.find("network.routes adds to ipam.routes, which the DeviceClass sets"),
            std::string::npos)
      << changed.error().what;
}

// VLAN 100 of 802.1ad is another one than that of the DeviceClass.
TEST(NativeNetworkTest, AClaimDoesNotChangeTheVlanProtocolOfItsClass) {
  const auto by = [](const char* text, const char* source) {
    return config({{"network", network(text)}}, {}, source);
  };
  const Json of_class = by(R"({"vlan":100})", "FromClass");
  EXPECT_TRUE(merged({of_class, by(R"({"vlanProto":"802.1q"})", "FromClaim")}).ok());
  EXPECT_TRUE(merged({by(R"({"vlan":100,"vlanProto":"802.1ad"})", "FromClass"),
                      by(R"({"vlanProto":"802.1ad"})", "FromClaim")})
                  .ok());
  EXPECT_TRUE(merged({by("{}", "FromClass"), by(R"({"vlan":100,"vlanProto":"802.1ad"})", "FromClaim")}).ok());
  const auto changed = merged({of_class, by(R"({"vlanProto":"802.1ad"})", "FromClaim")});
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().what.find("vlanProto is 802.1ad, and the DeviceClass sets vlan 100"),
            std::string::npos)
      << changed.error().what;
}

// Red when the second configuration of a DeviceClass drops the VLAN of its first one, and the claim chooses another.
TEST(NativeNetworkTest, MergesSeveralConfigurationsByField) {
  const auto of_class = [](const char* text) {
    return config({{"network", network(text)}}, {}, "FromClass");
  };
  const Json::Array classes = {
      of_class(R"({"vlan":100,"trust":true,"addresses":["192.0.2.5/24","2001:db8::5/64"]})"),
      of_class(R"({"mtu":9000,"trust":false,"sysctls":{"net.ipv4.conf.IFNAME.arp_ignore":"1"},)"
               R"("duplicateAddressDetection":"wait"})")};
  const auto merged_class = merged(classes);
  ASSERT_TRUE(merged_class.ok()) << merged_class.error().what;
  EXPECT_EQ(merged_class->network->vf.vlan, 100);
  EXPECT_EQ(merged_class->network->vf.trust, false) << "the later one counts";
  EXPECT_EQ(merged_class->network->mtu, 9000);
  EXPECT_EQ(merged_class->network->addresses.size(), 2u);
  EXPECT_EQ(merged_class->network->sysctls.size(), 1u);
  EXPECT_TRUE(merged_class->network->waits_for_dad());
  for (const char* other : {R"({"vlan":200})", R"({"addresses":["192.0.2.6/24"]})", R"({"trust":true})"}) {
    Json::Array all = classes;
    all.push_back(config({{"network", network(other)}}));
    const auto changed = merged(all);
    ASSERT_FALSE(changed.ok()) << other;
    EXPECT_NE(changed.error().what.find("which a claim cannot change"), std::string::npos);
  }
}

TEST(NativeNetworkTest, NetworkDefinitionAndVfioAreExclusive) {
  const Json empty{Json::Object{}};
  EXPECT_TRUE(merged({config({{"network", empty}})})->requires_interface());
  EXPECT_FALSE(merged({config({{"network", empty}, {"netAttachDefName", "nad"}})}).ok());
  EXPECT_FALSE(
      merged({config({{"network", empty}}, {}, "FromClass"), config({{"netAttachDefName", "nad"}})}).ok());
  EXPECT_FALSE(merged({config({{"network", empty}, {"driver", "vfio-pci"}})}).ok());
}

}  // namespace
}  // namespace native_network_test
}  // namespace sliced::kubelet
