#include "cli/node_events.h"

#include <gtest/gtest.h>

#include "kube/yaml.h"
#include "policy/decide.h"
#include "t/fixture/vf_host.h"

namespace sliced::cli {
namespace node_events_test {

using fixture::VfHost;

constexpr const char* kPf = "0000:3b:00.0";

policy::Decision decided(const VfHost& host, const std::string& filters) {
  auto in = std::make_shared<policy::Inputs>();
  in->inventory = host.inventory();
  std::vector<policy::SriovPolicy> policies;
  policies.push_back(policy::decode_sriov_policy(
      kube::decode_yaml("metadata: {name: p, namespace: ns}\nspec: {configs: [{resourceFilters: [" + filters +
                        "]}]}")
          .documents.at(0)));
  in->policies = std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(policies)), {}, {}));
  in->node.name = "a";
  return policy::decide(in);
}

// Red when what only claims tell of, without the kubelet plugin, is not worth an event.
TEST(NodeEvents, WithdrawnInUseIsWhatAClaimHasAndNobodyOffers) {
  VfHost host;
  host.pf(kPf, "ens1f0", 4);
  const std::string offered = VfHost::vf_address(kPf, 0), prepared = VfHost::vf_address(kPf, 2),
                    listed = VfHost::vf_address(kPf, 3);
  const auto found =
      withdrawn_in_use(decided(host, "{pfNames: ['ens1f0#0-1']}"),
                       {{offered, "ns/c"}, {prepared, "ns/d"}, {listed, ""}, {"br9", "ns/e"}, {"", "ns/f"}});
  EXPECT_EQ(found, (reports::WithdrawnInUse{{prepared, "claim ns/d; no-match"},
                                            {listed, "a claim; no-match"},
                                            {"br9", "claim ns/e; it is gone"}}));
}

}  // namespace node_events_test
}  // namespace sliced::cli
