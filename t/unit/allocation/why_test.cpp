// Worlds small enough to be read. That the answers are the scheduler's is judged in t/worlds/why.
#include "allocation/why.h"

#include <algorithm>

#include "reactor/base/text.h"
#include "t/unit/allocation/objects.h"

namespace sliced::allocation {
namespace {

constexpr const char* kWorld = R"(
kind: Node
metadata: {name: w}
---
kind: DeviceClass
metadata: {name: vf}
spec: {selectors: [{cel: {expression: 'device.attributes["d.io"].vendor == "8086"'}}]}
---
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.io
  nodeName: w
  pool: {name: w, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: a, attributes: {vendor: {string: "8086"}}}
  - {name: b, attributes: {vendor: {string: "15b3"}}}
  - {name: c, attributes: {vendor: {string: "8086"}}, taints: [{key: sick, effect: NoExecute}]}
---
kind: ResourceClaim
metadata: {name: other}
spec: {}
status: {allocation: {devices: {results: [{request: r, driver: d.io, pool: w, device: a}]}}, reservedFor: [{resource: pods, name: q}]}
)";

std::string claim(const std::string& exactly) {
  return "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, exactly: " +
         exactly + "}]}}";
}

Answer ask(Cluster& cluster, const std::string& exactly) {
  add(cluster, kWorld);
  add(cluster, claim(exactly));
  return why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
}

constexpr const char* kRule = R"(
kind: DeviceTaintRule
metadata: {name: broken}
spec: {deviceSelector: {driver: d.io, device: b}, taint: {key: broken, effect: NoSchedule}}
)";

// Red when rules are read and not applied.
TEST(Why, WhatAnAdministratorTaintsIsTainted) {
  Cluster cluster;
  add(cluster, kRule);
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  const Answer answer = ask(cluster, "{deviceClassName: any}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  EXPECT_NE(join(answer.advice, "\n").find("taint broken:NoSchedule"), std::string::npos)
      << join(answer.advice, "\n");
  cluster.features.taint_rules = false;
  EXPECT_EQ(why_pod(cluster, *answer.pod).verdict, Verdict::kCan)
      << "schedulers before 1.37 know of no rules";
}

TEST(Why, CountsWhatMatchesWhatIsHeldAndByWhom) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  const RequestView& view = answer.nodes.at(0).requests.at(0);
  EXPECT_EQ(view.devices, 3u);
  EXPECT_EQ(view.matching, 2u);
  EXPECT_EQ(view.allocated, 1u);
  EXPECT_EQ(view.free, 0u);
  EXPECT_EQ(view.holders.begin()->first, "default/other (pod q)");
  ASSERT_EQ(view.standing.size(), 3u);
  EXPECT_EQ(view.standing[0].what, "has the taint sick:NoExecute, which the request does not tolerate");
  EXPECT_EQ(
      view.standing[2].what,
      "DeviceClass vf says no, selectors[0]: device.attributes[\"d.io\"].vendor == \"8086\"; vendor is \"15b3\"");
}

TEST(Why, NamesEachChangeThatIsEnough) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf}");
  EXPECT_EQ(answer.nodes.at(0).changes_text, std::vector<std::string>{"release claim default/other (pod q)"});
  ASSERT_EQ(answer.advice.size(), 3u);
  EXPECT_EQ(answer.advice[0], "release claim default/other (pod q) (then it can run on w)");
  EXPECT_NE(answer.advice[1].find("tolerate the device taint sick:NoExecute"), std::string::npos);
  EXPECT_NE(answer.advice[2].find("loosen selectors[0] of DeviceClass vf"), std::string::npos);
}

// Two of what there is one of: nothing alone is enough, and all that is needed is named.
TEST(Why, NamesAllThatStandsInTheWay) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf, count: 2}");
  EXPECT_TRUE(answer.advice.empty());
  EXPECT_EQ(answer.nodes.at(0).changes.all.size(), 2u);
}

TEST(Why, AClassThatIsNotThereIsSaidOnce) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vfs}");
  ASSERT_EQ(answer.everywhere.size(), 1u);
  EXPECT_EQ(answer.everywhere[0], "there is no DeviceClass vfs, which request r of claim default/c names");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
}

TEST(Why, AnErrorOnOneNodeKeepsThePodFromAll) {
  Cluster cluster;
  add(cluster, "kind: Node\nmetadata: {name: v}");
  add(cluster, R"(
kind: ResourceSlice
metadata: {name: t}
spec: {driver: d.io, nodeName: v, pool: {name: v, generation: 1, resourceSliceCount: 1}, devices: [{name: x}]}
)");
  const Answer answer = ask(cluster, "{deviceClassName: vf, tolerations: [{operator: Exists}]}");
  EXPECT_EQ(answer.aborted_by, "v");
  EXPECT_EQ(answer.verdict, Verdict::kPending) << "though w has what it takes";
  EXPECT_TRUE(answer.nodes.at(1).can_run());
  EXPECT_EQ(answer.nodes.at(0).found, Found::kError);
  ASSERT_EQ(answer.advice.size(), 1u);
  EXPECT_NE(answer.advice[0].find("DeviceClass vf"), std::string::npos);
}

TEST(Why, AClaimThatIsStillToBeMadeIsLookedAt) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster,
      "kind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: {requests: [{name: r, exactly: "
      "{deviceClassName: vf}}]}}}");
  const Answer answer =
      why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimTemplateName: t}]}"));
  ASSERT_EQ(answer.everywhere.size(), 1u);
  EXPECT_NE(answer.everywhere[0].find("no ResourceClaim has been made"), std::string::npos);
  EXPECT_EQ(answer.nodes.at(0).requests.size(), 1u);
  const Answer absent =
      why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimTemplateName: u}]}"));
  EXPECT_NE(absent.everywhere.at(0).find("there is no ResourceClaimTemplate default/u"), std::string::npos);
}

TEST(Why, CountersAreToldWithWhoUsesThem) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster, R"(
kind: ResourceSlice
metadata: {name: counters}
spec: {driver: e.io, nodeName: w, pool: {name: e, generation: 1, resourceSliceCount: 2}, sharedCounters: [{name: pf, counters: {slots: {value: "2"}}}]}
---
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: e.io
  nodeName: w
  pool: {name: e, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: vf0, consumesCounters: [{counterSet: pf, counters: {slots: {value: "1"}}}]}
  - {name: pf, consumesCounters: [{counterSet: pf, counters: {slots: {value: "2"}}}]}
---
kind: ResourceClaim
metadata: {name: small}
status: {allocation: {devices: {results: [{request: r, driver: e.io, pool: e, device: vf0}]}}}
---
kind: DeviceClass
metadata: {name: e}
spec: {selectors: [{cel: {expression: 'device.driver == "e.io"'}}]}
)");
  add(cluster, claim("{deviceClassName: e}"));
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_EQ(answer.nodes.at(0).requests.at(0).standing.at(0).what,
            "takes 2 of counter pf/slots, and 1 of 2 is left; used by vf0 of claim default/small");
  EXPECT_EQ(answer.nodes.at(0).changes_text, std::vector<std::string>{"release claim default/small"});
}

TEST(Why, APodThatRunsIsNotAskedAbout) {
  Cluster cluster;
  add(cluster, kWorld);
  const Answer answer = why_pod(cluster, pod_of("{nodeName: w}"));
  EXPECT_EQ(answer.verdict, Verdict::kRuns);
  EXPECT_TRUE(answer.nodes.empty());
}

// Claims are written by anybody: whoever asks about one waits for a minute at most, and is told of what was not looked at.
TEST(Why, WhatTakesTooLongIsNotLookedAtAndSaid) {
  const std::string dear =
      "{deviceClassName: vf, selectors: [{cel: {expression: '[1,2,3,4,5,6,7,8].all(a, [1,2,3,4,5,6,7,8].all(b, "
      "[1,2,3,4,5,6,7,8].all(c, a + b + c < 0)))'}}]}";
  for (const uint64_t effort : {0, 1, 300, 2'000, 20'000}) {
    Cluster cluster;
    cluster.effort_max = effort;
    for (int i = 0; i < 40; ++i) {
      std::string node = kWorld;
      node = node.substr(0, node.find("---"));
      node.replace(node.find("name: w"), 7, "name: v" + std::to_string(i));
      add(cluster, node);
    }
    const Answer answer = ask(cluster, dear);
    EXPECT_EQ(answer.verdict, effort < 20'000 ? Verdict::kUnsure : answer.verdict) << effort;
    for (const NodeAnswer& node : answer.nodes)
      EXPECT_FALSE(node.found == Found::kUnsure && (node.changes.is_known || !node.requests.empty()))
          << effort;
    const bool is_said = std::ranges::any_of(answer.unsure, [](const std::string& what) {
      return what.find("nodes were not looked at") != std::string::npos;
    });
    EXPECT_EQ(is_said, answer.nodes.back().found == Found::kUnsure) << effort;
  }
  Cluster whole;
  EXPECT_EQ(ask(whole, dear).verdict, Verdict::kPending);
}

}  // namespace
}  // namespace sliced::allocation
