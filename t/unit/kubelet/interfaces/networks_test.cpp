#include "kubelet/interfaces/networks.h"

#include <gtest/gtest.h>

#include "kube/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
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

TEST(NetworkFor, PutsTheDevicesInterfaceWhereAPluginStandsOnOne) {
  const struct {
    std::string_view config, want;  // want: "" as it was
  } cases[] = {
      {R"({"cniVersion":"1.0.0","type":"sriov","vlan":7})", ""},
      {R"({"cniVersion":"1.0.0","type":"macvlan"})",
       R"({"cniVersion":"1.0.0","type":"macvlan","master":"ens1f0"})"},
      {R"({"cniVersion":"1.0.0","type":"ipvlan","master":"ens1f0"})", ""},
      {R"({"cniVersion":"1.0.0","type":"bridge","bridge":""})",
       R"({"cniVersion":"1.0.0","type":"bridge","bridge":"ens1f0"})"},
      {R"({"cniVersion":"1.0.0","type":"host-device"})",
       R"({"cniVersion":"1.0.0","type":"host-device","device":"ens1f0"})"},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"vlan"},{"type":"tuning"}]})",
       R"({"cniVersion":"1.0.0","plugins":[{"type":"vlan","master":"ens1f0"},{"type":"tuning"}]})"},
  };
  for (const auto& [config, want] : cases) {
    const auto text = network_for(device("", "ens1f0"), {}, config);
    ASSERT_TRUE(text.ok()) << text.error().what;
    EXPECT_EQ(*kube::decode_json(*text), *kube::decode_json(want.empty() ? config : want)) << config;
  }
  const std::string_view function = R"({"cniVersion":"1.0.0","type":"host-device"})";
  EXPECT_EQ(*kube::decode_json(*network_for(device("0000:03:00.2", "eth2"), {}, function)),
            *kube::decode_json(function))
      << "its address says it";
}

// Red when a definition reaches an interface of the host, or a function, that the claim was not allocated.
TEST(NetworkFor, NoPluginOfTheChainIsGivenAnotherDevice) {
  const PreparedDevice function = device("0000:03:00.2", "eth2"), link = device("", "ens1f0");
  PreparedDevice unseen = device("0000:03:00.2", ""), share = function;
  share.share_id = "share";
  const struct {
    const PreparedDevice& device;
    std::string_view plugin, says;
  } cases[] = {
      {function, R"({"type":"host-device","device":"eth0"})", "device is \"eth0\""},
      {unseen, R"({"type":"host-device","device":"eth0"})", "device is \"eth0\""},
      {function, R"({"type":"host-device","hwaddr":"02:00:00:00:00:01"})", "hwaddr is"},
      {function, R"({"type":"host-device","kernelpath":"/sys/devices/x/net/eth0"})", "kernelpath is"},
      {function, R"({"type":"host-device","runtimeConfig":{"deviceID":"0000:04:00.0"}})", "runtimeConfig is"},
      {link, R"({"type":"host-device","pciBusID":"0000:04:00.0"})", "pciBusID is \"0000:04:00.0\""},
      {share, R"({"type":"sriov","deviceID":"0000:03:00.3"})",
       "deviceID is \"0000:03:00.3\", and the claim was allocated \"0000:03:00.2\""},
      {link, R"({"type":"macvlan","master":7})", "master is \"7\""},
      {unseen, R"({"type":"macvlan"})", "type is \"macvlan\", which stands on an interface of the host"},
      {unseen, R"({"type":"bridge","bridge":"br0"})", "bridge is \"br0\""},
  };
  for (const auto& [device, plugin, says] : cases)
    for (const char* around : {"", "one", "second"}) {
      const std::string name = around, one(plugin);
      const std::string chain = name.empty() ? R"({"cniVersion":"1.0.0",)" + one.substr(1)
                                : name == "one"
                                    ? R"({"cniVersion":"1.0.0","plugins":[)" + one + "]}"
                                    : R"({"cniVersion":"1.0.0","plugins":[{"type":"tuning"},)" + one + "]}";
      const auto text = network_for(device, {}, chain);
      ASSERT_FALSE(text.ok()) << chain;
      EXPECT_NE(text.error().what.find(says), std::string::npos) << text.error().what;
    }
  for (const char* good : {R"({"type":"sriov","deviceID":"0000:04:00.0"})", R"({"type":"host-device"})",
                           R"({"type":"macvlan","master":"net1","linkInContainer":true})"})
    EXPECT_TRUE(network_for(function, {}, good).ok())
        << good << ": ours takes its place, or it is the sandbox's";
}

TEST(NetworkFor, RefusesByDefinitionFieldAndValue) {
  KnownEntry macvlan_only;
  macvlan_only.cni_plugins = {"macvlan"};
  const std::string who = "NetworkAttachmentDefinition ns/nad";
  const struct {
    std::string config, says;
  } cases[] = {
      {"junk", who + ": spec.config"},
      {R"({"cniVersion":"1.0.0","type":"../sh"})", "type is \"../sh\": want the bare file name"},
      {R"({"cniVersion":"1.0.0","type":"macvlan","master":"eth0"})",
       who + ": spec.config: master is \"eth0\", and the claim was allocated \"ens1f0\": leave master out"},
      {R"({"cniVersion":"1.0.0","type":"ipvlan"})",
       "is of type \"ipvlan\", and the policy of the device allows macvlan"},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"macvlan"},{"type":"host-device"}]})",
       "is of type \"host-device\""},
      {R"({"cniVersion":"1.0.0","plugins":[{"type":"tuning"}]})", "is of type \"tuning\""},
      {R"({"cniVersion":"1.0.0","type":"macvlan","x":")" + std::string(kNetworkBytesMax, 'x') + "\"}",
       "want at most 16384"},
  };
  for (const auto& [config, says] : cases) {
    const auto text = network_for(device("", "ens1f0"), macvlan_only, config);
    ASSERT_FALSE(text.ok()) << config.substr(0, 80);
    EXPECT_NE(text.error().what.find(says), std::string::npos) << text.error().what;
  }
  EXPECT_TRUE(network_for(device("", "ens1f0"), macvlan_only,
                          R"({"cniVersion":"1.0.0","plugins":[{"type":"macvlan"},{"type":"tuning"}]})")
                  .ok());
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
        read_networks(cluster, scheduler, {.devices = std::move(devices)}, std::vector<KnownEntry>(count),
                      [&](Result<PreparedClaim> one) { outcome = std::move(one); });
    EXPECT_FALSE(outcome);
    scheduler.advance(Millis{1'000});
    return outcome ? *outcome : Result<PreparedClaim>(Error{Errc::kTimeout, "never called"});
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
};

TEST_F(ReadNetworksTest, EachDefinitionIsAskedForOnceAndOnlyWhereOneIsNamed) {
  put("a", R"({"cniVersion":"1.0.0","type":"sriov"})");
  put("b", R"({"cniVersion":"1.0.0","type":"macvlan"})");
  PreparedDevice looks_on = device("0000:03:00.5", "", "absent");
  looks_on.is_admin = true;
  const auto claim = read({device("0000:03:00.2", "eth2", "a"), device("0000:03:00.3", "eth3", "b"),
                           device("0000:03:00.4", "eth4", "a"), looks_on, device("0000:03:00.6", "", "")});
  ASSERT_TRUE(claim.ok()) << claim.error().what;
  EXPECT_NE(claim->devices[0].network.find("sriov"), std::string::npos);
  EXPECT_NE(claim->devices[1].network.find("\"master\":\"eth3\""), std::string::npos);
  EXPECT_EQ(claim->devices[2].network, claim->devices[0].network);
  EXPECT_EQ(claim->devices[3].network + claim->devices[4].network, "");
  EXPECT_EQ(cluster.count("get"), 2u);
}

TEST_F(ReadNetworksTest, WhatIsNotThereOrDeniedSaysWhatToDo) {
  EXPECT_EQ(
      read({device("0000:03:00.2", "eth2")}).error().what,
      "NetworkAttachmentDefinition ns/nad is not there: create it in namespace ns (and Multus' CRD, where that is missing)");
  cluster.deny("network-attachment-definitions");
  EXPECT_NE(
      read({device("0000:03:00.2", "eth2")}).error().what.find("grant get on network-attachment-definitions"),
      std::string::npos);
  cluster.allow("network-attachment-definitions");
  cluster.put(kube::kNetworkAttachmentDefinitions,
              Json::Object{{"metadata", Json::Object{{"name", "nad"}, {"namespace", "ns"}}}});
  EXPECT_NE(read({device("0000:03:00.2", "eth2")})
                .error()
                .what.find("NetworkAttachmentDefinition ns/nad: spec.config is not there"),
            std::string::npos);
}

}  // namespace
}  // namespace networks_test
}  // namespace sliced::kubelet
