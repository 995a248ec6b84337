#include "kubelet/native_vf.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kubelet/native_network.h"
#include "kubelet/vf_config.h"
#include "policy/vf_settings.h"
#include "t/unit/kubelet/sample_claims.h"

namespace sliced::kubelet {
namespace native_vf_test {
namespace {

using hotplug::VfConfig;
using kube::Json;

constexpr const char* kAll =
    R"({"vlan":100,"vlanQoS":3,"vlanProto":"802.1ad","trust":true,"spoofCheck":false,"linkState":"enable",)"
    R"("minTxRate":10,"maxTxRate":100})";

Json json(const std::string& text) { return kube::decode_json(text).value(); }

TEST(NativeVfTest, DecodesAllFieldsWithTheirNamesInAllow) {
  const auto network = decode_native_network(json(kAll), "network");
  ASSERT_TRUE(network.ok()) << network.error().what;
  EXPECT_EQ(network->vf, (VfConfig{.vlan = 100,
                                   .vlan_qos = 3,
                                   .vlan_protocol = "802.1ad",
                                   .trust = true,
                                   .spoof_check = false,
                                   .min_rate_mbps = 10,
                                   .max_rate_mbps = 100,
                                   .link_state = "enable"}));
  EXPECT_EQ(encode_native_network(*network), json(kAll));
  EXPECT_TRUE(check_native_network(*network, "network").ok());
  const auto settings = native_vf_settings(network->vf);
  EXPECT_EQ(settings.size(), native_vf_fields().size());
  const auto allowed = policy::vf_setting_names();
  for (const NativeVfSetting& one : settings)
    EXPECT_EQ(std::ranges::count(allowed, one.setting), 1) << one.setting;
  EXPECT_EQ(settings.front(), (NativeVfSetting{"vlan", "vlan", "100"}));
  EXPECT_TRUE(native_vf_settings({}).empty());
  const auto zeros = decode_native_network(json(R"({"vlan":0,"trust":false,"maxTxRate":0})"), "network");
  EXPECT_EQ(native_vf_settings(zeros->vf).size(), 3u) << "0 and false are values";
}

TEST(NativeVfTest, RefusesInvalidFields) {
  for (const char* field :
       {"vlan", "vlanQoS", "vlanProto", "trust", "spoofCheck", "linkState", "minTxRate", "maxTxRate"})
    for (const char* value : {"-1", "10000001", "1.5", R"("")", R"("on")", R"("5")", "[]", "{}"}) {
      const auto network =
          decode_native_network(json(std::string("{\"") + field + "\":" + value + "}"), "network");
      ASSERT_FALSE(network.ok()) << field << " " << value;
      EXPECT_TRUE(network.error().what.starts_with(std::string("network.") + field + " is "))
          << network.error().what;
      EXPECT_NE(network.error().what.find("expected "), std::string::npos) << network.error().what;
    }
  for (const char* text : {R"({"vlan":4095})", R"({"vlanQoS":8})", R"({"vlan":true})", R"({"trust":1})",
                           R"({"vlanProto":"802.1Q"})", R"({"spoofchk":false})", R"({"link_state":"auto"})"})
    EXPECT_FALSE(decode_native_network(json(text), "network").ok()) << text;
}

TEST(NativeVfTest, RefusesInvalidCombinations) {
  const struct {
    VfConfig vf;
    const char* why;
  } kCases[] = {
      {{.vlan_qos = 3},
       "network.vlanQoS is 3, and vlan is not set: set vlan to a number from 1 to 4094, or leave vlanQoS out"},
      {{.vlan = 0, .vlan_protocol = "802.1ad"},
       "network.vlanProto is 802.1ad, and vlan is 0: set vlan to a number from 1 to 4094, or leave vlanProto out"},
      {{.min_rate_mbps = 11, .max_rate_mbps = 10},
       "network.minTxRate is 11, expected at most maxTxRate, which is 10"},
  };
  for (const auto& [vf, why] : kCases) {
    const auto checked = check_native_vf(vf, "network");
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().what, why);
  }
  for (const VfConfig& vf : {VfConfig{.vlan = 0}, VfConfig{.min_rate_mbps = 11, .max_rate_mbps = 0},
                             VfConfig{.min_rate_mbps = 11}, VfConfig{.vlan = 1, .vlan_qos = 0}})
    EXPECT_TRUE(check_native_vf(vf, "network").ok());
}

Result<kubelet::VfConfig> of_both(const std::string& by_class, const std::string& by_claim) {
  sample::ClaimText text;
  text.configs = {sample::config({{"network", json(by_class)}}, {}, "FromClass"),
                  sample::config({{"network", json(by_claim)}})};
  auto all = VfConfigs::decode(text.decoded(), sample::kSriov);
  if (!all) return std::move(all.error());
  return all->of("vf");
}

// Red when a claim changes what its class sets, or what only the claim sets needs nobody's permission.
TEST(NativeVfTest, AClaimOnlyAddsToItsClass) {
  const auto both = of_both(R"({"vlan":100,"trust":false})", R"({"vlan":100,"vlanQoS":3,"maxTxRate":50})");
  ASSERT_TRUE(both.ok()) << both.error().what;
  EXPECT_EQ(both->network->vf, (VfConfig{.vlan = 100, .vlan_qos = 3, .trust = false, .max_rate_mbps = 50}));
  EXPECT_EQ(both->vf_of_claim, (VfConfig{.vlan_qos = 3, .max_rate_mbps = 50}));
  EXPECT_EQ(of_both("{}", kAll)->vf_of_claim, decode_native_vf(json(kAll), "network").value());
  EXPECT_EQ(of_both(kAll, "{}")->vf_of_claim, VfConfig());
  for (const char* other :
       {R"({"vlan":101})", R"({"vlanQoS":2})", R"({"vlanProto":"802.1q"})", R"({"trust":false})",
        R"({"spoofCheck":true})", R"({"linkState":"auto"})", R"({"minTxRate":0})", R"({"maxTxRate":0})"}) {
    const auto changed = of_both(kAll, other);
    ASSERT_FALSE(changed.ok()) << other;
    EXPECT_NE(changed.error().what.find("which a claim cannot change: leave it out"), std::string::npos)
        << changed.error().what;
  }
}

}  // namespace
}  // namespace native_vf_test
}  // namespace sliced::kubelet
