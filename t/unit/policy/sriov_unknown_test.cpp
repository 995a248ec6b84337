// VFs of which facts are unknown, since their PF's interface is elsewhere: which config takes them is unknown, too.
#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/allowed_settings.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/match.h"
#include "t/fixture/vf_host.h"

namespace sliced::policy {
namespace sriov_unknown_test {

using fixture::VfHost;

constexpr const char* kPf = "0000:3b:00.0";
constexpr const char* kVf = "0000:3b:00.1";
constexpr const char* kEntry = "0000-3b-00-1";
const std::string kDriver = "sriovnetwork.k8snetworkplumbingwg.io";

struct World {
  VfHost host;
  std::vector<std::string> policies, exposures;
  std::shared_ptr<Inputs> in = std::make_shared<Inputs>();

  World() { host.pf(kPf, "ens1f0", 2); }

  void lose_pf() {
    host.at(kPf).netdev.reset();
    for (const char* vf : {kVf, "0000:3b:00.2"}) {
      host.at(vf).pf_name.clear();
      host.at(vf).pf_link_type.reset();
    }
  }
  void add(const std::string& name, const std::string& spec) {
    policies.push_back("metadata: {name: " + name + ", namespace: ns}\nspec: " + spec);
  }
  Decision decide() {
    std::vector<Shared<SriovPolicy>> sriov;  // each time of other objects in memory
    for (const std::string& text : policies)
      sriov.push_back(decode_sriov_policy(kube::decode_yaml(text).documents.at(0)));
    std::vector<ExposurePolicy> exposed;
    for (const std::string& text : exposures)
      exposed.push_back(decode_exposure_policy(kube::decode_yaml(text).documents.at(0)));
    auto next = std::make_shared<Inputs>(*in);
    next->inventory = host.inventory();
    next->policies =
        std::make_shared<const PolicySet>(make_policy_set(std::move(sriov), {}, share(std::move(exposed))));
    next->node = {"node-a", {}};
    return policy::decide(next);
  }
  // The next decision is of the same process.
  void follow(const Decision& decision) {
    in->before = std::make_shared<const DesiredPools>(decision.pools);
    in->before_at = decision.inputs->now;
    in->asked_before.clear();
    for (const int32_t one : decision.asked_sriov)
      in->asked_before.push_back(decision.inputs->policies->sriov[static_cast<size_t>(one)]);
  }
};

std::string offered_as(const Decision& decision, const std::string& entry) {
  for (const kube::Device& device : decision.pools.at(kDriver).at(0).devices)
    if (device.name == entry) {
      const auto at = device.attributes.find(kDriver + "/resourceName");
      return at == device.attributes.end() ? "offered" : std::get<std::string>(at->second);
    }
  return std::string(name_of(decision.verdicts.at(kVf).outcome));
}

std::string config(const std::string& resource, const std::string& filter) {
  return "{resourceName: " + resource + (filter.empty() ? "" : ", resourceFilters: [{" + filter + "}]") + "}";
}

// Red when an unknown fact reads as another value: the next config would offer a VF that the preceding one diverts.
TEST(SriovUnknown, NoLaterConfigOffersAPossibleMatch) {
  const struct {
    const char *first, *outcome;
  } cases[] = {
      {"pfNames: [ens1f0]", "match-unknown"},
      {"pfNames: [other0]", "match-unknown"},
      {"pfNames: ['ens1f0#0']", "match-unknown"},
      {"pfNames: ['ens1f0#1-7']", "b"},  // whatever its PF is called, its index is 0
      {"linkType: ethernet", "match-unknown"},
      {"linkType: ib", "match-unknown"},
      {"pfNames: [ens1f0], vendors: ['15b3']", "b"},  // false and unknown
      {"pfNames: [ens1f0], drivers: [vfio-pci]", "b"},
      {"rootDevices: ['0000:3b:00.0']", "a"},  // addresses are known
      {"pfPciAddresses: ['0000:af:00.0']", "b"},
  };
  for (const auto& one : cases)
    for (const bool are_two_policies : {false, true}) {
      World world;
      if (are_two_policies) {
        world.add("p1", "{configs: [" + config("a", one.first) + "]}");
        world.add("p2", "{configs: [" + config("b", "") + "]}");
      } else {
        world.add("p", "{configs: [" + config("a", one.first) + ", " + config("b", "") + "]}");
      }
      world.lose_pf();
      EXPECT_EQ(offered_as(world.decide(), kEntry), one.outcome) << one.first;
    }
}

TEST(SriovUnknown, NoInterfaceAnywhereIsKnown) {
  World world;
  world.add("p", "{configs: [" + config("a", "pfNames: [ens1f0]") + ", " + config("b", "") + "]}");
  world.lose_pf();
  world.host.at(kPf).driver.clear();
  EXPECT_EQ(offered_as(world.decide(), kEntry), "b");
}

TEST(SriovUnknown, OneMatchingFilterOfAConfigIsEnough) {
  World world;
  world.add("p", "{configs: [{resourceName: a, resourceFilters: [{pfNames: [x]}, {vendors: ['8086']}]}]}");
  world.lose_pf();
  EXPECT_EQ(offered_as(world.decide(), kEntry), "a");
}

TEST(SriovUnknown, DoesNotWaitForLaterConfigs) {
  World world;
  world.add("p", "{configs: [" + config("a", "") + ", " + config("b", "pfNames: [ens1f0]") + "]}");
  world.lose_pf();
  EXPECT_EQ(offered_as(world.decide(), kEntry), "a");
}

TEST(SriovUnknown, ExplainsTheUnknown) {
  World world;
  world.add("p1", "{configs: [" + config("a", "pfNames: [ens1f0]") + "]}");
  world.add("p2", "{configs: [" + config("b", "") + "]}");
  world.lose_pf();
  const Decision decision = world.decide();
  const Explanation said = explain(decision, kVf);
  EXPECT_EQ(said.outcome, "match-unknown");
  EXPECT_EQ(
      said.summary,
      "policy ns/p1, spec.configs[0].resourceFilters[0] has precedence and may offer it: it depends on a fact of the interface of PF 0000:3b:00.0, which is in another network namespace; the VF is not offered until that returns");
  ASSERT_EQ(said.rules.size(), 1u);
  EXPECT_EQ(said.rules[0], (Rule{"ns/p1", "spec.configs[0].resourceFilters[0]", "unknown", "pfNames",
                                 "unknown, since the interface of PF 0000:3b:00.0 is elsewhere", "ens1f0"}));
  EXPECT_EQ(said.entry, "");
}

// Regardless of the first one's result, the other driver does not offer the VF meanwhile, nor the whole PF.
TEST(SriovUnknown, TheOtherDriverDoesNotOfferItEither) {
  for (const std::string type : {"vf", "pf"}) {
    World world;
    world.add("p", "{configs: [" + config("a", "pfNames: [ens1f0]") + "]}");
    world.exposures = {
        "metadata: {name: d}\nspec: {selector: {cel: 'device.attributes[\"dra.networking\"].type == \"" +
        type + "\"'}}"};
    world.lose_pf();
    const Decision decision = world.decide();
    const std::string id = type == "vf" ? kVf : kPf;
    EXPECT_EQ(name_of(decision.personas.at(id).at(0).outcome), "conflict");
    EXPECT_NE(decision.personas.at(id).at(0).why.find("may offer"), std::string::npos);
  }
}

// ---- published entries

TEST(SriovUnknown, APublishedEntryKeepsItsVerdictUnderUnchangedPolicies) {
  World world;
  world.add("p1", "{configs: [" + config("a", "pfNames: [other0]") + "]}");
  world.add("p2", "{configs: [" + config("b", "") + "]}");
  world.add("p3", "{configs: [" + config("c", "") + "]}");
  Decision decision = world.decide();
  ASSERT_EQ(offered_as(decision, kEntry), "b");
  world.lose_pf();
  for (int i = 0; i < 2; ++i) {
    world.follow(decision);
    decision = world.decide();
    EXPECT_EQ(offered_as(decision, kEntry), "b") << i;
  }
  world.policies.pop_back();
  world.follow(decision);
  decision = world.decide();
  EXPECT_EQ(offered_as(decision, kEntry), "b") << "what comes behind says nothing of it";
  world.policies[0] =
      "metadata: {name: p1, namespace: ns}\nspec: {configs: [" + config("a", "pfNames: [ens1f0]") + "]}";
  world.follow(decision);
  EXPECT_EQ(offered_as(world.decide(), kEntry), "match-unknown") << "the edited one may mean it";
}

// Red when a policy is another one because it was read once more, or something beside its spec was written.
TEST(SriovUnknown, APolicyIsUnchangedWhileItsSpecIs) {
  const std::string spec = "\nspec: {configs: [" + config("a", "pfNames: [other0]") + "]}";
  const struct {
    const char *meta, *outcome;
  } cases[] = {
      {"{name: p1, namespace: ns, uid: u}", "b"},
      {"{name: p1, namespace: ns, uid: u, generation: 2, resourceVersion: '9', labels: {x: y}}", "b"},
      {"{name: p1, namespace: ns, uid: u, managedFields: [{manager: m, time: '2026-11-21T00:00:00Z'}]}", "b"},
      {"{name: p1, namespace: ns, uid: other}", "match-unknown"},
      {"{name: p1a, namespace: ns, uid: u}", "match-unknown"},
  };
  for (const auto& one : cases) {
    World world;
    world.policies = {"metadata: {name: p1, namespace: ns, uid: u}" + spec};
    world.add("p2", "{configs: [" + config("b", "") + "]}");
    world.follow(world.decide());
    world.lose_pf();
    world.policies[0] = "\n\nmetadata: " + std::string(one.meta) + spec + "\nstatus: {x: y}";
    EXPECT_EQ(offered_as(world.decide(), kEntry), one.outcome) << one.meta;
  }
  for (const char* edit :
       {"priority: 1", "allowHostUse: true", "readiness: {require: []}",
        "nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, "
        "values: [node-a]}]}]}"}) {
    World world;
    world.policies = {"metadata: {name: p1, namespace: ns, uid: u}" + spec};
    world.add("p2", "{configs: [" + config("b", "") + "]}");
    world.follow(world.decide());
    world.lose_pf();
    world.policies[0].insert(world.policies[0].find("{configs") + 1, std::string(edit) + ", ");
    EXPECT_EQ(offered_as(world.decide(), kEntry), "match-unknown") << edit;
  }
}

TEST(SriovUnknown, AnUnpublishedEntryIsNotOfferedBesideAPublishedOne) {
  World world;
  world.add("p", "{configs: [" + config("a", "pfNames: [other0]") + ", " + config("b", "") + "]}");
  world.lose_pf();
  world.in->before_at = TimePoint{};
  world.in->before = std::make_shared<const DesiredPools>();
  world.in->published.resources[kEntry] = kDriver + "/resourceName=b\n";  // of the process before
  EXPECT_EQ(offered_as(world.decide(), kEntry), "match-unknown");
}

// After a restart its entry stays unchanged, regardless of which of the possible policies offers it.
TEST(SriovUnknown, ARestartKeepsTheFormOfTheEntry) {
  for (const std::string stood : {"a", "b", "c"}) {
    World world;
    world.add("p", "{configs: [" + config("a", "pfNames: [ens1f0]") + ", " + config("b", "") + ", " +
                       config("c", "") + "]}");
    world.lose_pf();
    world.in->published.resources[kEntry] = kDriver + "/resourceName=" + stood + "\n";
    EXPECT_EQ(offered_as(world.decide(), kEntry), stood == "c" ? "match-unknown" : stood);
  }
}

// Red when a policy whose filter reads an unknown fact limits nothing, or explain shows another limit than the one in effect.
TEST(SriovUnknown, PossibleMatchesLimitSettingsToo) {
  World world;
  world.add("by-address",
            "{allow: [vlan, trust], configs: [{resourceFilters: [{pfPciAddresses: ['0000:3b:00.0']}]}]}");
  world.add("by-name", "{allow: [vlan], configs: [{resourceFilters: [{pfNames: [ens9f9]}]}]}");
  Decision decision = world.decide();
  EXPECT_EQ(names_of(*sriov_settings(decision, world.host.at(kVf)).listed),
            (std::vector<std::string>{"vlan", "trust"}));
  EXPECT_EQ(
      explain(decision, kVf).summary,
      "offered as 0000-3b-00-1 by policy ns/by-address, spec.configs[0].resourceFilters[0]; network definitions and claims may set "
      "vlan, trust (spec.allow of SriovResourcePolicy ns/by-address)");
  world.lose_pf();
  decision = world.decide();
  EXPECT_EQ(names_of(*sriov_settings(decision, world.host.at(kVf)).listed), std::vector<std::string>{"vlan"});
  world.policies.back() =
      "metadata: {name: by-name, namespace: ns}\nspec: {configs: [{resourceFilters: [{linkType: ib}]}]}";
  EXPECT_TRUE(sriov_settings(world.decide(), world.host.at(kVf)).is_default_too);
}

}  // namespace sriov_unknown_test
}  // namespace sliced::policy
