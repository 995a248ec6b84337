#include "kubelet/known_entries.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "t/fixture/vf_host.h"

namespace sliced::kubelet {
namespace known_entries_test {
namespace {

constexpr const char* kSriov = "sriovnetwork.k8snetworkplumbingwg.io";
constexpr const char* kExposure = "dra.networking";
constexpr const char* kPool = "node-a/0000-3b-00-0";

constexpr const char* kSriovPolicy = R"({apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1,
kind: SriovResourcePolicy, metadata: {name: p, namespace: ns}, spec: {allowHostUse: true,
configs: [{resourceName: intel.com/vf, resourceFilters: [{pfNames: [ens1f0]}]}]}})";
constexpr const char* kShared = R"({apiVersion: networking.dra.io/v1alpha1, kind: DeviceExposurePolicy,
metadata: {name: e}, spec: {selector: {cel: 'device.attributes["dra.networking"].type == "pf"'},
exposure: {deviceNameSuffix: -macvlan, exclusionGroup: g, allowMultipleAllocations: true,
capacity: {macvlans: {value: "8", requestPolicy: {default: "1", validRange: {min: "1", max: "1"}}}},
supportedCNIPlugins: [{name: macvlan, consumePerAllocation: {macvlans: "1"}}]}}})";

kube::Json object(const char* yaml) { return kube::decode_yaml(yaml).documents.at(0); }

class KnownEntriesTest : public testing::Test {
 protected:
  KnownEntriesTest() { host_.pf("0000:3b:00.0", "ens1f0", 2).pf("0000:5e:00.0", "ens2f0", 1); }

  policy::Decision decided(std::vector<policy::SriovPolicy> sriov,
                           std::vector<policy::ExposurePolicy> exposures) {
    auto in = std::make_shared<policy::Inputs>();
    in->inventory = host_.inventory();
    in->policies = std::make_shared<const policy::PolicySet>(
        policy::make_policy_set(policy::share(std::move(sriov)), {}, policy::share(std::move(exposures))));
    in->node.name = "node-a";
    return policy::decide(std::move(in));
  }
  std::optional<KnownEntry> find(const policy::Decision& decision, const std::string& driver,
                                 const std::string& pool, const std::string& entry) {
    return find_entry({decision, *decision.inputs->inventory,
                       [this](const std::string& one, const std::string& name) -> const policy::Holding* {
                         for (const policy::Holding& holding : holdings_[one])
                           if (holding.entry == name) return &holding;
                         return nullptr;
                       }},
                      driver, pool, entry);
  }

  fixture::VfHost host_;
  policy::HoldingsByPool holdings_;
};

TEST_F(KnownEntriesTest, MarksDevicesThatAreNotReady) {
  auto sriov = policy::decode_sriov_policy(object(kSriovPolicy));
  auto exposure =
      policy::decode_exposure_policy(object(kShared), kExposure, kube::decode_object_meta(object(kShared)));
  for (const auto on_loss : {policy::OnLoss::kWithdraw, policy::OnLoss::kTaint, policy::OnLoss::kKeep}) {
    sriov.readiness =
        exposure.readiness = {.require = policy::ConditionSet{}, .mtu_at_least = 9000, .on_loss = on_loss};
    const auto decision = decided({sriov}, {exposure});
    EXPECT_EQ(find(decision, kSriov, "node-a", "0000-3b-00-1")->not_ready,
              "mtuAtLeast: the MTU of VF 0 of ens1f0 is not known");
    EXPECT_EQ(find(decision, kExposure, kPool, "0000-3b-00-0-macvlan")->not_ready,
              "mtuAtLeast: the MTU of 0000:3b:00.0 is not known");
  }
  host_.at("0000:3b:00.1").netdev->mtu = host_.at("0000:3b:00.0").netdev->mtu = 9000;
  const auto decision = decided({sriov}, {exposure});
  EXPECT_EQ(find(decision, kSriov, "node-a", "0000-3b-00-1")->not_ready, "");
  EXPECT_EQ(find(decision, kExposure, kPool, "0000-3b-00-0-macvlan")->not_ready, "");
}

// Red when a prepare is decided by values that were read before its policy began to require them.
TEST_F(KnownEntriesTest, WaitsForAPfQuery) {
  using namespace std::chrono_literals;
  auto sriov = policy::decode_sriov_policy(object(kSriovPolicy));
  auto in = std::make_shared<policy::Inputs>();
  in->node.name = "node-a";
  const auto not_ready = [&](const char* mac, TimePoint now) {
    host_.at("0000:3b:00.1").enforced = hotplug::VfConfig{.mac = mac};
    auto host = std::make_shared<hotplug::Inventory>(*host_.inventory());
    host->can_query_pfs = true;
    in->inventory = host;
    in->policies = std::make_shared<const policy::PolicySet>(
        policy::make_policy_set(policy::share(std::vector{sriov}), {}));
    in->now = now;
    const policy::Decision decision = policy::decide(std::make_shared<policy::Inputs>(*in));
    in->before = std::make_shared<const policy::DesiredPools>(decision.pools);
    in->before_at = now;
    in->pf_queries = decision.pf_queries;
    return find(decision, kSriov, "node-a", "0000-3b-00-1")->not_ready;
  };
  const char *none = "00:00:00:00:00:00", *some = "02:00:00:00:00:01";
  in->query_times = policy::QueryTimes{{*hotplug::PciAddress::decode("0000:3b:00.0"), TimePoint(1s)}};
  EXPECT_EQ(not_ready(none, TimePoint(99s)), "") << "nobody asks";
  sriov.readiness.require = policy::ConditionSet{}.set(static_cast<size_t>(policy::Condition::kAdminMac));
  const std::string not_asked =
      "adminMac: VF settings of PF 0000:3b:00.0 have not been read since a policy began to require them";
  EXPECT_EQ(not_ready(none, TimePoint(100s)), not_asked);
  EXPECT_EQ(not_ready(some, TimePoint(101s)), not_asked) << "that is what was read then";
  EXPECT_EQ(not_ready(some, TimePoint(102s)), "") << "it is not waited for any longer";
  EXPECT_EQ(not_ready(none, TimePoint(103s)), "adminMac: VF 0 of ens1f0 has admin MAC " + std::string(none));
  EXPECT_EQ(not_ready(some, TimePoint(104s)), not_asked) << "to offer it anew it is";
}

// After a reboot a claim has its device still, and the filters of its policy may take it only once it is configured.
TEST_F(KnownEntriesTest, AnUnmatchedDeviceIsReadyByAnyPolicy) {
  auto sriov = policy::decode_sriov_policy(
      object(R"({metadata: {name: p, namespace: ns}, spec: {readiness: {require: [], mtuAtLeast: 9000},
configs: [{resourceFilters: [{drivers: [iavf]}]}]}})"));
  const kube::Json exposing =
      object(R"({metadata: {name: e}, spec: {readiness: {require: [], mtuAtLeast: 9000},
selector: {cel: 'device.attributes["dra.networking"].mac == "00:00:5e:00:53:01"'}}})");
  auto exposure = policy::decode_exposure_policy(exposing, kExposure, kube::decode_object_meta(exposing));
  ASSERT_TRUE(sriov.problems.empty() && exposure.problems.empty());
  holdings_[kPool] = {{.entry = "0000-3b-00-0", .device = "0000:3b:00.0"}};
  host_.at("0000:3b:00.1").driver = "";
  const auto not_ready = [&](const std::vector<policy::SriovPolicy>& policies,
                             const std::vector<policy::ExposurePolicy>& exposures) {
    const auto decision = decided(policies, exposures);
    return std::pair(find(decision, kSriov, "node-a", "0000-3b-00-1")->not_ready,
                     find(decision, kExposure, kPool, "0000-3b-00-0")->not_ready);
  };
  auto [vf, pf] = not_ready({sriov}, {exposure});
  EXPECT_EQ(vf.substr(0, 50), "mtuAtLeast: the MTU of VF 0 of ens1f0 is not known");
  EXPECT_EQ(pf.substr(0, 50), "mtuAtLeast: the MTU of 0000:3b:00.0 is not known; ");
  EXPECT_EQ(not_ready({}, {}), std::pair(std::string(), std::string())) << "nobody asks for anything";
  auto elsewhere = sriov;
  elsewhere.node_selector.everything = false;
  EXPECT_EQ(not_ready({elsewhere}, {}).first, "") << "it is for other nodes";
  auto lax = sriov;
  lax.id.name = "lax";
  lax.readiness = {.require = policy::ConditionSet{}};
  EXPECT_EQ(not_ready({sriov, lax}, {}).first, "") << "it may be that one's";
  host_.at("0000:3b:00.1").netdev->mtu = host_.at("0000:3b:00.0").netdev->mtu = 9000;
  EXPECT_EQ(not_ready({sriov}, {exposure}), std::pair(std::string(), std::string()));
}

// Red when a policy of which nobody knows whether it takes a VF gives away what the host uses, or keeps back what is ready.
TEST_F(KnownEntriesTest, APossiblePolicyAllowsWithoutRequirements) {
  const auto may = policy::decode_sriov_policy(object(
      R"({metadata: {name: a, namespace: ns}, spec: {allowHostUse: true, readiness: {require: [], mtuAtLeast: 9000},
configs: [{resourceFilters: [{pfNames: [ens9]}]}]}})"));
  const auto takes = policy::decode_sriov_policy(
      object(R"({metadata: {name: b, namespace: ns}, spec: {readiness: {require: []},
configs: [{resourceFilters: [{pfPciAddresses: ['0000:3b:00.0']}]}]}})"));
  ASSERT_TRUE(may.problems.empty() && takes.problems.empty());
  host_.at("0000:3b:00.0").netdev.reset();
  host_.at("0000:3b:00.1").pf_name.clear();
  host_.at("0000:3b:00.1").pf_link_type.reset();
  host_.at("0000:3b:00.1").host_use = "enslaved to br0";
  const auto decision = decided({may, takes}, {});
  ASSERT_EQ(decision.verdicts.at("0000:3b:00.1").outcome, policy::Outcome::kMatchUnknown);
  const auto known = find(decision, kSriov, "node-a", "0000-3b-00-1");
  ASSERT_TRUE(known);
  EXPECT_FALSE(known->host_use.is_any);
  EXPECT_EQ(known->not_ready, "");
}

// Red when a policy that somebody adds loosens what another one allows, or a device that no policy matches is free of limits.
TEST_F(KnownEntriesTest, AllowsSettingsThatEachMatchingPolicyAllows) {
  using Names = std::vector<std::string>;
  const auto sriov = [](const std::string& name, const std::string& rest) {
    auto out = policy::decode_sriov_policy(
        object(("{metadata: {name: " + name + ", namespace: ns}, spec: {" + rest + "}}").c_str()));
    EXPECT_TRUE(policy::problems_of(out).empty()) << rest;
    return out;
  };
  const auto first = sriov(
      "first", "priority: 9, allow: [vlan, trust, mac], configs: [{resourceFilters: [{pfNames: [ens1f0]}]}]");
  const auto all =
      sriov("last", "allow: [mac, vlan, pkey], configs: [{resourceFilters: [{vendors: ['15b3']}]}, {}]");
  const auto open = sriov("open", "configs: [{}]");
  const auto other = sriov("other", "allow: [], configs: [{resourceFilters: [{pfNames: [ens2f0]}]}]");
  const auto of = [&](const std::vector<policy::SriovPolicy>& policies) {
    return *find(decided(policies, {}), kSriov, "node-a", "0000-3b-00-1");
  };
  EXPECT_EQ(of({first, other}).vf_settings, (Names{"vlan", "trust", "mac"}));
  EXPECT_FALSE(of({first, other}).is_default_too);
  EXPECT_EQ(of({first, other}).allowing_policies, "SriovResourcePolicy ns/first");
  EXPECT_EQ(of({first, all}).vf_settings, (Names{"vlan", "mac"}));
  EXPECT_EQ(of({first, all}).allowing_policies,
            "SriovResourcePolicy ns/first and SriovResourcePolicy ns/last");
  EXPECT_TRUE(of({first, all}).vlans.is_all());
  const auto some = sriov("some", "allow: [vlan=100-199, vlan=5], configs: [{}]");
  EXPECT_EQ(of({first, some}).vlans.texts(), (Names{"5", "100-199"}));
  EXPECT_EQ(of({first, open}).vf_settings, (Names{"vlan", "trust", "mac"}));
  EXPECT_TRUE(of({first, open}).is_default_too);
  EXPECT_EQ(of({open}).vf_settings, std::nullopt);
  EXPECT_TRUE(of({open}).has_policy);
  EXPECT_FALSE(of({other}).has_policy);
  EXPECT_FALSE(of({}).has_policy);
  auto elsewhere = first;
  elsewhere.node_selector.everything = false;
  EXPECT_FALSE(of({elsewhere}).has_policy) << "it is for other nodes";
  host_.at("0000:3b:00.1").host_use = "enslaved to br0";
  EXPECT_EQ(of({first}).vf_settings, (Names{"vlan", "trust", "mac"})) << "held back, and perhaps allocated";
}

TEST_F(KnownEntriesTest, AllowsSettingsOfPoliciesWithThePersonasSuffix) {
  using Names = std::vector<std::string>;
  const auto exposure = [](const std::string& name, const std::string& rest) {
    const kube::Json json = object(("{metadata: {name: " + name +
                                    "}, spec: {selector: {cel: "
                                    "'device.attributes[\"dra.networking\"].type == \"pf\"'}, " +
                                    rest + "}}")
                                       .c_str());
    auto out = policy::decode_exposure_policy(json, kExposure, kube::decode_object_meta(json));
    EXPECT_TRUE(out.problems.empty()) << rest;
    return out;
  };
  const auto plain = exposure("plain", "allow: [vlan, trust]");
  const auto behind = exposure("behind", "priority: 5, allow: [trust]");
  const auto shared = exposure("shared", "allow: [], exposure: {deviceNameSuffix: -s}");
  const auto exclude = exposure("exclude", "action: exclude");
  const auto of = [&](const std::vector<policy::ExposurePolicy>& policies, const std::string& entry) {
    const auto decision = decided({}, policies);
    if (!decision.offered.empty()) holdings_ = decision.offered;
    return *find(decision, kExposure, kPool, entry);
  };
  EXPECT_EQ(of({plain, shared}, "0000-3b-00-0").vf_settings, (Names{"vlan", "trust"}));
  EXPECT_EQ(of({plain, shared}, "0000-3b-00-0-s").vf_settings, Names());
  EXPECT_EQ(of({plain, shared, behind}, "0000-3b-00-0").vf_settings, (Names{"trust"}));
  EXPECT_EQ(of({plain, shared, behind}, "0000-3b-00-0").allowing_policies,
            "DeviceExposurePolicy plain and DeviceExposurePolicy behind");
  EXPECT_FALSE(of({shared}, "0000-3b-00-0").has_policy) << "no policy offers it without the suffix now";
  EXPECT_EQ(of({plain, exclude}, "0000-3b-00-0").vf_settings, (Names{"vlan", "trust"}))
      << "a claim may have it from before";
}

TEST_F(KnownEntriesTest, AnSriovDeviceIsItsFunction) {
  const auto decision = decided({policy::decode_sriov_policy(object(kSriovPolicy))}, {});
  const auto known = find(decision, kSriov, "node-a", "0000-3b-00-1");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->holding.device, "0000:3b:00.1");
  EXPECT_TRUE(known->holding.is_exclusive);
  EXPECT_EQ(known->pf, "0000:3b:00.0");
  EXPECT_TRUE(known->host_use.is_any);
  EXPECT_EQ(known->device.id.text, "0000:3b:00.1");
  EXPECT_EQ(known->multus_resource, "");
  ASSERT_TRUE(known->entry);
  EXPECT_EQ(
      std::get<std::string>((*known->entry)->attributes.find("resource.kubernetes.io/pciBusID")->second),
      "0000:3b:00.1");
  const auto other = find(decision, kSriov, "node-a", "0000-5e-00-1");
  ASSERT_TRUE(other) << "withdrawn, or lost by every record: a claim may still have it";
  EXPECT_FALSE(other->host_use.is_any);
  EXPECT_FALSE(other->entry);
}

// Red when a new claim gets a device below which the hardware is about to be configured: also one that was published
// earlier in this boot, before a wait was set again.
TEST_F(KnownEntriesTest, NothingIsReadyBeforeTheNodeIsConfigured) {
  for (const bool has_policy : {false, true}) {
    auto in = std::make_shared<policy::Inputs>();
    in->inventory = host_.inventory();
    std::vector<policy::SriovPolicy> policies;
    if (has_policy) policies.push_back(policy::decode_sriov_policy(object(kSriovPolicy)));
    in->policies = std::make_shared<const policy::PolicySet>(
        policy::make_policy_set(policy::share(std::move(policies)), {}, {}));
    in->node.name = "node-a";
    in->unconfigured = {"f: there is no such file", {"0000-3b-00-2"}, {}};
    const auto decision = policy::decide(std::move(in));
    EXPECT_EQ(find(decision, kSriov, "node-a", "0000-3b-00-1")->not_ready,
              "this node is not configured yet: f: there is no such file");
    EXPECT_EQ(find(decision, kSriov, "node-a", "0000-3b-00-2")->not_ready,
              "this node is not configured yet: f: there is no such file");
    holdings_[kPool] = {{.entry = "0000-3b-00-2", .device = "0000:3b:00.2"}};
    EXPECT_NE(find(decision, kExposure, kPool, "0000-3b-00-2")->not_ready, "");
  }
}

TEST_F(KnownEntriesTest, DoesNotKnowForeignDevices) {
  const auto decision = decided({}, {});
  for (const auto& [driver, pool, entry] : {std::tuple(kSriov, "node-b", "0000-3b-00-1"),
                                            {kSriov, "node-a", "0000-3b-00-7"},
                                            {kSriov, "node-a", "0000-3b-00-0"},
                                            {kSriov, "node-a", "0000-3b-00-1-x"},
                                            {kSriov, "node-a", "nonsense"},
                                            {kExposure, "node-a/0000-5e-00-0", "0000-3b-00-1"},
                                            {kExposure, "node-b/0000-3b-00-0", "0000-3b-00-1"},
                                            {kExposure, kPool, "nonsense"},
                                            {"gpu.example.com", "node-a", "0000-3b-00-1"}})
    EXPECT_FALSE(find(decision, driver, pool, entry)) << driver << " " << pool << " " << entry;
}

TEST_F(KnownEntriesTest, APersonaFollowsItsPolicy) {
  const auto policy = policy::decode_exposure_policy(object(kShared));
  ASSERT_TRUE(policy.problems.empty()) << policy.problems.front().what;
  const auto decision = decided({}, {policy});
  holdings_ = decision.offered;
  const auto known = find(decision, kExposure, kPool, "0000-3b-00-0-macvlan");
  ASSERT_TRUE(known);
  EXPECT_FALSE(known->holding.is_exclusive);
  EXPECT_EQ(known->holding.group, "g");
  EXPECT_EQ(known->pf, "0000:3b:00.0");
  EXPECT_EQ(known->cni_plugins, std::vector<std::string>{"macvlan"});
}

// Red when an empty list, or the end of the policy with a list, permits more plugins than the list did.
TEST_F(KnownEntriesTest, NoPolicyPermitsNoMorePlugins) {
  using Names = std::vector<std::string>;
  const auto exposure = [](const std::string& name, const std::string& type, const std::string& rest) {
    const kube::Json json =
        object(("{metadata: {name: " + name +
                "}, spec: {selector: {cel: 'device.attributes[\"dra.networking\"].type == \"" + type +
                "\"'}, exposure: {" + rest + "}}}")
                   .c_str());
    auto out = policy::decode_exposure_policy(json, kExposure, kube::decode_object_meta(json));
    EXPECT_TRUE(out.problems.empty()) << rest;
    return out;
  };
  const auto of = [&](const std::vector<policy::ExposurePolicy>& policies) {
    const auto decision = decided({}, policies);
    if (!decision.offered.empty()) holdings_ = decision.offered;
    return *find(decision, kExposure, kPool, "0000-3b-00-0");
  };
  const auto listing = exposure("listing", "pf", "supportedCNIPlugins: [{name: host-device}, {name: own}]");
  EXPECT_EQ(of({listing}).cni_plugins, (Names{"host-device", "own"}));
  EXPECT_EQ(of({exposure("empty", "pf", "supportedCNIPlugins: []")}).cni_plugins, Names());
  EXPECT_EQ(of({exposure("absent", "pf", "")}).cni_plugins, std::nullopt);
  EXPECT_EQ(of({}).cni_plugins, Names()) << "the policy with the list may have offered it";
  EXPECT_EQ(of({exposure("suffix", "pf", "deviceNameSuffix: -s, supportedCNIPlugins: [{name: sriov}]")})
                .cni_plugins,
            Names());
  const auto later = exposure("later", "vf", "supportedCNIPlugins: [{name: own}, {name: sriov}]");
  EXPECT_EQ(of({later}).cni_plugins, (Names{"own", "sriov"})) << "its type may have been another one";
  const auto both = of({later, exposure("plain", "bridge", "")});
  EXPECT_EQ(both.cni_plugins, (Names{"own", "sriov"}));
  EXPECT_TRUE(both.are_default_plugins_too);
}

// A SriovResourcePolicy has no list, so its end permits nothing more.
TEST_F(KnownEntriesTest, TheOptionsDecideForSriovDevices) {
  const auto decision = decided({}, {});
  const auto known = find(decision, kSriov, "node-a", "0000-3b-00-1");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->cni_plugins, std::nullopt);
}

TEST_F(KnownEntriesTest, WithoutARecordExcludesEverythingPossible) {
  const auto decision = decided({}, {});
  const auto known = find(decision, kExposure, kPool, "0000-3b-00-1-macvlan");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->holding.device, "0000:3b:00.1");
  EXPECT_TRUE(known->holding.is_exclusive);
}

}  // namespace
}  // namespace known_entries_test
}  // namespace sliced::kubelet
