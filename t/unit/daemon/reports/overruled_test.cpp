#include "daemon/reports/overruled.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "t/fixture/vf_host.h"

namespace sliced::reports {
namespace overruled_test {

using fixture::VfHost;

constexpr const char* kPf = "0000:3b:00.0";

std::string sriov(const std::string& name, int priority, const std::string& config) {
  return "kind: SriovResourcePolicy\nmetadata: {name: " + name +
         ", namespace: ns}\nspec: {priority: " + std::to_string(priority) + ", configs: [{" + config + "}]}";
}
std::string exposure(const std::string& name, int priority, const std::string& rest) {
  return "apiVersion: networking.dra.io/v1alpha1\nkind: DeviceExposurePolicy\nmetadata: {name: " + name +
         "}\nspec: {priority: " + std::to_string(priority) + ", " + rest + "}";
}
const std::string kVfs = "selector: {cel: 'device.attributes[\"dra.networking\"].type == \"vf\"'}";

struct Decided {
  policy::Decision decision;
  OverruledPolicies overruled;
};
Decided decided(const VfHost& host, const std::vector<std::string>& objects) {
  std::vector<policy::SriovPolicy> sriovs;
  std::vector<policy::DeviceAttributes> attributes;
  std::vector<policy::ExposurePolicy> exposures;
  for (const std::string& text : objects) {
    const kube::Json object = kube::decode_yaml(text).documents.at(0);
    if (object.text("kind") == "SriovResourcePolicy")
      sriovs.push_back(policy::decode_sriov_policy(object));
    else if (object.text("kind") == "DeviceAttributes")
      attributes.push_back(policy::decode_device_attributes(object, "sriovnetwork.k8snetworkplumbingwg.io"));
    else
      exposures.push_back(policy::decode_exposure_policy(object));
  }
  auto in = std::make_shared<policy::Inputs>();
  in->inventory = host.inventory();
  in->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(sriovs)), policy::share(std::move(attributes)),
                              policy::share(std::move(exposures))));
  in->node.name = "a";
  Decided out{policy::decide(in), {}};
  out.overruled = overruled_in(out.decision);
  return out;
}

// By name of the loser: "winner=devices ...".
std::map<std::string, std::string> sriov_losers(const Decided& one) {
  const auto& all = one.decision.inputs->policies->sriov;
  std::map<std::string, std::string> out;
  for (const auto& [loser, lost] : one.overruled.sriov)
    for (const auto& [winner, devices] : lost.by)
      out[all[static_cast<size_t>(loser)]->id.name] +=
          all[static_cast<size_t>(winner)]->id.name + "=" + std::to_string(devices) + " ";
  return out;
}
std::map<std::string, std::string> exposure_losers(const Decided& one) {
  const auto& all = one.decision.inputs->policies->exposures;
  std::map<std::string, std::string> out;
  for (const auto& [loser, lost] : one.overruled.exposures)
    for (const auto& [winner, devices] : lost.by)
      out[all[static_cast<size_t>(loser)]->id.name] +=
          all[static_cast<size_t>(winner)]->id.name + "=" + std::to_string(devices) + " ";
  return out;
}
using Losers = std::map<std::string, std::string>;

TEST(Overruled, TheLaterOfTwoSriovPoliciesLosesCommonDevices) {
  VfHost host;
  host.pf(kPf, "ens1f0", 8);
  const auto losers = sriov_losers(
      decided(host, {sriov("low", 0, "resourceName: fast"),
                     sriov("high", 5, "resourceName: storage, resourceFilters: [{pfNames: ['ens1f0#0-2']}]"),
                     sriov("middle", 2, "resourceName: backup, resourceFilters: [{pfNames: ['ens1f0#2-3']}]"),
                     sriov("apart", 1, "resourceName: x, resourceFilters: [{pfNames: [ens9]}]")}));
  EXPECT_EQ(losers, (Losers{{"low", "high=3 middle=1 "}, {"middle", "high=1 "}}));
}

TEST(Overruled, AnEqualOfferLosesNothing) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  EXPECT_EQ(sriov_losers(decided(host, {sriov("a", 5, "resourceName: x"), sriov("b", 0, "resourceName: x")})),
            Losers{});
  const std::string labelled =
      "kind: DeviceAttributes\nmetadata: {name: d, namespace: ns, labels: {a: b}}\nspec: {attributes: "
      "{resourceName: {string: x}}}";
  const std::string by_label = "deviceAttributesSelector: {matchLabels: {a: b}}";
  EXPECT_EQ(
      sriov_losers(decided(host, {labelled, sriov("a", 5, "resourceName: x"), sriov("b", 0, by_label)})),
      Losers{})
      << "the name comes from DeviceAttributes";
  EXPECT_EQ(
      sriov_losers(decided(host, {labelled, sriov("a", 5, "resourceName: other"), sriov("b", 0, by_label)})),
      (Losers{{"b", "a=4 "}}));
}

// By either of its keys: claims select by both.
TEST(Overruled, ComparesTheNameForMultus) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const std::string labelled =
      "kind: DeviceAttributes\nmetadata: {name: d, namespace: ns, labels: {a: b}}\nspec: {attributes: "
      "{k8s.cni.cncf.io/resourceName: {string: example.com/x}}}";
  const std::string by_label = "resourceName: x, deviceAttributesSelector: {matchLabels: {a: b}}";
  EXPECT_EQ(
      sriov_losers(decided(host, {labelled, sriov("a", 5, "resourceName: x"), sriov("b", 0, by_label)})),
      (Losers{{"b", "a=4 "}}));
  EXPECT_EQ(sriov_losers(decided(host, {labelled, sriov("a", 5, by_label), sriov("b", 0, by_label)})),
            Losers{});
}

TEST(Overruled, IgnoresExcludedDevices) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const Decided one = decided(host, {sriov("a", 5, "resourceName: x"), sriov("b", 0, "resourceName: other"),
                                     exposure("hide", 0,
                                              "action: exclude, selector: {cel: "
                                              "'device.attributes[\"dra.networking\"].vfIndex < 3'}")});
  EXPECT_EQ(sriov_losers(one), (Losers{{"b", "a=1 "}}));
}

TEST(Overruled, TheLaterOfTwoExposuresOfOneSuffixLoses) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const std::string shared = ", exposure: {allowMultipleAllocations: true}";
  const auto losers = exposure_losers(decided(
      host,
      {exposure("a", 900, kVfs), exposure("same", 800, kVfs), exposure("shared", 700, kVfs + shared),
       exposure("suffix", 600, kVfs + ", exposure: {deviceNameSuffix: '-s', allowMultipleAllocations: true}"),
       exposure("apart", 500, "selector: {cel: 'false'}" + shared)}));
  EXPECT_EQ(losers, (Losers{{"shared", "a=4 "}}));
}

// What a gate holds back is its policy's all the same.
TEST(Overruled, AWithheldWinnerWins) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  host.at(VfHost::vf_address(kPf, 0)).host_use = "enslaved to br0";
  const auto losers = sriov_losers(
      decided(host, {sriov("a", 5, "resourceName: x"),
                     sriov("b", 0, "resourceName: other, resourceFilters: [{pfNames: ['ens1f0#0']}]")}));
  EXPECT_EQ(losers, (Losers{{"b", "a=1 "}}));
}

}  // namespace overruled_test
}  // namespace sliced::reports
