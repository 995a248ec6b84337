#include "kubelet/native_network.h"

#include <gtest/gtest.h>

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

TEST(NativeNetworkTest, AllFieldsAreReadInTheirCanonicalForm) {
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

TEST(NativeNetworkTest, WhatIsNotUnderstoodIsRefusedWithItsField) {
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

TEST(NativeNetworkTest, WhatTheKernelWouldRefuseIsRefusedBefore) {
  const struct {
    const char *text, *field;
  } kCases[] = {
      {R"({"addresses":["192.0.2.5/24"],"routes":[{"destination":"0.0.0.0/0","gateway":"192.0.3.1"}]})",
       "network.routes[0].gateway"},
      {R"({"routes":[{"destination":"0.0.0.0/0","gateway":"192.0.2.1"}]})", "network.routes[0].destination"},
      {R"({"addresses":["192.0.2.5/24"],"routes":[{"destination":"10.0.0.0/8"},{"destination":"10.0.0.0/8"}]})",
       "network.routes[1].destination"},
      {R"({"mtu":1279,"addresses":["fd00::5/64"]})", "network.mtu"},
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

Result<VfConfig> merged(Json::Array configs) {
  sample::ClaimText text;
  text.configs = std::move(configs);
  auto all = VfConfigs::decode(text.decoded(), sample::kSriov);
  if (!all) return std::move(all.error());
  return all->of("vf");
}

Json network(const char* text) { return kube::decode_json(text).value(); }

TEST(NativeNetworkTest, AClaimAddsToItsClassAndChangesNothingOfIt) {
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

TEST(NativeNetworkTest, OneOfNetworkDefinitionAndVfioGivesTheInterface) {
  const Json empty{Json::Object{}};
  EXPECT_TRUE(merged({config({{"network", empty}})})->wants_interface());
  EXPECT_FALSE(merged({config({{"network", empty}, {"netAttachDefName", "nad"}})}).ok());
  EXPECT_FALSE(
      merged({config({{"network", empty}}, {}, "FromClass"), config({{"netAttachDefName", "nad"}})}).ok());
  EXPECT_FALSE(merged({config({{"network", empty}, {"driver", "vfio-pci"}})}).ok());
}

}  // namespace
}  // namespace native_network_test
}  // namespace sliced::kubelet
