#include "kubelet/interfaces/networks.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/safety.h"
#include "policy/vf_settings.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fixture/golden.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace networks_test {
namespace {

using kube::Json;

PreparedDevice device(const std::string& pci, const std::string& interface,
                      const std::string& network = "nad") {
  return {.request = "vf",
          .device = "dev",
          .pci = pci,
          .interface = interface,
          .config = {.nad_namespace = "ns", .nad_name = network}};
}

// A device that others have, too.
PreparedDevice shared(const std::string& interface) {
  PreparedDevice out = device("", interface);
  out.holding.is_exclusive = false;
  return out;
}

KnownEntry bridge() {
  KnownEntry known;
  known.device.type = hotplug::DeviceType::kBridge;
  return known;
}

KnownEntry listing(std::vector<std::string> plugins) {
  KnownEntry known = bridge();
  known.cni_plugins = std::move(plugins);
  return known;
}

Result<PreparedClaim> native_claim(const PreparedDevice& device, const KnownEntry& known,
                                   const NetworkSettings& settings) {
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster(scheduler);
  std::optional<Result<PreparedClaim>> read;
  const auto call = read_networks(cluster, scheduler, {.namespace_ = "ns", .devices = {device}}, {known},
                                  settings, [&](Result<PreparedClaim> done) { read = std::move(done); });
  scheduler.advance(Millis{1});
  return *read;
}

// No object of the API server is read for it.
TEST(NetworkFor, AcceptsANetworkThatTheDeviceAllows) {
  PreparedDevice own = device("0000:03:00.2", "eth2", "");
  own.config.network = NativeNetwork{.mtu = 1400, .addresses = {"192.0.2.5/24"}};
  const auto plain = native_claim(own, {}, {});
  ASSERT_TRUE(plain.ok()) << plain.error().what;
  EXPECT_EQ(plain->devices.at(0).network.str(), native_config(*own.config.network, "eth2"));
  own.mac = "02:00:00:00:00:05";
  KnownEntry limited;
  limited.vf_settings = {"vlan"}, limited.allowing_policies = "SriovResourcePolicy ns/a";
  EXPECT_NE(native_claim(own, limited, {})
                .error()
                .what.find("spec.allow of SriovResourcePolicy ns/a does not allow"),
            std::string::npos);
  limited.vf_settings = {"mac"};
  EXPECT_TRUE(native_claim(own, limited, {}).ok());
  EXPECT_FALSE(native_claim(own, {}, {.allows_vf_settings = false}).ok());
  own.interface.clear();
  EXPECT_FALSE(native_claim(own, {}, {}).ok()) << "nothing could be moved";
}

// Red when spec.allow or --vf-settings limit what a DeviceClass sets, or stop limiting claims and annotations of pods.
TEST(NetworkFor, TheAddressOfADeviceClassNeedsNoPermission) {
  PreparedDevice own = device("0000:03:00.2", "eth2", "");
  own.config.network = NativeNetwork{.mac = "02:00:00:00:00:05"};
  own.mac = own.config.network->mac;
  KnownEntry limited;
  limited.vf_settings = {"vlan"}, limited.allowing_policies = "SriovResourcePolicy ns/a";
  KnownEntry without;
  without.has_policy = false;
  const auto expect_allowed = [&](bool is_allowed) {
    EXPECT_EQ(native_claim(own, limited, {}).ok(), is_allowed);
    EXPECT_EQ(native_claim(own, without, {}).ok(), is_allowed);
    EXPECT_EQ(native_claim(own, {}, {.allows_vf_settings = false}).ok(), is_allowed);
  };
  expect_allowed(true);
  own.config.is_mac_claims = true;
  expect_allowed(false);
  own.config.is_mac_claims = false, own.config.network->mac.clear();  // by the annotation of its pod
  expect_allowed(false);
}

// The helper would set the host's bridge down, and the kernel would refuse to move it.
TEST(NetworkFor, ANetworkNeedsAMovableDevice) {
  PreparedDevice own = device("", "br0", "");
  own.config.network = NativeNetwork{.addresses = {"192.0.2.5/24"}};
  for (const auto& [type, kind] : {std::pair(hotplug::DeviceType::kBridge, "does not move a bridge"),
                                   std::pair(hotplug::DeviceType::kBond, "does not move a bond")}) {
    KnownEntry known;
    known.device.type = type;
    const auto refused = native_claim(own, known, {});
    ASSERT_FALSE(refused.ok()) << kind;
    EXPECT_NE(refused.error().what.find(kind), std::string::npos) << refused.error().what;
  }
}

// Red when users of two namespaces share the files of host-local, or a user's claim names them.
TEST(NetworkFor, StoresIpamFilesOfAClaimByNamespace) {
  PreparedDevice own = device("0000:03:00.2", "eth2", "");
  own.config = {};
  own.config.network = NativeNetwork{.ipam = R"({"type":"host-local","subnet":"10.0.0.0/24"})"};
  const auto directory = [&] {
    const auto claim = native_claim(own, {}, {});
    EXPECT_TRUE(claim.ok()) << claim.error().what;
    const std::string config = claim ? claim->devices.at(0).network.str() : "{}";
    const auto json = kube::decode_json(config);
    const Json* ipam = json->find("ipam");
    return ipam == nullptr ? "" : std::string(ipam->text("dataDir"));
  };
  EXPECT_EQ(directory(), std::string(kAddressDirectory) + "/ns");
  own.config.is_ipam_claims = false;
  EXPECT_EQ(directory(), "") << "the plugin's own, as for an administrator's definition";
}

TEST(NetworkFor, AcceptsListedTypes) {
  PreparedDevice own = shared("ens1f0");
  own.config = {};
  own.config.network = NativeNetwork{};
  own.config.network->type = "macvlan";
  const auto claim = native_claim(own, {}, {});
  ASSERT_TRUE(claim.ok()) << claim.error().what;
  const std::string config = claim->devices.at(0).network.str();
  EXPECT_EQ(config, native_config(*own.config.network, "ens1f0", own.pci));
  EXPECT_TRUE(makes_interfaces(config));
  const auto other = native_claim(own, listing({"ipvlan"}), {});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().what.find(
                "network.type is macvlan, and supportedCNIPlugins of the device's policy lists ipvlan"),
            std::string::npos)
      << other.error().what;
  own.config.network->type = "bridgePort";
  EXPECT_TRUE(native_claim(own, listing({"bridge"}), {}).ok());
  EXPECT_FALSE(native_claim(own, {}, {.shared_plugins = {"macvlan"}}).ok());
}

TEST(NetworkFor, RefusesADefinitionWithTheInternalPlugin) {
  const auto text = network_for(device("0000:03:00.2", "eth2"), listing({"sliced-native"}),
                                R"({"cniVersion":"1.0.0","type":"sliced-native","hostInterface":"eth0"})");
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().what.find("which only a VfConfig's network has"), std::string::npos)
      << text.error().what;
}

TEST(NetworkFor, InsertsTheDevicesInterface) {
  const struct {
    std::string_view config, want;  // want: "" as it was
  } cases[] = {
      {R"({"cniVersion":"1.0.0","type":"macvlan"})",
       R"({"cniVersion":"1.0.0","type":"macvlan","master":"ens1f0"})"},
      {R"({"cniVersion":"1.0.0","type":"ipvlan","master":"ens1f0"})", ""},
      {R"({"cniVersion":"1.0.0","type":"bridge","bridge":""})",
       R"({"cniVersion":"1.0.0","type":"bridge","bridge":"ens1f0"})"},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"vlan","vlanId":5},{"type":"tuning"}]})",
       R"({"cniVersion":"1.0.0","plugins":[{"type":"vlan","vlanId":5,"master":"ens1f0"},{"type":"tuning"}]})"},
  };
  for (const auto& [config, want] : cases) {
    const auto text = network_for(shared("ens1f0"), bridge(), config);
    ASSERT_TRUE(text.ok()) << text.error().what;
    EXPECT_EQ(*kube::decode_json(*text), *kube::decode_json(want.empty() ? config : want)) << config;
    KnownEntry nic;
    nic.device.type = hotplug::DeviceType::kNic;
    EXPECT_EQ(network_for(shared("ens1f0"), nic, config).ok(), config.find("bridge") == std::string::npos);
  }
  const std::string_view function = R"({"cniVersion":"1.0.0","type":"host-device"})";
  EXPECT_EQ(*kube::decode_json(*network_for(device("0000:03:00.2", "eth2"), {}, function)),
            *kube::decode_json(function))
      << "its address says it";
  EXPECT_EQ(*kube::decode_json(*network_for(device("", "ens1f0"), {}, function)),
            *kube::decode_json(R"({"cniVersion":"1.0.0","type":"host-device","device":"ens1f0"})"));
}

TEST(NetworkFor, KnowsTheSettingsOfDefinitions) {
  const auto known = policy::vf_setting_names();
  const auto checked = cni::vf_settings();
  EXPECT_EQ(std::vector(known.begin(), known.end()), std::vector(checked.begin(), checked.end()));
}

// Red when `allow` of a policy, --vf-settings, or that no policy matches the device limits nothing.
TEST(NetworkFor, AcceptsSettingsThatEachPolicyAllows) {
  const PreparedDevice function = device("0000:03:00.2", "eth2");
  const std::string config = R"({"type":"sriov","vlan":5,"trust":"on"})";
  const auto why_not = [&](const KnownEntry& known, bool allows_vf_settings) {
    const auto text = network_for(function, known, config, {.allows_vf_settings = allows_vf_settings});
    return text ? "" : text.error().what;
  };
  const std::string start = "NetworkAttachmentDefinition ns/nad: spec.config: ";
  KnownEntry limited;
  limited.vf_settings = {{"vlan"}};
  limited.allowing_policies = "SriovResourcePolicy ns/p";
  const std::string by_policy =
      start +
      "trust is \"on\", and spec.allow of SriovResourcePolicy ns/p allows a definition to set vlan through the PF: leave it "
      "out, or have trust added to spec.allow of each policy that matches the device";
  EXPECT_EQ(why_not(limited, true), by_policy);
  EXPECT_EQ(why_not(limited, false), by_policy) << "a policy that has the field decides";
  limited.vf_settings = {{"vlan", "trust"}};
  EXPECT_EQ(why_not(limited, false), "");
  limited.is_default_too = true;
  EXPECT_EQ(why_not(limited, true), "");
  EXPECT_NE(why_not(limited, false).find("--vf-settings none, with a policy without spec.allow"),
            std::string::npos);
  EXPECT_EQ(why_not({}, true), "");
  EXPECT_NE(why_not({}, false).find("vlan is 5, and --vf-settings none allows a definition to set nothing"),
            std::string::npos);
  KnownEntry withdrawn;
  withdrawn.has_policy = false;
  EXPECT_NE(why_not(withdrawn, true)
                .find("no policy matches the device now, which allows a definition to set nothing"),
            std::string::npos);
  PreparedDevice administrators = function;
  administrators.config.is_nad_administrators = true;
  EXPECT_TRUE(network_for(administrators, withdrawn, config).ok());
}

// Red when a definition reaches an interface of the host, or a function, that the claim was not allocated.
TEST(NetworkFor, PassesNoOtherDeviceToAPlugin) {
  const PreparedDevice function = device("0000:03:00.2", "eth2"), link = device("", "ens1f0");
  PreparedDevice unseen = device("0000:03:00.2", ""), share = function;
  share.share_id = "share";
  const KnownEntry any = listing({"sriov", "host-device", "macvlan", "bridge", "tuning", "own"});
  const struct {
    const PreparedDevice& device;
    std::string_view plugin, says;
  } cases[] = {
      {link, R"({"type":"host-device","device":"eth0"})", "device is \"eth0\""},
      {function, R"({"type":"host-device","device":"eth0"})", "device is \"eth0\""},
      {unseen, R"({"type":"host-device","device":"eth0"})", "device is \"eth0\""},
      {function, R"({"type":"host-device","hwaddr":"02:00:00:00:00:01"})", "hwaddr is"},
      {function, R"({"type":"host-device","kernelpath":"/sys/devices/x/net/eth0"})", "kernelpath is"},
      {function, R"({"type":"host-device","runtimeConfig":{"deviceID":"0000:04:00.0"}})", "runtimeConfig is"},
      {function, R"({"type":"host-device","Device":"eth0"})", "Device differs in case"},
      {function, R"({"type":"host-device","PCIBusID":"0000:04:00.0"})", "expected pciBusID"},
      {function, R"({"type":"host-device","RuntimeConfig":{"deviceID":"0000:04:00.0"}})",
       "expected runtimeConfig"},
      {function, R"({"type":"host-device","DPDKMode":true})", "DPDKMode is not a field"},
      {link, R"({"type":"host-device","pciBusID":"0000:04:00.0"})", "pciBusID is \"0000:04:00.0\""},
      {share, R"({"type":"sriov"})", "takes the device as a whole"},
      {link, R"({"type":"macvlan","master":7})", "master is \"7\""},
      {link, R"({"type":"macvlan","master":"ens1f0","Master":"eth0"})", "are one field to a CNI plugin"},
      {link, R"({"type":"macvlan","linkInContainer":true,"master":"eth0"})", "linkInContainer is"},
      {unseen, R"({"type":"macvlan"})", "type is \"macvlan\", which needs an interface on the host"},
      {unseen, R"({"type":"bridge","bridge":"br0"})", "bridge is \"br0\""},
      {link, R"({"type":"own","master":"eth0"})", "master is \"eth0\""},
      {link, R"({"type":"own","inner":{"device":"eth0"}})", "inner.device is set by sliced"},
      {link, R"({"type":"own","inner":{"Device":"eth0"}})", "inner.Device differs in case"},
      {function, R"({"type":"own","delegates":[{"type":"host-device","device":"eth0"}]})",
       "delegates is set"},
  };
  for (const auto& [device, plugin, says] : cases)
    for (const char* around : {"", "one", "second"}) {
      const std::string name = around, one(plugin);
      const std::string chain = name.empty() ? R"({"cniVersion":"1.0.0",)" + one.substr(1)
                                : name == "one"
                                    ? R"({"cniVersion":"1.0.0","plugins":[)" + one + "]}"
                                    : R"({"cniVersion":"1.0.0","plugins":[{"type":"tuning"},)" + one + "]}";
      const auto text = network_for(device, any, chain);
      ASSERT_FALSE(text.ok()) << chain;
      EXPECT_NE(text.error().what.find(says), std::string::npos) << text.error().what;
    }
  for (const char* good : {R"({"type":"sriov","deviceID":"0000:04:00.0"})", R"({"type":"host-device"})"}) {
    const auto text = network_for(function, any, good);
    ASSERT_TRUE(text.ok()) << good << ": ours takes its place";
    EXPECT_EQ(text->find("0000:04:00.0"), std::string::npos) << *text;
  }
}

TEST(NetworkFor, RefusalsNameDefinitionFieldAndValue) {
  const KnownEntry macvlan_only = listing({"macvlan"});
  const std::string who = "NetworkAttachmentDefinition ns/nad";
  const struct {
    std::string config, says;
  } cases[] = {
      {"junk", who + ": spec.config"},
      {R"({"cniVersion":"1.0.0","type":"../sh"})", "type is \"../sh\": expected the bare file name"},
      {R"({"cniVersion":"1.0.0","type":"macvlan","master":"eth0"})",
       who + ": spec.config: master is \"eth0\", and the claim was allocated \"ens1f0\": leave master out"},
      {R"({"cniVersion":"1.0.0","type":"ipvlan"})",
       "type is \"ipvlan\", and supportedCNIPlugins of the device's policy allows macvlan"},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"macvlan"},{"type":"host-device"}]})",
       "type is \"host-device\""},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"macvlan"},{"type":"portmap"}]})", "type is \"portmap\""},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"tuning"}]})", "type is \"tuning\""},
      {R"({"cniVersion":"1.0.0","type":"macvlan","x":")" + std::string(kNetworkBytesMax, 'x') + "\"}",
       "expected at most 16384"},
  };
  for (const auto& [config, says] : cases) {
    const auto text = network_for(shared("ens1f0"), macvlan_only, config);
    ASSERT_FALSE(text.ok()) << config.substr(0, 80);
    EXPECT_NE(text.error().what.find(says), std::string::npos) << text.error().what;
  }
  EXPECT_TRUE(network_for(shared("ens1f0"), macvlan_only,
                          R"({"cniVersion":"1.0.0","plugins":[{"type":"macvlan"},{"type":"tuning"}]})")
                  .ok());
}

// Red when a text is kept that its readers find too large: its MAC address would not be compared with those of other claims
// (kubelet/safety.cpp).
TEST(NetworkFor, BoundsTheRecordLikeTheDefinition) {
  const auto config = [](size_t size) {
    const std::string start = R"({"type":"own","ipam":{"type":"host-local","subnet":"10.0.0.0/24"},"x":[)";
    std::string numbers(size - start.size() - 2, '1');
    for (size_t at = 2; at + 1 < numbers.size(); at += 3) numbers[at] = ',';
    return start + numbers + "]}";
  };
  const auto kept = network_for(shared("ens1f0"), listing({"own"}), config(kNetworkBytesMax - 100));
  ASSERT_TRUE(kept.ok()) << kept.error().what;
  EXPECT_LE(kept->size(), kNetworkBytesMax);
  ASSERT_EQ(config(kNetworkBytesMax).size(), kNetworkBytesMax);
  const auto text = network_for(shared("ens1f0"), listing({"own"}), config(kNetworkBytesMax));
  ASSERT_FALSE(text.ok()) << text->size();
  EXPECT_EQ(text.error().code, Errc::kTooLarge);
  EXPECT_NE(text.error().what.find("ns/nad: spec.config has 16"), std::string::npos) << text.error().what;
}

TEST(NetworkFor, TheOptionsDecideWithoutAListOfThePolicy) {
  const PreparedDevice function = device("0000:03:00.2", "eth2");
  const auto runs = [](const PreparedDevice& device, const char* type, const NetworkSettings& settings = {}) {
    const char* fields = std::string_view(type) == "vlan" ? R"(","vlanId":5})" : "\"}";
    return network_for(device, bridge(), R"({"type":")" + std::string(type) + fields, settings).ok();
  };
  for (const char* type : {"sriov", "host-device", "ib-sriov"}) {
    EXPECT_TRUE(runs(function, type)) << type;
    EXPECT_FALSE(runs(shared("ens1f0"), type)) << type;
  }
  for (const char* type : {"macvlan", "ipvlan", "macvtap", "vlan", "ipoib", "bridge"}) {
    EXPECT_FALSE(runs(function, type)) << type;
    EXPECT_TRUE(runs(shared("ens1f0"), type)) << type;
  }
  for (const char* type : {"ptp", "portmap", "firewall", "bandwidth", "multus", "flannel", "tuning", "own"}) {
    EXPECT_FALSE(runs(function, type)) << type;
    EXPECT_FALSE(runs(shared("ens1f0"), type)) << type;
    const bool is_administrators = std::string_view(type) == "ptp" || std::string_view(type) == "firewall";
    EXPECT_EQ(runs(function, type, {.exclusive_plugins = {type}}), !is_administrators) << type;
    EXPECT_FALSE(runs(function, type, {.exclusive_plugins = {}})) << type;
  }
}

TEST(NetworkFor, AnEmptyListOfThePolicyPermitsNoPlugin) {
  const PreparedDevice function = device("0000:03:00.2", "eth2");
  const auto refusal = [&](const KnownEntry& known) {
    const auto network = network_for(function, known, R"({"type":"host-device"})");
    return network ? std::string() : network.error().what;
  };
  EXPECT_NE(refusal(listing({})).find("supportedCNIPlugins of the device's policy allows none"),
            std::string::npos)
      << refusal(listing({}));
  KnownEntry gone = listing({});
  gone.has_policy = false;
  EXPECT_NE(refusal(gone).find("no policy matches the device now"), std::string::npos) << refusal(gone);
  KnownEntry both = listing({"host-device", "own"});
  EXPECT_EQ(refusal(both), "");
  both.are_default_plugins_too = true;
  EXPECT_EQ(refusal(both), "");
  both.cni_plugins = {"own"};
  EXPECT_NE(refusal(both).find(
                "supportedCNIPlugins of the device's policy and --cni-plugins-exclusive allows none"),
            std::string::npos)
      << refusal(both);
}

struct ReadNetworksTest : testing::Test {
  ReadNetworksTest() { cluster.install(kube::kNetworkAttachmentDefinitions); }
  void put(const std::string& name, const std::string& config) {
    cluster.put(kube::kNetworkAttachmentDefinitions,
                Json::Object{{"metadata", Json::Object{{"name", name}, {"namespace", "ns"}}},
                             {"spec", Json::Object{{"config", config}}}});
  }
  Result<PreparedClaim> read(std::vector<PreparedDevice> devices) {
    std::optional<Result<PreparedClaim>> outcome;
    const size_t count = devices.size();
    const auto call =
        read_networks(cluster, scheduler, {.devices = std::move(devices)}, std::vector<KnownEntry>(count), {},
                      [&](Result<PreparedClaim> one) { outcome = std::move(one); });
    EXPECT_FALSE(outcome);
    scheduler.advance(Millis{1'000});
    return outcome ? *outcome : Result<PreparedClaim>(Error{Errc::kTimeout, "never called"});
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
};

TEST_F(ReadNetworksTest, ReadsEachNamedDefinitionOnce) {
  put("a", R"({"cniVersion":"1.0.0","type":"sriov"})");
  put("b", R"({"cniVersion":"1.0.0","type":"macvlan"})");
  PreparedDevice looks_on = device("0000:03:00.5", "", "absent"), parent = shared("eth3");
  parent.config.nad_name = "b";
  looks_on.is_admin = true;
  const auto claim = read({device("0000:03:00.2", "eth2", "a"), parent, device("0000:03:00.4", "eth4", "a"),
                           looks_on, device("0000:03:00.6", "", "")});
  ASSERT_TRUE(claim.ok()) << claim.error().what;
  EXPECT_NE(claim->devices[0].network.str().find("sriov"), std::string::npos);
  EXPECT_NE(claim->devices[1].network.str().find("\"master\":\"eth3\""), std::string::npos);
  EXPECT_EQ(claim->devices[2].network, claim->devices[0].network);
  EXPECT_EQ(claim->devices[3].network.str() + claim->devices[4].network.str(), "");
  EXPECT_EQ(cluster.count("get"), 2u);
}

TEST_F(ReadNetworksTest, NamesTheRemedyForAMissingOrForbiddenDefinition) {
  EXPECT_EQ(
      read({device("0000:03:00.2", "eth2")}).error().what,
      "NetworkAttachmentDefinition ns/nad is not there: create it in namespace ns (and Multus' CRD, where that is missing)");
  cluster.deny("network-attachment-definitions");
  fixture::expect_golden(read({device("0000:03:00.2", "eth2")}).error().what);
  cluster.allow("network-attachment-definitions");
  cluster.put(kube::kNetworkAttachmentDefinitions,
              Json::Object{{"metadata", Json::Object{{"name", "nad"}, {"namespace", "ns"}}}});
  fixture::expect_golden(read({device("0000:03:00.2", "eth2")}).error().what);
}

}  // namespace
}  // namespace networks_test
}  // namespace sliced::kubelet
