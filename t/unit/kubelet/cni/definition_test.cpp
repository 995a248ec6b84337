#include "kubelet/cni/definition.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "reactor/base/text.h"
#include "t/fixture/golden.h"
#include "t/fixture/growth.h"

namespace sliced::cni {
namespace {

using kube::Json;

const DefinitionDevice kFunction{.pci = "0000:03:00.2", .interface = "eth2"};
const DefinitionDevice kParent{.pci = "", .interface = "ens1f0", .is_exclusive = false};

DefinitionRules rules(std::vector<std::string> plugins, Author author = Author::kNamespaceUser) {
  return {.author = author, .plugins = std::move(plugins), .plugins_source = "the list"};
}

Result<std::string> canonical(std::string_view config, const DefinitionRules& rules,
                              const DefinitionDevice& device) {
  return canonical_definition(config, "nad", rules, device);
}

std::string why_not(std::string_view config, const DefinitionRules& rules, const DefinitionDevice& device) {
  const auto text = canonical(config, rules, device);
  return text ? "" : text.error().what;
}

std::string plugin_of(std::string_view type, std::string_view members) {
  if (type == "vlan" && members.find("vlanId") == std::string_view::npos)
    return R"({"type":"vlan","vlanId":5)" + std::string(members.empty() ? "" : ",") + std::string(members) +
           "}";
  return R"({"type":")" + std::string(type) + '"' + (members.empty() ? "" : ",") + std::string(members) + "}";
}

// As the chain's second, behind one that runs.
std::string companion_of(std::string_view type, std::string_view members) {
  return R"({"plugins":[{"type":"sriov"},)" + plugin_of(type, members) + "]}";
}

// Facts of encoding/json: U+017F folds to s, U+212A to k, and escapes are decoded before the comparison.
TEST(FoldedKey, FoldsLikeGo) {
  EXPECT_EQ(folded_key("PCIBusID"), "pcibusid");
  EXPECT_EQ(folded_key("maſter"), "master");
  EXPECT_EQ(folded_key("linK"), "link");
  EXPECT_EQ(folded_key("lin\u212A"), "link");
  EXPECT_EQ(folded_key("straße"), "straße") << "a rune that folds to no ASCII letter";
}

TEST(CanonicalDefinition, RefusesKeysThatGoReadsDifferentlyAtEveryDepth) {
  const auto all = rules({"sriov", "host-device", "macvlan", "own", "portmap"});
  const struct {
    std::string config, says;
  } cases[] = {
      {R"({"type":"host-device","Device":"eno1"})", "Device differs in case"},
      {R"({"type":"host-device","\u0044evice":"eno1"})", "Device differs in case"},
      {R"({"type":"macvlan","maſter":"eno1"})", "expected master"},
      {R"({"type":"macvlan","ma\u017fter":"eno1"})", "expected master"},
      {R"({"type":"ib-sriov","p\u212aey":"0x7fff"})", "expected pkey"},
      {R"({"type":"macvlan","mode":"bridge","MODE":"vepa"})", "are one field to a CNI plugin"},
      {R"({"type":"macvlan","MODE":"vepa"})", "expected mode"},
      {R"({"Type":"macvlan","type":"sriov"})", "expected type"},
      {R"({"type":"sriov","ipam":{"type":"static","Addresses":[{"address":"10.0.0.1/8"}]}})",
       "ipam.Addresses"},
      {R"({"type":"sriov","IPAM":{"type":"static"}})", "expected ipam"},
      {R"({"type":"sriov","ipam":{"type":"host-local","ranges":[[{"subnet":"10.0.0.0/8","SUBNET":"0.0.0.0/0"}]]}})",
       "ipam.ranges[0][0].SUBNET"},
      {R"({"type":"own","a":{"b":[{"x":1,"X":2}]}})", "a.b[0].X"},
      {R"({"type":"own","a":{"b":[{"Device":1}]}})", "a.b[0].Device"},
      {R"({"type":"own","größe":1})", "not printable ASCII"},
      {R"({"type":"own","a\u0000":1})", "not printable ASCII"},
      {R"({"type":"own","":1})", "not printable ASCII"},
      {R"({"plugins":[{"type":"sriov"}],"Plugins":[{"type":"own"}]})", "are one field"},
      {R"({"plugins":[{"type":"sriov","Capabilities":{"mac":true}}]})", "expected capabilities"},
  };
  for (const auto& [config, says] : cases) {
    const std::string why = why_not(config, all, kFunction);
    EXPECT_NE(why.find(says), std::string::npos) << config << "\n" << why;
  }
}

// Every name of every table, in another spelling, in its own place and alone.
TEST(CanonicalDefinition, NoTableFieldIsReachableByAnotherSpelling) {
  const auto check = [](const PluginFields& plugin, bool is_ipam) {
    for (const Field& field : plugin.fields) {
      EXPECT_EQ(reserved_spelling(field.name), field.name) << "two tables spell it in two ways";
      for (std::string other : {lower(field.name), [&] {
                                  std::string upper(field.name);
                                  for (char& c : upper) c = static_cast<char>(toupper(c));
                                  return upper;
                                }()}) {
        if (other == field.name) continue;
        const std::string type(plugin.type), member = "\"" + other + "\":1";
        const std::string config =
            is_ipam ? R"({"type":"sriov","ipam":)" + plugin_of(type, member) + "}" : plugin_of(type, member);
        EXPECT_NE(why_not(config, rules({"sriov", type}), kFunction).find(other), std::string::npos)
            << config;
      }
    }
  };
  for (const PluginFields& plugin : all_plugins()) check(plugin, false);
  for (const PluginFields& plugin : all_ipam_plugins()) check(plugin, true);
}

TEST(CanonicalDefinition, AcceptsOnlyFieldsOfTheTableAtEveryDepth) {
  const auto all =
      rules({"sriov", "ib-sriov", "host-device", "tuning", "portmap", "firewall", "multus", "flannel"});
  const struct {
    std::string type, members, names;
  } cases[] = {
      {"sriov", R"("OrigVfState":{"HostIFName":"eno1"})", "OrigVfState"},
      {"sriov", R"("VFID":3)", "VFID"},
      {"sriov", R"("logFile":"/etc/cron.d/x")", "logFile"},
      {"sriov", R"("Master":"eno1")", "Master"},
      {"sriov", R"("master":"eno1")", "master"},
      {"sriov", R"("x":null)", "x"},
      {"ib-sriov", R"("HostIFNames":"eno1")", "HostIFNames"},
      {"ib-sriov", R"("ContIFNames":"eno1")", "ContIFNames"},
      {"ib-sriov", R"("RdmaNetState":{"deviceID":"0000:04:00.0"})", "RdmaNetState"},
      {"ib-sriov", R"("kubeconfig":"/etc/kubernetes/admin.conf")", "kubeconfig"},
      {"ib-sriov", R"("publishPfGuid":true)", "publishPfGuid"},
      {"host-device", R"("mtu":1500)", "mtu"},
      {"tuning", R"("dataDir":"/etc")", "dataDir"},
      {"tuning", R"("args":{"cni":{"sysctl":{"net.ipv4.ip_forward":"1"}}})", "args"},
      {"portmap", R"("runtimeConfig":{"portMappings":[]})", "runtimeConfig"},
      {"portmap", R"("conditionsV4":["-j","ACCEPT"])", "conditionsV4"},
      {"portmap", R"("prevResult":{"cniVersion":"1.0.0"})", "prevResult"},
      {"firewall", R"("firewalldZone":"trusted")", "type is \"firewall\""},
      {"multus", R"("delegates":[{"type":"host-device","device":"eno1"}])", "delegates"},
      {"multus", R"("kubeconfig":"/etc/kubernetes/admin.conf")", "kubeconfig"},
      {"flannel", R"("delegate":{"type":"bridge"})", "delegate"},
      {"flannel", R"("dataDir":"/etc")", "dataDir"},
      {"sriov", R"("capabilities":{"portMappings":true})", "capabilities.portMappings"},
      {"sriov", R"("capabilities":{"deviceID":true})", "capabilities.deviceID"},
      {"sriov", R"("capabilities":{"ips":false})", "capabilities.ips"},
      {"sriov", R"("dns":{"nameservers":["10.0.0.1"],"file":"/x"})", "dns.file"},
      {"sriov", R"("ipam":{"type":"host-local","subnet":"10.0.0.0/8","dataDir":"/etc"})", "dataDir"},
      {"sriov", R"("ipam":{"type":"host-local","subnet":"10.0.0.0/8","resolvConf":"/etc/shadow"})",
       "resolvConf"},
      {"sriov", R"("ipam":{"type":"host-local","name":"other"})", "name"},
      {"sriov", R"("ipam":{"type":"dhcp","daemonSocketPath":"/run/x.sock"})", "daemonSocketPath"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","log_file":"/x"})", "log_file"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","configuration_path":"/x"})",
       "configuration_path"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","kubernetes":{"kubeconfig":"/x"}})",
       "kubernetes"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","etcd_host":"x"})", "etcd_host"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","datastore":"etcd"})", "datastore"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","PodName":"x"})", "PodName"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"0.0.0.0/0"})", "range is \"0.0.0.0/0\""},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.1-10.0.0.9/0"})", "range is"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","exclude":["::/0"]})", "exclude is"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"fd00::/8","exclude":["fd00::/9"]})", "exclude is"},
      {"sriov",
       R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","exclude":["10.0.0.0/16","10.1.0.0/32"]})",
       "exclude is"},
      {"sriov",
       R"("ipam":{"type":"whereabouts","ipRanges":[{"range":"10.0.0.0/8","exclude":["10.0.0.0/9"]}]})",
       "exclude is"},
      {"sriov",
       R"("ipam":{"type":"whereabouts","ipRanges":[{"range":"10.0.0.0/8","exclude":["10.0.0.0/17"]},{"range":"11.0.0.0/8","exclude":["11.0.0.0/17","11.1.0.0/32"]}]})",
       "exclude of all ranges has 65537 addresses: expected at most 65536 together"},
      {"sriov",
       R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","exclude":["10.0.0.0/16"],"ipRanges":[{"range":"11.0.0.0/8","exclude":["11.0.0.0/16"]}]})",
       "exclude of all ranges has 131072 addresses"},
      {"sriov", R"("ipam":{"type":"whereabouts","ipRanges":[{"range":"::/00"}]})", "range is"},
      {"sriov", R"("ipam":{"type":"whereabouts","range":"::ffff:0.0.0.0/96"})", "range is"},
      {"sriov", R"("ipam":{"type":"static","addresses":[{"address":"::ffff:10.0.0.1/120"}]})", "address is"},
      {"sriov", R"("ipam":{"type":"portmap"})", "type is \"portmap\""},
      {"sriov", R"("ipam":{"type":"own"})", "type is \"own\""},
      {"sriov", R"("ipam":{"type":"../x"})", "type is"},
      {"sriov", R"("ipam":{"subnet":"10.0.0.0/8"})", "type is"},
      {"sriov", R"("ipam":"static")", "ipam is"},
      {"sriov", R"("ipam":{"type":"static","routes":[{"dst":"0.0.0.0/0","dev":"eth0"}]})", "routes[0].dev"},
  };
  for (const auto& [type, members, names] : cases) {
    const std::string why = why_not(plugin_of(type, members), all, kFunction);
    EXPECT_NE(why.find(names), std::string::npos) << type << " " << members << "\n" << why;
  }
}

TEST(CanonicalDefinition, ChecksEachValue) {
  const auto all = rules({"sriov", "ib-sriov", "macvlan", "ipvlan", "bridge", "vlan"});
  const struct {
    std::string type, field;
    std::vector<std::string> good, bad;
  } cases[] = {
      {"sriov", "vlan", {"0", "4094"}, {"-1", "4095", "\"5\"", "5.0", "1e2", "[]"}},
      {"sriov", "vlanQoS", {"0", "7"}, {"8"}},
      {"sriov", "vlanProto", {R"("802.1q")", R"("802.1ad")"}, {R"("802.1x")", "1"}},
      {"sriov", "trust", {R"("on")", R"("off")"}, {"true", R"("On")", R"("on\n")"}},
      {"sriov", "link_state", {R"("auto")"}, {R"("up")"}},
      {"sriov", "max_tx_rate", {"0", "100"}, {"-1", "99999999999999999999"}},
      {"sriov",
       "mac",
       {R"("02:00:00:00:00:01")"},
       {R"("01:00:5e:00:00:01")", R"("00:00:00:00:00:00")", R"("02:00:00:00:00")", R"("02-00-00-00-00-01")"}},
      {"sriov", "mtu", {"1500"}, {"-1", "65536"}},
      {"ib-sriov", "pkey", {R"("0x7fff")", R"("7fff")"}, {R"("0x")", R"("0x10000")", R"("g")"}},
  };
  for (const auto& [type, field, good, bad] : cases) {
    for (const std::string& value : good) {
      const auto text = canonical(plugin_of(type, "\"" + field + "\":" + value), all, kFunction);
      ASSERT_TRUE(text.ok()) << field << " " << value << " " << text.error().what;
      EXPECT_NE(text->find("\"" + field + "\":" + value), std::string::npos) << *text;
    }
    for (const std::string& value : bad)
      EXPECT_NE(why_not(plugin_of(type, "\"" + field + "\":" + value), all, kFunction).find(field + " is "),
                std::string::npos)
          << field << " " << value;
  }
}

TEST(CanonicalDefinition, AcceptsSysctlsOfTheInterfaceAndSafeOnes) {
  const auto sriov = rules({"sriov"});
  for (const char* name : {"net.ipv4.conf.IFNAME.arp_filter", "net.ipv6.conf.IFNAME.accept_ra",
                           "net.ipv4.neigh.IFNAME.base_reachable_time_ms", "net.ipv4.tcp_syncookies"})
    EXPECT_EQ(
        why_not(companion_of("tuning", R"("sysctl":{")" + std::string(name) + R"(":"1"})"), sriov, kFunction),
        "")
        << name;
  for (const char* name :
       {"net.ipv4.ip_forward", "net.core.somaxconn", "kernel.shm_rmid_forced", "net.ipv4.conf.all.arp_filter",
        "net.ipv4.conf.eth0.arp_filter", "net/ipv4/conf/IFNAME/arp_filter",
        "net.ipv4.conf.IFNAME/../all.arp_filter", "net.ipv4.conf.IFNAME..arp_filter",
        "net.ipv4.conf.IFNAME.a.b", "net.ipv4.conf.IFNAME.", "net.ipv4.conf.IFNAME",
        "Net.ipv4.tcp_syncookies", "net.ipv4.tcp_syncookies ", "net....kernel.core_pattern"})
    EXPECT_NE(
        why_not(companion_of("tuning", R"("sysctl":{")" + std::string(name) + R"(":"1"})"), sriov, kFunction),
        "")
        << name;
  EXPECT_NE(
      why_not(companion_of("tuning", R"("sysctl":{"net.ipv4.tcp_syncookies":"1\n2"})"), sriov, kFunction),
      "");
  EXPECT_NE(why_not(companion_of("tuning", R"("sysctl":{"net.ipv4.tcp_syncookies":1})"), sriov, kFunction),
            "");
}

// Red when a definition may set what `network` of a claim may not: the log and memory of the host, and answers for others.
TEST(CanonicalDefinition, RefusesSysctlsThatReachBeyondThePod) {
  for (const char* last : {"log_martians", "unres_qlen", "unres_qlen_bytes", "proxy_qlen", "max_addresses",
                           "proxy_arp", "proxy_ndp", "proxy_arp_pvlan", "bc_forwarding"})
    for (const char* start : {"net.ipv4.conf.IFNAME.", "net.ipv6.conf.IFNAME.", "net.ipv4.neigh.IFNAME.",
                              "net.ipv6.neigh.IFNAME.", "net.mpls.conf.IFNAME."}) {
      const std::string config =
          companion_of("tuning", R"("sysctl":{")" + std::string(start) + last + R"(":"1"})");
      EXPECT_NE(why_not(config, rules({"sriov"}), kFunction).find(last), std::string::npos) << start << last;
      EXPECT_EQ(why_not(config, rules({"sriov"}, Author::kAdministrator), kFunction), "") << start << last;
    }
}

// Red when a definition may name a VRF like another interface of the pod, so that DEL of the plugin never succeeds.
TEST(CanonicalDefinition, NamesAVrfThatTheKernelCanCreate) {
  const auto refusal = [](const std::string& name) {
    return why_not(companion_of("vrf", R"("vrfname":")" + name + "\""), rules({"sriov"}), kFunction);
  };
  for (const char* name : {"lo", "eth0", "all", "default", "vrf%d", "%d", "", ".", "a/b", "sixteen-bytes-xx"})
    EXPECT_NE(refusal(name).find("vrfname is"), std::string::npos) << name << ": " << refusal(name);
  for (const char* name : {"blue", "lo0", "eth", "defaults", "net1"}) EXPECT_EQ(refusal(name), "") << name;
}

TEST(CanonicalDefinition, RunsCompanionsBehindAPluginAndHostPluginsIfListed) {
  for (const char* type : {"tuning", "sbr", "route-override", "rdma"})
    EXPECT_EQ(why_not(companion_of(type, ""), rules({"sriov"}), kFunction), "") << type;
  EXPECT_EQ(why_not(companion_of("vrf", R"("vrfname":"blue","table":100)"), rules({"sriov"}), kFunction), "");
  for (const char* type : {"portmap", "firewall", "bandwidth", "ptp", "multus", "flannel", "own"}) {
    EXPECT_NE(
        why_not(companion_of(type, ""), rules({"sriov"}), kFunction).find("type is \"" + std::string(type)),
        std::string::npos);
    const bool is_administrators = std::string_view(type) == "ptp" || std::string_view(type) == "firewall";
    const Author author = is_administrators ? Author::kAdministrator : Author::kNamespaceUser;
    const std::string config = std::string_view(type) == "ptp" ? plugin_of(type, "") : companion_of(type, "");
    EXPECT_EQ(why_not(config, rules({"sriov", type}, author), kFunction), "") << type;
  }
  const std::string rdma = R"({"plugins":[{"type":"macvlan"},{"type":"rdma"}]})";
  fixture::expect_golden(why_not(rdma, rules({"macvlan"}), kParent));
  fixture::expect_golden(why_not(rdma, rules({"macvlan"}), {.pci = "", .interface = "ens1f0"}));
}

// bond-cni takes the host's interfaces with {"linksInContainer":false,"links":[{"name":"eno1"}]}, and others paths, sockets and
// programs, in fields that are unknown here.
TEST(CanonicalDefinition, AcceptsPluginsWithoutATableOnlyFromAdministrators) {
  for (const char* config :
       {R"({"type":"bond","links":[{"name":"eno1"}],"linksInContainer":false})",
        R"({"type":"ovs","socket_file":"unix:/run/evil.sock"})", R"({"type":"userspace","sharedDir":"/etc"})",
        R"({"plugins":[{"type":"sriov"},{"type":"bond","deep":[[{"a":{"b":"eno1"}}]]}]})"}) {
    const std::vector<std::string> listed = {"sriov", "bond", "ovs", "userspace"};
    EXPECT_NE(why_not(config, rules(listed), kFunction).find("is a plugin without a table of fields"),
              std::string::npos)
        << config;
    EXPECT_EQ(why_not(config, rules(listed, Author::kAdministrator), kFunction), "") << config;
  }
  EXPECT_EQ(
      why_not(R"({"type":"own","count":2,"on":true,"of":[1,2.5],"no":null})", rules({"own"}), kFunction), "");
}

// accelerated-bridge-cni and others set the VLAN of a VF as sriov does, in a field of the same name.
TEST(CanonicalDefinition, AppliesPermissionsToPluginsWithoutATable) {
  DefinitionRules only_mac = rules({"accelerated-bridge"});
  only_mac.settings = {"mac"}, only_mac.settings_source = "spec.allow of a policy";
  for (const char* fields :
       {R"("vlan":100)", R"("vlanId":100)", R"("vlanTrunk":[1])", R"("deep":[{"vlanQoS":3}])",
        R"("trunk":[{"minID":2,"maxID":9}])", R"("setUplinkVlan":true)", R"("max_tx_rate":1)",
        R"("preserveDefaultVlan":true)"})
    EXPECT_NE(
        why_not(plugin_of("accelerated-bridge", fields), only_mac, kFunction).find("added to spec.allow"),
        std::string::npos)
        << fields;
  DefinitionRules one_vlan = only_mac;
  one_vlan.settings = {"vlan"}, one_vlan.vlans = *VlanIds::decode("100-199");
  for (const char* fields : {R"("vlan":100)", R"("trunk":[{"minID":100,"maxID":110},{"id":120}])"})
    EXPECT_EQ(why_not(plugin_of("accelerated-bridge", fields), one_vlan, kFunction), "") << fields;
  for (const char* fields :
       {R"("vlan":200)", R"("vlan":{"id":100})", R"("trunk":[100])", R"("trunk":[[100]])",
        R"("trunk":[{"from":5}])", R"("trunk":[{"id":100,"to":300}])", R"("trunk":[{"minID":100}])",
        R"("setUplinkVlan":true)"})
    EXPECT_NE(why_not(plugin_of("accelerated-bridge", fields), one_vlan, kFunction), "") << fields;
  for (const char* field : {"isGateway", "forceAddress", "ipMasq", "macspoofchk", "promiscMode"}) {
    const std::string config = plugin_of("own", "\"" + std::string(field) + R"(":true)");
    EXPECT_NE(why_not(config, rules({"own"}), kFunction).find("which changes the host"), std::string::npos)
        << field;
    EXPECT_EQ(why_not(config, rules({"own"}, Author::kAdministrator), kFunction), "") << field;
    EXPECT_EQ(why_not(plugin_of("own", "\"" + std::string(field) + R"(":false)"), rules({"own"}), kFunction),
              "")
        << field;
  }
  EXPECT_EQ(why_not(plugin_of("own", R"("vlan":100,"mtu":1400)"), rules({"own"}), kFunction), "")
      << "without spec.allow all settings are allowed";
}

// Mellanox/k8s-rdma-shared-dev-plugin#53. Red when an IPoIB child gets no parent, or one that is not the claim's.
TEST(CanonicalDefinition, CreatesAnIpoibChildOnTheAllocatedDevice) {
  const DefinitionDevice hca{.pci = "0000:3b:00.0", .interface = "ib0"};
  const auto written = canonical_definition(plugin_of("ipoib", ""), "n", rules({"ipoib"}), hca);
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_NE(written->find(R"("master":"ib0")"), std::string::npos) << *written;
  EXPECT_EQ(why_not(plugin_of("ipoib", R"("master":"ib0")"), rules({"ipoib"}), hca), "");
  EXPECT_NE(why_not(plugin_of("ipoib", R"("master":"ib3")"), rules({"ipoib"}), hca)
                .find(R"(master is "ib3", and the claim was allocated "ib0")"),
            std::string::npos);
  EXPECT_NE(why_not(plugin_of("ipoib", R"("pkey":"0x8001")"), rules({"ipoib"}), hca), "");
}

// A VF on vfio-pci is not moved, so net.ipv4.conf.IFNAME would be the one that the pod has already.
TEST(CanonicalDefinition, RunsNoCompanionForADeviceOnVfio) {
  DefinitionDevice on_vfio = kFunction;
  on_vfio.is_on_vfio = true;
  for (const char* type : {"tuning", "sbr", "route-override", "rdma"})
    EXPECT_NE(
        why_not(companion_of(type, ""), rules({"sriov"}), on_vfio).find("a device on vfio-pci has none"),
        std::string::npos)
        << type;
  EXPECT_EQ(why_not(plugin_of("sriov", R"("vlan":5)"), rules({"sriov"}), on_vfio), "");
}

TEST(CanonicalDefinition, RunsHostChangingBridgeFeaturesIfListed) {
  const std::map<std::string, std::string> features = {{"ipMasq", "bridge.ipMasq"},
                                                       {"isGateway", "bridge.isGateway"},
                                                       {"isDefaultGateway", "bridge.isGateway"},
                                                       {"forceAddress", "bridge.isGateway"},
                                                       {"macspoofchk", "bridge.macspoofchk"},
                                                       {"promiscMode", "bridge.promiscMode"}};
  for (const auto& [field, name] : features) {
    const std::string on = plugin_of("bridge", "\"" + field + "\":true");
    EXPECT_NE(why_not(on, rules({"bridge"}), kParent).find("have " + name + " added to the list"),
              std::string::npos);
    const bool is_administrators = name == "bridge.isGateway" || name == "bridge.ipMasq";
    EXPECT_EQ(why_not(on, rules({"bridge", name}), kParent).empty(), !is_administrators) << field;
    EXPECT_EQ(why_not(on, rules({"bridge", name}, Author::kAdministrator), kParent), "");
    EXPECT_EQ(why_not(plugin_of("bridge", "\"" + field + "\":false"), rules({"bridge"}), kParent), "");
    EXPECT_EQ(names_to_list(on), std::vector<std::string>{name});
  }
}

// When ADD of macvlan fails, its DEL deletes the interface that host-device has moved into the pod.
TEST(CanonicalDefinition, OnlyTheFirstPluginCreatesOrMovesAnInterface) {
  const DefinitionDevice link{.pci = "", .interface = "eth7"};
  for (const Author author : {Author::kNamespaceUser, Author::kAdministrator})
    for (const std::string second :
         {"macvlan", "ipvlan", "macvtap", "vlan", "host-device", "sriov", "ib-sriov"}) {
      const std::string config = R"({"plugins":[{"type":"host-device"},)" + plugin_of(second, "") + "]}";
      const std::string why = why_not(config, rules({"host-device", second}, author), link);
      EXPECT_NE(why.find("plugins[1]: type is \"" + second + "\", which makes or moves the pod's interface"),
                std::string::npos)
          << why;
    }
  const std::string behind =
      R"({"plugins":[{"type":"host-device"},{"type":"tuning"},{"type":"vlan","vlanId":5}]})";
  fixture::expect_golden(why_not(behind, rules({"host-device", "vlan"}), link));
}

// ptp makes each address a route of the host, and each gateway an address of the host; bridge and firewall make addresses and
// rules of them. The addresses are the definition's.
TEST(CanonicalDefinition, HostAddressesOfIpamNeedAnAdministrator) {
  const std::string ipam =
      R"("ipam":{"type":"static","addresses":[{"address":"8.8.8.8/24","gateway":"10.9.9.254"}]})";
  const auto listed = [](Author author) {
    return rules({"ptp", "bridge", "bridge.isGateway", "bridge.ipMasq", "firewall", "macvlan"}, author);
  };
  const std::string chain =
      R"({"plugins":[{"type":"macvlan",)" + ipam + R"(},{"type":"firewall","backend":"iptables"}]})";
  for (const std::string& config :
       {plugin_of("ptp", ipam), plugin_of("bridge", R"("isGateway":true,)" + ipam),
        plugin_of("bridge", R"("isDefaultGateway":true,)" + ipam),
        plugin_of("bridge", R"("ipMasq":true,)" + ipam), chain}) {
    fixture::expect_golden(why_not(config, listed(Author::kNamespaceUser), kParent));
    EXPECT_EQ(why_not(config, listed(Author::kAdministrator), kParent), "") << config;
  }
}

// By the plugin's own field, by tuning behind any plugin, and by the capability, whose value is the pod's user's.
std::vector<std::string> definitions_with_an_address(const std::string& type) {
  const std::string mac = R"("mac":"02:00:00:00:00:fe")", capability = R"("capabilities":{"mac":true})";
  const std::string first = R"({"plugins":[)" + plugin_of(type, "") + R"(,{"type":"tuning",)";
  std::vector<std::string> out = {first + mac + "}]}", first + capability + "}]}",
                                  plugin_of(type, capability)};
  if (type == "macvlan" || type == "sriov") out.push_back(plugin_of(type, mac));
  return out;
}

// macvlan_queue_xmit, br_fdb_update: frames for the gateway's address go to the pod that has it.
TEST(CanonicalDefinition, AddressesOnASharedDeviceNeedAnAdministrator) {
  for (const std::string type : {"macvlan", "ipvlan", "macvtap", "vlan", "bridge", "own"})
    for (const std::string& config : definitions_with_an_address(type)) {
      const std::string why = why_not(config, rules({type}), kParent);
      EXPECT_NE(why.find("the device is shared"), std::string::npos) << config << "\n" << why;
      EXPECT_EQ(why_not(config, rules({type}, Author::kAdministrator), kParent), "") << config;
    }
  fixture::expect_golden(
      why_not(plugin_of("macvlan", R"("mac":"02:00:00:00:00:fe")"), rules({"macvlan"}), kParent));
  EXPECT_EQ(why_not(plugin_of("macvlan", R"("capabilities":{"mac":false,"infinibandGUID":true})"),
                    rules({"macvlan"}), kParent),
            "");
}

// A VF's driver asks the PF for the address that its interface is given.
TEST(CanonicalDefinition, EveryAddressFieldNeedsTheSetting) {
  for (const std::string type : {"sriov", "host-device", "macvlan", "own"})
    for (const std::string& config : definitions_with_an_address(type)) {
      DefinitionRules some = rules({type});
      some.settings = {"vlan"};
      some.settings_source = "spec.allow";
      const std::string why = why_not(config, some, kFunction);
      EXPECT_NE(why.find("have mac added to spec.allow"), std::string::npos) << config << "\n" << why;
      some.settings->emplace_back("mac");
      EXPECT_EQ(why_not(config, some, kFunction), "") << config;
      some.settings.emplace();
      EXPECT_NE(why_not(config, some, kFunction), "") << config;
      some.author = Author::kAdministrator;
      EXPECT_EQ(why_not(config, some, kFunction), "") << config;
    }
}

TEST(CanonicalDefinition, DoesNotChangeASharedParent) {
  const auto all = rules({"macvlan", "ipvlan"});
  const DefinitionDevice own{.pci = "", .interface = "ens1f0"};
  for (const auto& [type, mode] :
       {std::pair("macvlan", "passthru"), std::pair("ipvlan", "l3"), std::pair("ipvlan", "l3s")}) {
    const std::string config = plugin_of(type, R"("mode":")" + std::string(mode) + '"');
    EXPECT_NE(why_not(config, all, kParent).find("mode is"), std::string::npos);
    EXPECT_EQ(why_not(config, all, own), "");
  }
  // An administrator's interface with l3 would become l2 with the next interface of a namespace user.
  EXPECT_NE(why_not(plugin_of("ipvlan", R"("mode":"l3")"), rules({"ipvlan"}, Author::kAdministrator), kParent)
                .find("mode is"),
            std::string::npos);
}

// Facts of the kernel: macvlan_change_rx_flags, ipvlan_change_rx_flags, vlan_dev_change_rx_flags; br_mtu_auto_adjust.
TEST(CanonicalDefinition, DoesNotReconfigureASharedDevice) {
  const DefinitionDevice own{.pci = "", .interface = "ens1f0"};
  for (const std::string type : {"macvlan", "ipvlan", "vlan", "bridge"})
    for (const std::string field : {"promisc", "allmulti"}) {
      const auto chain = [&](const std::string& value) {
        return R"({"plugins":[)" + plugin_of(type, "") + R"(,{"type":"tuning",")" + field + "\":" + value +
               "}]}";
      };
      EXPECT_NE(why_not(chain("true"), rules({type}), kParent).find(field + " is true: expected false"),
                std::string::npos)
          << type;
      EXPECT_EQ(why_not(chain("false"), rules({type}), kParent), "") << type;
      EXPECT_EQ(why_not(chain("true"), rules({type}), own), "") << type;
      EXPECT_EQ(why_not(chain("true"), rules({type}, Author::kAdministrator), kParent), "") << type;
    }
  const std::string small = plugin_of("bridge", R"("mtu":600)");
  EXPECT_NE(why_not(small, rules({"bridge"}), kParent).find("have bridge.mtu added to the list"),
            std::string::npos);
  EXPECT_EQ(why_not(small, rules({"bridge", "bridge.mtu"}), kParent), "");
  EXPECT_EQ(names_to_list(small), std::vector<std::string>{"bridge.mtu"});
}

// The master would be an interface of the pod, such as eth0 of the cluster's network, and in CNI plugins before 1.3.0, which
// ignore the field, one of the host.
TEST(CanonicalDefinition, PlacesAnInterfaceOnlyOnTheAllocatedDevice) {
  for (const std::string type : {"macvlan", "ipvlan", "vlan"})
    for (const Author author : {Author::kNamespaceUser, Author::kAdministrator}) {
      const std::string config =
          R"({"cniVersion":"1.1.0","type":")" + type + R"(","master":"eth0","linkInContainer":true})";
      EXPECT_NE(why_not(config, rules({type}, author), kParent).find("linkInContainer is not a field"),
                std::string::npos);
    }
}

// Interfaces of VLAN 0 get the frames with a priority and no VLAN that are for the device. Red when a definition without vlanId makes one, also
// where spec.allow has no VLAN.
TEST(CanonicalDefinition, TreatsVlanZeroAsNoVlan) {
  DefinitionRules none = rules({"vlan"});
  none.settings.emplace();
  for (const char* member : {R"("mtu":1400)", R"("vlanId":null)", R"("vlanId":0)"}) {
    const std::string config = R"({"cniVersion":"1.0.0","type":"vlan",)" + std::string(member) + "}";
    EXPECT_NE(why_not(config, rules({"vlan"}), kParent).find("which is not a VLAN: expected 1 to 4094"),
              std::string::npos)
        << config;
    EXPECT_FALSE(canonical_definition(config, "net", rules({"vlan"}), std::nullopt)) << config;
    EXPECT_NE(why_not(config, none, kParent), "") << config;
    EXPECT_EQ(why_not(config, rules({"vlan"}, Author::kAdministrator), kParent), "") << config;
  }
}

TEST(CanonicalDefinition, AcceptsPfSettingsThatThePolicyAllows) {
  DefinitionRules some = rules({"sriov", "ib-sriov", "bridge"});
  some.settings = {"vlan", "trust"};
  some.settings_source = "spec.allow of SriovResourcePolicy ns/p";
  EXPECT_EQ(why_not(plugin_of("sriov", R"("vlan":5,"trust":"on")"), some, kFunction), "");
  EXPECT_EQ(
      why_not(plugin_of("sriov", R"("vlan":5,"spoofchk":"off")"), some, kFunction),
      "spec.config: spoofchk is \"off\", and spec.allow of SriovResourcePolicy ns/p allows a definition to set vlan, "
      "trust through the PF: leave it out, or have spoofchk added to spec.allow of each policy that matches the device");
  DefinitionRules none = some;
  none.settings.emplace();
  for (const std::string_view setting : vf_settings()) {
    const std::string type = setting == "pkey" ? "ib-sriov" : "sriov";
    const std::map<std::string_view, std::string> values = {{"vlan", "5"},
                                                            {"vlanQoS", "1"},
                                                            {"vlanProto", R"("802.1q")"},
                                                            {"link_state", R"("auto")"},
                                                            {"min_tx_rate", "0"},
                                                            {"max_tx_rate", "0"},
                                                            {"mac", R"("02:00:00:00:00:01")"},
                                                            {"pkey", R"("0x1")"}};
    const auto at = values.find(setting);
    const std::string member =
        "\"" + std::string(setting) + "\":" + (at == values.end() ? R"("on")" : at->second);
    fixture::expect_golden(why_not(plugin_of(type, member), none, kFunction));
    none.author = Author::kAdministrator;
    EXPECT_EQ(why_not(plugin_of(type, member), none, kFunction), "") << setting;
    none.author = Author::kNamespaceUser;
  }
  EXPECT_NE(why_not(plugin_of("bridge", R"("vlanTrunk":[{"id":5}])"), none, kParent), "");
}

// Red when a definition puts a VF or a port of a bridge into a VLAN that no policy allows.
TEST(CanonicalDefinition, AcceptsVlansThatThePolicyAllows) {
  DefinitionRules some = rules({"sriov", "bridge", "vlan"});
  some.settings = {"vlan"};
  some.settings_source = "spec.allow of SriovResourcePolicy ns/p";
  some.vlans = *VlanIds::decode("100-199");
  for (const char* member : {R"("vlan":100)", R"("vlan":199)"}) {
    EXPECT_EQ(why_not(plugin_of("sriov", member), some, kFunction), "") << member;
    EXPECT_EQ(why_not(plugin_of("bridge", member), some, kParent), "") << member;
  }
  EXPECT_EQ(why_not(plugin_of("vlan", R"("vlanId":150)"), some, kParent), "");
  EXPECT_EQ(
      why_not(plugin_of("bridge", R"("vlanTrunk":[{"id":100},{"minID":110,"maxID":120}])"), some, kParent),
      "");
  EXPECT_EQ(
      why_not(plugin_of("sriov", R"("vlan":5)"), some, kFunction),
      "spec.config: vlan is 5, and spec.allow of SriovResourcePolicy ns/p allows a definition to set vlan=100-199 through the PF: leave it out, or have vlan=5 added to spec.allow of each policy that "
      "matches the device");
  EXPECT_EQ(
      why_not(plugin_of("vlan", R"("vlanId":5)"), some, kParent),
      "spec.config: vlanId is 5, and spec.allow of SriovResourcePolicy ns/p allows a definition to set "
      "vlan=100-199: leave it out, or have vlan=5 added to spec.allow of each policy that matches the device")
      << "no PF sets it";
  const struct {
    const char *plugin, *member;
  } kRefused[] = {{"sriov", R"("vlan":0)"},
                  {"bridge", R"("vlan":200)"},
                  {"vlan", R"("vlanId":99)"},
                  {"bridge", R"("vlanTrunk":[{"id":100},{"id":5}])"},
                  {"bridge", R"("vlanTrunk":[{"minID":150,"maxID":200}])"},
                  {"bridge", R"("vlanTrunk":[{"minID":150}])"},
                  {"bridge", R"("preserveDefaultVlan":true)"}};
  for (const auto& [plugin, member] : kRefused) {
    const auto& device = std::string_view(plugin) == "sriov" ? kFunction : kParent;
    EXPECT_NE(
        why_not(plugin_of(plugin, member), some, device).find("allows a definition to set vlan=100-199"),
        std::string::npos)
        << member << " " << why_not(plugin_of(plugin, member), some, device);
  }
}

// Red when host-local is started with ranges that it refuses at ADD, and at DEL each time.
TEST(CanonicalDefinition, RefusesRangesThatHostLocalRefuses) {
  const auto with = [](const std::string& ranges) {
    return plugin_of("sriov", R"("ipam":{"type":"host-local",)" + ranges + "}");
  };
  const auto admin = rules({"sriov"}, Author::kAdministrator);
  for (const auto& [ranges, expected] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("routes":[])", "ipam.subnet is missing, and so is ranges"},
           {R"("ranges":[])", "ipam.subnet is missing, and so is ranges"},
           {R"("ranges":[[]])", "ipam.ranges[0] is empty"},
           {R"("ranges":[[{}]])", "ipam.ranges[0][0].subnet is missing"},
           {R"("subnet":"10.9.9.5/24")", "bits behind its prefix: expected 10.9.9.0/24"},
           {R"("subnet":"10.9.9.0/31")", "four addresses or more"},
           {R"("subnet":"2001:db8::/127")", "four addresses or more"},
           {R"("subnet":"::/0")", "a unicast network"},
           {R"("subnet":"10.9.9.0/24","rangeStart":"10.9.8.1")", "ipam.rangeStart is \"10.9.8.1\""},
           {R"("subnet":"10.9.9.0/24","rangeEnd":"fd00::1")", "ipam.rangeEnd is \"fd00::1\""},
           {R"("subnet":"10.9.9.0/24","rangeStart":"10.9.9.9","rangeEnd":"10.9.9.8")", "not before 10.9.9.9"},
           {R"("ranges":[[{"subnet":"10.9.9.0/24"},{"subnet":"fd00::/64"}]])", "of another family"},
           {R"("ranges":[[{"subnet":"10.9.9.0/24"},{"subnet":"10.9.0.0/16"}]])",
            "ipam.ranges[0][1] has addresses"},
           {R"("subnet":"10.9.9.0/24","ranges":[[{"subnet":"10.9.0.0/16"}]])",
            "ipam.ranges[0] has addresses"}}) {
    EXPECT_NE(why_not(with(ranges), admin, kFunction).find(expected), std::string::npos)
        << ranges << ": " << why_not(with(ranges), admin, kFunction);
    EXPECT_FALSE(canonical_definition(with(ranges), "net", admin, std::nullopt).ok()) << "without a device";
  }
  for (
      const char* ranges :
      {R"("subnet":"10.9.9.0/30")", R"("subnet":"2001:db8::/64")",
       R"("rangeStart":"10.0.0.1","ranges":[[{"subnet":"10.9.9.0/24"}]])",
       R"("ranges":[[{"subnet":"10.9.9.0/24","rangeEnd":"10.9.9.99"},{"subnet":"10.9.9.0/24","rangeStart":"10.9.9.100"}],[{"subnet":"fd00::/64"}]])"})
    EXPECT_EQ(why_not(with(ranges), admin, kFunction), "") << ranges;
}

TEST(CanonicalDefinition, AnAdministratorMaySetPaths) {
  const auto admin = rules({"sriov", "multus"}, Author::kAdministrator);
  for (const char* members :
       {R"("logFile":"/var/log/sriov.log")",
        R"("ipam":{"type":"host-local","subnet":"10.0.0.0/8","dataDir":"/run/x"})",
        R"("ipam":{"type":"whereabouts","range":"10.0.0.0/8","kubernetes":{"kubeconfig":"/etc/cni/x"}})"})
    EXPECT_EQ(why_not(plugin_of("sriov", members), admin, kFunction), "") << members;
  EXPECT_EQ(why_not(plugin_of("multus", R"("delegates":[{"type":"tuning"}])"), admin, kFunction), "");
  // What protects the devices of other claims holds for every author.
  for (const char* members :
       {R"("runtimeConfig":{"deviceID":"0000:04:00.0"})", R"("prevResult":{})", R"("args":{})",
        R"("OrigVfState":{})", R"("logFile":"relative")", R"("logFile":"/a/../b")", R"("vlan":5000)"})
    EXPECT_NE(why_not(plugin_of("sriov", members), admin, kFunction), "") << members;
  EXPECT_NE(why_not(plugin_of("multus", R"("delegates":[{"type":"host-device","device":"eno1"}])"), admin,
                    kFunction),
            "");
  EXPECT_NE(why_not(plugin_of("portmap", ""), admin, kFunction), "");
}

TEST(CanonicalDefinition, EncodesTheValue) {
  const auto all = rules({"sriov", "host-device"});
  const auto text = canonical(
      " { \"plugins\" : [ {\"type\":\"sriov\", \"\\u0076lan\" : 5, \"name\":\"x\", \"mtu\":null, \"capabilities\":{\"mac\":true},"
      "\"deviceID\":\"0000:04:00.0\", \"spoofchk\":\"\\u006fff\"} ], \"cniVersions\":[\"1.0.0\"], \"name\":\"n\" } ",
      all, kFunction);
  ASSERT_TRUE(text.ok()) << text.error().what;
  EXPECT_EQ(
      *text,
      R"({"cniVersion":"1.0.0","name":"n","plugins":[{"type":"sriov","capabilities":{"mac":true},"vlan":5,"spoofchk":"off"}]})");
  EXPECT_EQ(*canonical(*text, all, kFunction), *text) << "and stays as it is";
}

TEST(CanonicalDefinition, NamespacesHaveSeparateAddressFolders) {
  DefinitionRules own = rules({"sriov"});
  own.address_directory = "/var/lib/cni/sliced/networks/ns";
  const std::string config = plugin_of("sriov", R"("ipam":{"type":"host-local","subnet":"10.0.0.0/24"})");
  EXPECT_NE(canonical(config, own, kFunction)->find(R"("dataDir":"/var/lib/cni/sliced/networks/ns")"),
            std::string::npos);
  own.author = Author::kAdministrator;
  EXPECT_EQ(canonical(config, own, kFunction)->find("dataDir"), std::string::npos);
}

// A namespace user chooses the number of keys. Red when each of them is compared with all before it.
TEST(CanonicalDefinition, WorkGrowsWithTheNumberOfKeys) {
  const auto keys = [](size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += ",\"k" + std::to_string(10'000 + i) + "\":1";
    return out;
  };
  const auto growth_of = [](const std::function<std::string(size_t)>& config_of) {
    return fixture::growth(250, [&](size_t count) -> std::function<void()> {
      return [config = config_of(count)] {
        EXPECT_TRUE(canonical(config, rules({"own", "macvlan"}), kParent).ok());
      };
    });
  };
  EXPECT_LT(growth_of([&](size_t count) { return R"({"type":"own")" + keys(count) + "}"; }),
            fixture::kGrowthMax);
  EXPECT_LT(growth_of([&](size_t count) { return R"({"plugins":[{"type":"own")" + keys(count) + "}]}"; }),
            fixture::kGrowthMax);
  EXPECT_LT(growth_of([&](size_t count) {
              return R"({"type":"macvlan","ipam":{"type":"own")" + keys(count) + "}}";
            }),
            fixture::kGrowthMax);
}

// Red when an error names a list without a name.
TEST(CanonicalDefinition, NamesOnlyAListThatItKnows) {
  const std::string config = R"({"type":"sriov","ipam":{"type":"bridge"}})";
  const auto without = canonical_definition(config, "nad", {}, std::nullopt);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().what.find("()"), std::string::npos) << without.error().what;
  EXPECT_TRUE(without.error().what.ends_with("expected static, host-local, whereabouts or dhcp"))
      << without.error().what;
  EXPECT_NE(why_not(config, rules({"sriov"}), kFunction).find("or one that is listed (the list)"),
            std::string::npos);
}

// validate and the webhook know neither device nor policy.
TEST(CanonicalDefinition, ChecksIndependentFieldsWithoutADevice) {
  const DefinitionRules any;
  const auto why = [&](std::string_view config) {
    const auto text = canonical_definition(config, "nad", any, std::nullopt);
    return text ? "" : text.error().what;
  };
  for (const char* good : {R"({"type":"macvlan","master":"eth0"})",
                           R"({"type":"host-device","device":"eth0"})", R"({"type":"own","x":1})",
                           R"({"plugins":[{"type":"bridge","promiscMode":true},{"type":"portmap"}]})"})
    EXPECT_EQ(why(good), "") << good;
  for (const char* bad :
       {R"({"type":"macvlan","Master":"eth0"})", R"({"type":"host-device","hwaddr":"02:00:00:00:00:01"})",
        R"({"type":"sriov","logFile":"/x"})", R"({"type":"macvlan","runtimeConfig":{}})"})
    EXPECT_NE(why(bad), "") << bad;
  EXPECT_EQ(
      names_to_list(R"({"plugins":[{"type":"bridge","ipMasq":true},{"type":"portmap"},{"type":"tuning"}]})"),
      (std::vector<std::string>{"bridge.ipMasq", "portmap"}));
  EXPECT_EQ(names_to_list(R"({"type":"own","of":[{"promiscMode":true}],"ipMasq":false})"),
            (std::vector<std::string>{"own", "bridge.promiscMode"}));
  EXPECT_EQ(names_to_list(R"({"type":"vrf"})"), std::vector<std::string>{"vrf"}) << "behind no other plugin";
}

// Red when a member that may not be said reaches a plugin at DEL, or when the rest of the definition is lost with it.
TEST(ReducedDefinition, OmitsOnlyRefusedFields) {
  const struct {
    std::string_view config, want;
  } cases[] = {
      {R"({"cniVersion":"1.0.0","name":"n","type":"sriov","vlan":5,"vlanQoS":9,"unknown":1,"prevResult":{},"args":{}})",
       R"({"cniVersion":"1.0.0","name":"n","type":"sriov","vlan":5})"},
      {R"({"type":"host-device","device":"eno1","hwaddr":"02:00:00:00:00:01","pciBusID":"0000:04:00.0"})",
       R"({"type":"host-device"})"},
      {R"({"type":"macvlan","master":"eno1","mode":"none","capabilities":{"mac":true,"portMappings":true}})",
       R"({"type":"macvlan","capabilities":{"mac":true},"master":"eno1"})"},
      {R"({"type":"sriov","ipam":{"type":"host-local","subnet":"10.0.0.0/24","other":1,"dataDir":"/data"}})",
       R"({"type":"sriov","ipam":{"type":"host-local","subnet":"10.0.0.0/24","dataDir":"/data"}})"},
      {R"({"type":"sriov","ipam":{"type":7,"subnet":"10.0.0.0/24"}})", R"({"type":"sriov"})"},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"own","key":"x","master":"eno1"},{"type":"tuning","sysctl":{"kernel.x":"1"}}],"x":1})",
       R"({"cniVersion":"1.0.0","plugins":[{"type":"own","key":"x"},{"type":"tuning"}]})"},
  };
  for (const auto& [config, want] : cases) {
    const auto text = reduced_definition(config, "nad");
    ASSERT_TRUE(text.ok()) << config << text.error().what;
    EXPECT_EQ(*kube::decode_json(*text), *kube::decode_json(want)) << config << "\n" << *text;
  }
  for (const std::string_view refused : {R"({"type":"sriov","Vlan":5})", R"({"type":"../sriov"})", "", "[]"})
    EXPECT_FALSE(reduced_definition(refused, "nad").ok()) << refused;
}

}  // namespace
}  // namespace sliced::cni
