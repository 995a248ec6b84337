#include "daemon/node_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/objects/yaml.h"
#include "policy/decide.h"
#include "policy/exposure/decode_policy.h"
#include "t/fixture/golden.h"
#include "t/fixture/vf_host.h"

namespace sliced::daemon {
namespace node_events_test {

using fixture::VfHost;

constexpr const char* kPf = "0000:3b:00.0";

policy::Decision decided(const VfHost& host, const std::string& filters, const std::string& exclude = "") {
  auto in = std::make_shared<policy::Inputs>();
  in->inventory = host.inventory();
  std::vector<policy::SriovPolicy> policies;
  policies.push_back(policy::decode_sriov_policy(
      kube::decode_yaml(
          "metadata: {name: p, namespace: ns, generation: 3}\nspec: {configs: [{resourceFilters: [" +
          filters + "]}]}")
          .documents.at(0)));
  std::vector<policy::ExposurePolicy> exposures;
  if (!exclude.empty())
    exposures.push_back(policy::decode_exposure_policy(
        kube::decode_yaml("metadata: {name: hide, generation: 7}\nspec: " + exclude).documents.at(0)));
  in->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(policies)), {}, policy::share(std::move(exposures))));
  in->node.name = "a";
  return policy::decide(in);
}

status::PastChangePtr past(policy::OfferChange::Kind kind, const std::string& entry,
                           const std::string& policy, const std::string& outcome = "") {
  return std::make_shared<const status::PastChange>(status::PastChange{
      1, {.kind = kind, .devices = {entry}, .policy = policy, .generation = 1, .outcome = outcome}});
}

std::string text_of(const reports::WithdrawnInUse& found) {
  std::string out;
  for (const auto& [device, how] : found) out += device + ": " + how + "\n";
  return out;
}

// Red when what only claims tell of, without the kubelet plugin, is not worth an event; when the verdict of the other kind of
// policies is given as the cause; when claim or pod are not named.
TEST(NodeEvents, WithdrawnInUseNamesPolicyWithGenerationClaimAndPod) {
  using Kind = policy::OfferChange::Kind;
  VfHost host;
  host.pf(kPf, "ens1f0", 8);
  const auto vf = [](int index) { return VfHost::vf_address(kPf, index); };
  const auto entry = [&](int index) {
    std::string out = vf(index);
    std::ranges::replace_if(out, [](char c) { return c == ':' || c == '.'; }, '-');
    return out;
  };
  const ClaimsByDevice allocated = {{vf(0), {"ns/c", {"a"}}},
                                    {vf(2), {"ns/d", {"a"}}},
                                    {vf(3), {}},
                                    {vf(4), {"ns/g", {"a", "b", "c", "d"}}},
                                    {vf(5), {"ns/h", {}}},
                                    {"br9", {"ns/e", {"x"}}},
                                    {"", {"ns/f", {}}}};
  const auto found =
      withdrawn_in_use(decided(host, "{pfNames: ['ens1f0#0-1']}"), allocated,
                       {past(Kind::kOffered, entry(2) + "-passthrough", "DeviceExposurePolicy gone"),
                        past(Kind::kOffered, entry(4), "policy ns/p"),
                        past(Kind::kWithdrawn, entry(4), "DeviceExposurePolicy hide", "excluded"),
                        past(Kind::kWithdrawn, entry(5), "policy ns/p", "no-match")});
  fixture::expect_golden(text_of(found));
}

TEST(NodeEvents, EachPodOfAClaimWithAnIgnoredConfigurationGetsAnEvent) {
  kubelet::ClaimWithIgnored claim{"ns", "c", {}, {"it is ignored"}};
  for (int i = 0; i < 6; ++i) claim.pods.push_back({"pod-" + std::to_string(i), "uid-" + std::to_string(i)});
  const auto pods = pods_with_ignored({{{"d", "uid-c"}, claim}});
  ASSERT_EQ(pods.size(), 4u) << "of many the first";
  EXPECT_EQ(pods[1], (PodWithIgnored{"ns", "pod-1", "uid-1", "ResourceClaim ns/c: it is ignored"}));
}

// Red when an exclude or a gate is not named, or as a raw outcome.
TEST(NodeEvents, NamesThePolicyOrGateAsTheCause) {
  VfHost host;
  host.pf(kPf, "ens1f0", 2);
  const std::string vf = VfHost::vf_address(kPf, 0);
  const auto found = withdrawn_in_use(
      decided(
          host, "{pfNames: ['ens1f0']}",
          "{action: exclude, selector: {cel: 'device.attributes[\"dra.networking\"].pfName == \"ens1f0\"'}}"),
      {{vf, {"ns/c", {"a"}}}}, {past(policy::OfferChange::Kind::kOffered, "x", "policy ns/p")});
  fixture::expect_golden(text_of(found));
}

}  // namespace node_events_test
}  // namespace sliced::daemon
