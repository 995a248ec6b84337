#include "kubectl/migrate/dranet_network.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"

namespace sliced::migrate {
namespace dranet_network_test {
namespace {

ConvertedNetwork converted(const std::string& yaml, const std::string& only_interface = "") {
  return convert_network(kube::decode_yaml(yaml).documents.at(0), only_interface);
}
std::string network(const std::string& yaml) {
  const auto out = converted(yaml);
  EXPECT_TRUE(out.lost.empty()) << out.lost.front().field << ": " << out.lost.front().why;
  return kube::encode_json(*out.parameters.find("network"));
}
// "field=value" of each that is lost.
std::vector<std::string> lost(const std::string& yaml) {
  std::vector<std::string> out;
  for (const LostField& one : converted(yaml).lost) {
    out.push_back(one.field + "=" + one.value + (one.is_error ? " error" : ""));
    EXPECT_FALSE(one.why.empty() || one.remedy.empty()) << one.field;
    EXPECT_GT(one.line, 0) << one.field;
  }
  return out;
}
using Texts = std::vector<std::string>;

TEST(DranetNetwork, ConvertsFieldsWithACounterpart) {
  const auto out = converted(R"(
interface: {name: data0, mtu: 9000, hardwareAddr: 02-00-00-00-00-2A, addresses: [198.51.100.7/25, "2001:db8:7::1/64"], dhcp: false}
routes: [{destination: 203.0.113.77/24, gateway: 198.51.100.1}, {destination: 192.0.2.0/26, scope: 253}, {destination: "::/0", gateway: "fe80::1", table: 254}]
ethtool: {features: {}}
)");
  EXPECT_TRUE(out.lost.empty()) << out.lost.front().field << out.lost.front().why;
  EXPECT_EQ(
      kube::encode_json(out.parameters),
      R"({"apiVersion":"sriovnetwork.k8snetworkplumbingwg.io/v1alpha1","kind":"VfConfig","ifName":"data0","network":)"
      R"({"mtu":9000,"mac":"02:00:00:00:00:2a","addresses":["198.51.100.7/25","2001:db8:7::1/64"],)"
      R"("routes":[{"destination":"192.0.2.0/26"},{"destination":"203.0.113.0/24","gateway":"198.51.100.1"},{"destination":"::/0","gateway":"fe80::1"}]}})");
  EXPECT_TRUE(out.sets_mac && out.names_interface && out.has_addresses);
}

TEST(DranetNetwork, AnEmptyConfigurationMovesTheInterfaceUnchanged) {
  EXPECT_EQ(network("{}"), "{}");
  EXPECT_EQ(network("interface: {}"), "{}");
  const auto out = convert_network(kube::Json(), "rail3");
  EXPECT_EQ(out.parameters.text("ifName"), "rail3") << "dranet keeps the name of the host";
  EXPECT_EQ(convert_network(kube::Json(), "eth0").parameters.text("ifName"), "") << "a pod's own";
}

TEST(DranetNetwork, NamesEachFieldWithoutACounterpart) {
  EXPECT_EQ(lost(R"(
profile: fabric-a
interface: {name: eth0, dhcp: true, gsoMaxSize: 65536, groMaxSize: 1, gsoIPv4MaxSize: 2, groIPv4MaxSize: 3, disableEbpfPrograms: true, vrf: {name: red, table: 1007}}
ethtool: {features: {rx-checksum: false}, privateFlags: {a: true, b: false}}
)"),
            (Texts{"profile=\"fabric-a\"", "interface.gsoMaxSize=65536", "interface.groMaxSize=1",
                   "interface.gsoIPv4MaxSize=2", "interface.groIPv4MaxSize=3",
                   "interface.vrf={name: red, table: 1007}", "ethtool.features.rx-checksum=false",
                   "ethtool.privateFlags.a=true", "ethtool.privateFlags.b=false", "interface.name=\"eth0\"",
                   "interface.dhcp=true", "interface.disableEbpfPrograms=true"}));
  EXPECT_TRUE(
      lost(
          "interface: {dhcp: false, disableEbpfPrograms: false, forwarding: false}\nethtool: {privateFlags: {}}\nprofile: ''")
          .empty());
}

TEST(DranetNetwork, ConvertsTablesRulesNeighborsAndSysctls) {
  EXPECT_EQ(
      network(R"(
interface: {addresses: [192.0.2.10/24], forwarding: true, arpIgnore: 1, arpAnnounce: 2}
routes: [{destination: 0.0.0.0/0, gateway: 192.0.2.1, table: 120}]
rules: [{source: 192.0.2.10/24, table: 120, priority: 31000}]
neighbors: [{destination: 192.0.2.1, hardwareAddr: 02-00-00-00-00-0A}]
)"),
      R"({"addresses":["192.0.2.10/24"],"sysctls":{"net.ipv4.conf.IFNAME.forwarding":"1","net.ipv6.conf.IFNAME.forwarding":"1",)"
      R"("net.ipv4.conf.IFNAME.arp_ignore":"1","net.ipv4.conf.IFNAME.arp_announce":"2"},)"
      R"("routes":[{"destination":"0.0.0.0/0","gateway":"192.0.2.1","table":120}],)"
      R"("rules":[{"source":"192.0.2.0/24","table":120,"priority":31000}],)"
      R"("neighbors":[{"address":"192.0.2.1","mac":"02:00:00:00:00:0a"}]})");
  EXPECT_EQ(lost("interface: {addresses: [192.0.2.10/24]}\nrules: [{source: 192.0.2.0/24, table: 120}]"),
            Texts{"rules[0]={source: 192.0.2.0/24, table: 120}"})
      << "without a priority the kernel chooses one, and sliced does not";
}

// In the main table a route of another one would carry other traffic.
TEST(DranetNetwork, OmitsRoutesOfOtherTables) {
  const auto vrf = converted(R"(
interface: {addresses: [192.0.2.2/24], vrf: {name: red}}
routes: [{destination: 0.0.0.0/0, gateway: 192.0.2.1}]
)");
  EXPECT_EQ(vrf.lost.size(), 2u);
  EXPECT_EQ(vrf.parameters.find({"network", "routes"}), nullptr);
}

TEST(DranetNetwork, RefusesConfigurationsThatDranetRefuses) {
  EXPECT_EQ(lost("interface: {Name: a, mtu: 1500}\nneighbours: []"),
            (Texts{"neighbours=[] error", "interface.Name=\"a\" error"}));
  EXPECT_EQ(lost("interface: [a]").size(), 1u);
  EXPECT_EQ(
      converted("neighbors: [{ipAddress: 192.0.2.1, hardwareAddr: 02:00:00:00:00:01}]").lost.at(0).remedy,
      "did you mean destination?");
  EXPECT_EQ(lost("interface: {addresses: [192.0.2.5]}").size(), 1u);
  EXPECT_EQ(lost("interface: {mtu: 12}"), Texts{"interface.mtu=12"});
}

}  // namespace
}  // namespace dranet_network_test
}  // namespace sliced::migrate
