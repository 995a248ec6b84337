// Worlds small enough to be read. That the answers are the scheduler's is judged in t/worlds/why.
#include "kubectl/why/why.h"

#include <algorithm>
#include <map>

#include "kubectl/why/users.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"
#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
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
TEST(Why, HonoursTaintRules) {
  Cluster cluster;
  add(cluster, kRule);
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  const Answer answer = ask(cluster, "{deviceClassName: any}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  EXPECT_NE(
      join(answer.advice, "\n").find("delete DeviceTaintRule broken with its device taint broken:NoSchedule"),
      std::string::npos)
      << join(answer.advice, "\n");
  const RequestView& view = answer.nodes.at(0).requests.at(0);
  EXPECT_TRUE(std::any_of(view.obstacles.begin(), view.obstacles.end(), [](const ObstacleGroup& one) {
    return one.what ==
           "has the taint broken:NoSchedule of DeviceTaintRule broken, which the "
           "request does not tolerate";
  })) << "a taint of the driver is seen first, and is not a rule's";
  cluster.features.taint_rules = false;
  EXPECT_EQ(why_pod(cluster, *answer.pod).verdict, Verdict::kCan)
      << "schedulers before 1.37 know of no rules";
}

// Red when the advice loosens a correct selector although the name of the class is wrong or a policy is missing.
TEST(Why, DoesNotLoosenSelectorsIfAnotherRemedyIsEnough) {
  const std::string selector = "{cel: {expression: 'device.attributes[\"d.io\"].vendor == \"1af4\"'}}";
  Cluster cluster;
  const Answer misnamed = ask(cluster, "{deviceClassName: vff, selectors: [" + selector + "]}");
  ASSERT_EQ(misnamed.everywhere.size(), 1u);
  EXPECT_NE(misnamed.everywhere[0].find("did you mean vf?"), std::string::npos) << misnamed.everywhere[0];
  EXPECT_TRUE(misnamed.nodes.at(0).changes_text.empty()) << join(misnamed.nodes[0].changes_text, "\n");
  Cluster other;
  Answer missing = ask(other, "{deviceClassName: vf, selectors: [" + selector + "]}");
  ASSERT_FALSE(missing.nodes.at(0).changes_text.empty());
  drop_selector_changes({"default/c, another"}, missing);
  ASSERT_FALSE(missing.nodes.at(0).changes_text.empty());
  drop_selector_changes({missing.nodes[0].requests.at(0).claim + ", r"}, missing);
  EXPECT_TRUE(missing.nodes.at(0).changes_text.empty()) << join(missing.nodes[0].changes_text, "\n");
  EXPECT_EQ(missing.nodes[0].changes_text.size(), missing.nodes[0].changes.all.size());
  EXPECT_TRUE(missing.advice.empty()) << join(missing.advice, "\n");
}

TEST(Why, CountsMatchingAndHeldDevicesWithTheirClaims) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  const RequestView& view = answer.nodes.at(0).requests.at(0);
  EXPECT_EQ(view.devices, 3u);
  EXPECT_EQ(view.matching, 2u);
  EXPECT_EQ(view.allocated, 1u);
  EXPECT_EQ(view.free, 0u);
  EXPECT_EQ(view.holders.begin()->first, "default/other (pod q)");
  ASSERT_EQ(view.obstacles.size(), 3u);
  EXPECT_EQ(view.obstacles[0].what, "has the taint sick:NoExecute, which the request does not tolerate");
  EXPECT_EQ(
      view.obstacles[2].what,
      "DeviceClass vf does not match, selectors[0]: device.attributes[\"d.io\"].vendor == \"8086\"; vendor is \"15b3\"");
}

TEST(Why, NamesEachSufficientChange) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf}");
  EXPECT_EQ(answer.nodes.at(0).changes_text,
            std::vector<std::string>{"delete pod default/q, which has claim default/other"});
  ASSERT_EQ(answer.advice.size(), 2u) << "a DeviceClass, which others use too, is never loosened";
  EXPECT_EQ(answer.advice[0], "delete pod default/q, which has claim default/other (then it can run on w)");
  EXPECT_EQ(answer.advice[1],
            "have driver d.io take away the device taint sick:NoExecute, or let request r of claim default/c "
            "tolerate it (then it can run on w)");
}

// Red when one change that is enough on several nodes is a line for each.
TEST(Why, NamesASufficientChangeOfSeveralNodesOnce) {
  Cluster cluster;
  add(cluster,
      "kind: DeviceClass\nmetadata: {name: any-vf}\nspec: {selectors: [{cel: {expression: 'true'}}]}");
  for (const std::string node : {"w1", "w2", "w3", "w4", "w5"})
    add(cluster,
        "kind: Node\nmetadata: {name: " + node + "}\n---\nkind: ResourceSlice\nmetadata: {name: s-" + node +
            "}\nspec: {driver: d.io, nodeName: " + node + ", pool: {name: " + node +
            ", generation: 1, resourceSliceCount: 1}, devices: [{name: a, attributes: {vendor: {string: '8086'}}}]}");
  add(cluster,
      claim("{deviceClassName: any-vf, selectors: [{cel: {expression: 'device.attributes[\"d.io\"].vendor == "
            "\"15b3\"'}}]}"));
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  ASSERT_EQ(answer.advice.size(), 1u) << join(answer.advice, "\n");
  EXPECT_TRUE(answer.advice[0].ends_with(" (then it can run on w1, w2, w3 and 2 more nodes)"))
      << answer.advice[0];
}

// Two devices are requested and one exists: no single change is sufficient, and all necessary ones are named.
TEST(Why, NamesAllObstacles) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vf, count: 2}");
  EXPECT_TRUE(answer.advice.empty());
  EXPECT_EQ(answer.nodes.at(0).changes.all.size(), 2u);
}

TEST(Why, ReportsAMissingClassOnce) {
  Cluster cluster;
  const Answer answer = ask(cluster, "{deviceClassName: vfs}");
  ASSERT_EQ(answer.everywhere.size(), 1u);
  EXPECT_EQ(answer.everywhere[0],
            "there is no DeviceClass vfs, which request r of claim default/c names; did you mean vf?");
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
  EXPECT_EQ(answer.nodes.at(0).found, SearchResult::kError);
  ASSERT_EQ(answer.advice.size(), 1u);
  EXPECT_NE(answer.advice[0].find("DeviceClass vf"), std::string::npos);
}

TEST(Why, ReadsTheTemplateOfAMissingClaim) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster,
      "kind: ResourceClaimTemplate\nmetadata: {name: t}\nspec: {spec: {devices: {requests: [{name: r, exactly: "
      "{deviceClassName: vf}}]}}}");
  const Answer answer =
      why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimTemplateName: t}]}"));
  ASSERT_EQ(answer.everywhere.size(), 1u);
  EXPECT_NE(answer.everywhere[0].find("no ResourceClaim has been created"), std::string::npos);
  EXPECT_EQ(answer.nodes.at(0).requests.size(), 1u);
  const Answer absent =
      why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimTemplateName: u}]}"));
  fixture::expect_golden(absent.everywhere.at(0));
}

TEST(Why, NamesTheUsersOfCounters) {
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
  EXPECT_EQ(answer.nodes.at(0).requests.at(0).obstacles.at(0).what,
            "takes 2 of counter pf/slots, and 1 of 2 is left; used by vf0 of claim default/small");
  EXPECT_EQ(answer.nodes.at(0).changes_text,
            std::vector<std::string>{"delete claim default/small, which no pod uses"});
}

// Red when a slice with compatibility groups makes its pool incomplete, or a PF counts as free beside its allocated VF.
TEST(Why, NamesTheUsersOfCompatibilityGroups) {
  const auto why = [](const std::string& allocated, const std::string& groups) {
    Cluster cluster;
    add(cluster, kWorld);
    add(cluster, R"(
kind: ResourceSlice
metadata: {name: counters}
spec: {driver: e.io, nodeName: w, pool: {name: e, generation: 1, resourceSliceCount: 2}, sharedCounters: [{name: pf, counters: {whole: {value: "1"}, parts: {value: "9"}}}]}
---
kind: ResourceSlice
metadata: {name: devices}
spec:
  driver: e.io
  nodeName: w
  pool: {name: e, generation: 1, resourceSliceCount: 2}
  devices:
  - {name: vf0, consumesCounters: [{counterSet: pf, counters: {parts: {value: "1"}}, compatibilityGroups: [parts]}]}
  - {name: pf, consumesCounters: [{counterSet: pf, counters: {whole: {value: "1"}}, compatibilityGroups: )" +
                     groups +
                     R"(}]}
---
kind: ResourceClaim
metadata: {name: small}
status: {allocation: {devices: {results: [{request: r, driver: e.io, pool: e, device: )" +
                     allocated + R"(}]}}}
---
kind: DeviceClass
metadata: {name: e}
spec: {selectors: [{cel: {expression: 'device.driver == "e.io"'}}]}
)");
    add(cluster, claim("{deviceClassName: e}"));
    return why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  };
  EXPECT_EQ(
      why("vf0", "[whole]").nodes.at(0).requests.at(0).obstacles.at(0).what,
      "is of compatibility groups whole of counter set pf, which the devices in use there are not; used by vf0 of claim "
      "default/small");
  EXPECT_EQ(
      why("pf", "[whole]").nodes.at(0).requests.at(0).obstacles.at(0).what,
      "is of compatibility groups parts of counter set pf, which the devices in use there are not; used by pf of claim "
      "default/small");
  EXPECT_EQ(why("vf0", "[whole, parts]").verdict, Verdict::kCan) << "they have a group in common";
}

TEST(Why, ReportsARunningPod) {
  Cluster cluster;
  add(cluster, kWorld);
  const Answer answer = why_pod(cluster, pod_of("{nodeName: w}"));
  EXPECT_EQ(answer.verdict, Verdict::kRuns);
  EXPECT_TRUE(answer.nodes.empty());
}

// ---- extended resources

constexpr const char* kProvided = R"(
kind: DeviceClass
metadata: {name: by-name, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {extendedResourceName: example.com/vf, selectors: [{cel: {expression: 'device.attributes["d.io"].vendor == "8086"'}}]}
)";

Answer ask_extended(Cluster& cluster, const std::string& containers) {
  add(cluster, kWorld);
  add(cluster, kProvided);
  return why_pod(cluster, pod_of("{" + containers + "}"));
}

std::string asking(const std::string& resource, int count) {
  return "containers: [{name: app, resources: {limits: {" + resource + ": " + std::to_string(count) + "}}}]";
}

// Red when a pod without claims counts as one without devices, although a DeviceClass provides its extended resource.
TEST(Why, TreatsAnExtendedResourceAsARequestOfItsClass) {
  for (const std::string resource : {"example.com/vf", "deviceclass.resource.kubernetes.io/by-name"}) {
    Cluster cluster;
    const Answer answer = ask_extended(cluster, asking(resource, 5));
    EXPECT_EQ(answer.verdict, Verdict::kPending) << resource;
    const RequestView& view = answer.nodes.at(0).requests.at(0);
    EXPECT_EQ(view.device_class, "by-name");
    EXPECT_EQ(view.wanted, 5);
    EXPECT_EQ(view.matching, 2u);
    EXPECT_EQ(view.request, "container-0-request-0");
    Cluster enough;
    add(enough,
        "kind: ResourceSlice\nmetadata: {name: e}\nspec: {driver: d.io, nodeName: w, pool: {name: e, generation: 1, "
        "resourceSliceCount: 1}, devices: [{name: x, attributes: {vendor: {string: '8086'}}}]}");
    EXPECT_EQ(ask_extended(enough, asking(resource, 1)).verdict, Verdict::kCan) << resource;
  }
}

TEST(Why, UsesTheNewestClassOfAnExtendedResource) {
  Cluster cluster;
  add(cluster,
      "kind: DeviceClass\nmetadata: {name: newer, creationTimestamp: '2026-02-01T00:00:00Z'}\n"
      "spec: {extendedResourceName: example.com/vf}");
  EXPECT_EQ(ask_extended(cluster, asking("example.com/vf", 1)).nodes.at(0).requests.at(0).device_class,
            "newer");
}

// An init container that ends leaves its devices to the containers that follow; a sidecar does not.
TEST(Why, InitContainersReuseDevicesOfLaterContainers) {
  const struct {
    const char* policy;
    size_t requests;
    int64_t wanted;  // of the first
  } rows[] = {{"", 2, 1}, {"restartPolicy: Always, ", 2, 3}};
  for (const auto& row : rows) {
    Cluster cluster;
    const Answer answer = ask_extended(
        cluster, "initContainers: [{name: first, " + std::string(row.policy) +
                     "resources: {requests: {example.com/vf: 3}}}], containers: [{name: app, resources: "
                     "{requests: {cpu: 100m, example.com/vf: 2}}}]");
    const auto& requests = answer.nodes.at(0).requests;
    ASSERT_EQ(requests.size(), row.requests);
    EXPECT_EQ(requests[0].wanted, row.wanted) << row.policy;
    EXPECT_EQ(requests[1].wanted, 2);
    EXPECT_EQ(requests[1].request, "container-1-request-1");
  }
}

// Device plugins come first where a node has one; how many of theirs are left is not read.
TEST(Why, IsUnsureAboutDevicePluginResources) {
  const auto asked = [](const std::string& allocatable, const std::string& version = "v1.37.1") {
    Cluster cluster;
    cluster.features = *features_of(version);
    add(cluster, kProvided);
    add(cluster, "kind: Node\nmetadata: {name: w}\nstatus: {allocatable: {" + allocatable + "}}");
    return why_pod(cluster, pod_of("{" + asking("example.com/vf", 2) + "}"));
  };
  EXPECT_EQ(asked("example.com/vf: '4'").verdict, Verdict::kUnsure);
  EXPECT_EQ(asked("example.com/vf: '1'").nodes.at(0).kept_away,
            "the pod asks for 2 of example.com/vf, and the node's device plugin provides 1");
  EXPECT_EQ(asked("example.com/vf: '0'").nodes.at(0).kept_away, "") << "then the class provides it";
  fixture::expect_golden(asked("cpu: 4", "v1.35.2").nodes.at(0).kept_away);
}

TEST(Why, AnUnprovidedExtendedResourceKeepsThePodAway) {
  Cluster cluster;
  const Answer answer = ask_extended(cluster, asking("example.com/vfs", 1));
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  EXPECT_EQ(
      answer.nodes.at(0).kept_away,
      "neither a DeviceClass nor a device plugin of the node provides example.com/vfs; did you mean example.com/vf?");
}

// ---- advice

TEST(Why, SuggestsMatchingClassesForARequestWithoutMatch) {
  Cluster cluster;
  add(cluster,
      "kind: DeviceClass\nmetadata: {name: other}\nspec: {selectors: [{cel: {expression: 'device.driver == \"e.io\"'}}]}");
  const Answer answer = ask(cluster, "{deviceClassName: other}");
  EXPECT_TRUE(answer.advice.empty()) << join(answer.advice, "\n");
  EXPECT_EQ(answer.hints,
            std::vector<std::string>{
                "claim default/c, request r: DeviceClasses that match devices: vf (2 devices)"});
}

TEST(Why, SuggestsAnAttributeInAnotherCase) {
  Cluster cluster;
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  const Answer answer = ask(
      cluster,
      "{deviceClassName: any, selectors: [{cel: {expression: 'device.attributes[\"d.io\"].Vendor == \"8086\"'}}]}");
  const auto& obstacles = answer.nodes.at(0).requests.at(0).obstacles;
  ASSERT_FALSE(obstacles.empty());
  fixture::expect_golden(obstacles[0].what);
  ASSERT_EQ(answer.slips.size(), 1u);
  EXPECT_EQ(answer.slips[0].text,
            "selectors[0] of request r reads Vendor, which no device has; did you mean vendor?");
  // The device with that vendor is allocated.
  const std::string said = join(answer.nodes[0].changes_text, "\n") + join(answer.advice, "\n");
  EXPECT_NE(said.find("correct selectors[0] of request r of claim default/c: vendor, not Vendor"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("loosen"), std::string::npos) << said;
  EXPECT_EQ(said.find("guard"), std::string::npos) << said;
}

// Red when a slip is found only in failing selectors: a guarded one is false for each device.
TEST(Why, CorrectsAMisspelledAttributeInAGuardedSelector) {
  for (
      const auto& [expression, said] : std::map<std::string, std::string>{
          {"device.attributes[\"d.io\"].?vendr.orValue(\"\") == \"8086\"",
           "selectors[0] of request r reads vendr, which no device has; did you mean vendor?"},
          {"has(device.attributes[\"d.io\"].vendr) && device.attributes[\"d.io\"].vendr == \"8086\"",
           "selectors[0] of request r reads vendr, which no device has; did you mean vendor?"},
          {"device.attributes[\"dd.io\"].?vendor.orValue(\"\") == \"8086\"",
           "selectors[0] of request r reads names of dd.io, of which no device has any; did you mean d.io?"}}) {
    Cluster cluster;
    add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
    const Answer answer =
        ask(cluster, "{deviceClassName: any, selectors: [{cel: {expression: '" + expression + "'}}]}");
    EXPECT_EQ(answer.verdict, Verdict::kPending);
    ASSERT_EQ(answer.slips.size(), 1u) << expression;
    EXPECT_EQ(answer.slips[0].text, said);
    // The device with that vendor is allocated, and the other one tainted.
    const std::string changes = join(answer.nodes.at(0).changes_text, "\n");
    EXPECT_NE(changes.find("correct selectors[0] of request r of claim default/c"), std::string::npos)
        << changes;
    EXPECT_EQ((changes + join(answer.advice, "\n")).find("loosen"), std::string::npos) << changes;
  }
}

// Red when an attribute that the driver gives to other devices is taken for a slip.
TEST(Why, APublishedAttributeIsNotMisspelled) {
  Cluster cluster;
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  cluster.publishable = {"d.io/vender"};
  const Answer answer = ask(cluster,
                            "{deviceClassName: any, selectors: [{cel: {expression: "
                            "'device.attributes[\"d.io\"].?vender.orValue(\"\") == \"8086\"'}}]}");
  EXPECT_TRUE(answer.slips.empty());
  EXPECT_NE(join(answer.advice, "\n").find("loosen selectors[0]"), std::string::npos);
}

// Red when the advice loosens a selector that matches devices because they are in use.
TEST(Why, DoesNotLoosenASelectorThatMatches) {
  Cluster cluster;
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  const Answer answer = ask(cluster,
                            "{deviceClassName: any, selectors: [{cel: {expression: "
                            "'device.attributes[\"d.io\"].vendor == \"8086\"'}}]}");
  EXPECT_EQ(answer.nodes.at(0).requests.at(0).matching, 2u);
  EXPECT_EQ(answer.advice.size(), 2u) << join(answer.advice, "\n");
  EXPECT_EQ(join(answer.advice, "\n").find("loosen"), std::string::npos) << join(answer.advice, "\n");
}

// A guard alone changes nothing where no device has the value.
TEST(Why, LoosensAFailingExpressionWhereAGuardIsNotEnough) {
  Cluster cluster;
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  cluster.publishable = {"d.io/PFName"};
  const Answer answer = ask(
      cluster,
      "{deviceClassName: any, selectors: [{cel: {expression: 'device.attributes[\"d.io\"].PFName == \"a\"'}}]}");
  EXPECT_EQ(answer.nodes.at(0).found, SearchResult::kError);
  const std::string said = join(answer.nodes[0].changes_text, "\n") + join(answer.advice, "\n");
  EXPECT_NE(
      said.find(
          "loosen selectors[0] of request r of claim default/c (it fails on devices without an attribute; "
          "with a guard, has() or .? and orValue(), no device matches)"),
      std::string::npos)
      << said;
  EXPECT_EQ(said.find("guard selectors"), std::string::npos) << said;
}

TEST(Why, GuardsAFailingExpressionWhereADeviceMatches) {
  Cluster cluster;
  add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
  add(cluster,
      "kind: ResourceSlice\nmetadata: {name: t}\nspec: {driver: e.io, nodeName: w, pool: {name: e, generation: 1, "
      "resourceSliceCount: 1}, devices: [{name: x}, {name: z, attributes: {PFName: {string: a}}}]}");
  const Answer answer = ask(
      cluster,
      "{deviceClassName: any, selectors: [{cel: {expression: 'device.attributes[\"e.io\"].PFName == \"a\"'}}]}");
  EXPECT_EQ(answer.nodes.at(0).found, SearchResult::kError);
  EXPECT_EQ(
      answer.nodes[0].changes_text,
      std::vector<std::string>{"guard selectors[0] of request r of claim default/c against attributes that a "
                               "device lacks, by has() or .? and orValue()"});
  EXPECT_EQ(answer.nodes[0].alone_text, answer.nodes[0].changes_text) << "and not loosened";
}

constexpr const char* kHolders = R"(
kind: Node
metadata: {name: w}
---
kind: DeviceClass
metadata: {name: any}
spec: {}
---
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.io
  nodeName: w
  pool: {name: w, generation: 1, resourceSliceCount: 1}
  devices: [{name: a}, {name: b}, {name: c}, {name: d}]
)";

std::string holder(const std::string& device, const std::string& pod) {
  return "kind: ResourceClaim\nmetadata: {name: of-" + device +
         "}\nspec: {}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: w, device: " +
         device + "}]}}, reservedFor: [{resource: pods, name: " + pod + "}]}";
}

PodState state(const std::string& yaml) { return pod_state(object_of(yaml)); }

// A sidecar that fails does not make the container beside it stop.
TEST(Why, APodWithARunningContainerRuns) {
  const std::string fails = "{state: {waiting: {reason: CrashLoopBackOff}}}";
  EXPECT_EQ(state("status: {phase: Running, containerStatuses: [" + fails + "]}").state,
            UsersState::kFailing);
  EXPECT_EQ(
      state("status: {phase: Running, containerStatuses: [{state: {running: {}}}, " + fails + "]}").state,
      UsersState::kRunning);
}

TEST(Why, SuggestsPodsToDeleteByTheirState) {
  const std::map<std::string, PodState> pods = {
      {"default/runs", state("status: {phase: Running, containerStatuses: [{state: {running: {}}}]}")},
      {"default/pulls", state("status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: "
                              "ImagePullBackOff}}}]}")},
      {"default/starts", state("status: {phase: Pending, containerStatuses: [{state: {waiting: {reason: "
                               "ContainerCreating}}}]}")},
      {"default/goes",
       state("metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}\nstatus: {phase: Running}")}};
  const auto asked = [&](int count, const std::vector<std::string>& users) {
    Cluster cluster;
    add(cluster, kHolders);
    const std::string devices = "abcd";
    for (size_t i = 0; i < users.size(); ++i) add(cluster, holder(devices.substr(i, 1), users[i]));
    add(cluster, claim("{deviceClassName: any, count: " + std::to_string(count) + "}"));
    note_users(pods, {"default"}, cluster.claims);
    return why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  };
  EXPECT_EQ(
      asked(1, {"runs", "pulls", "starts", "goes"}).advice,
      (std::vector<std::string>{
          "wait for the end of pod default/goes, which has claim default/of-d and is being deleted (then it can "
          "run on w)",
          "delete pod default/pulls, which has claim default/of-b and cannot start (ImagePullBackOff) (then it "
          "can run on w)",
          "delete pod default/starts, which has claim default/of-c and has not started (then it can run on w)"}));
  EXPECT_EQ(
      asked(2, {"runs", "pulls", "starts", "goes"}).nodes.at(0).changes_text,
      (std::vector<std::string>{
          "wait for the end of pod default/goes, which has claim default/of-d and is being deleted",
          "delete pod default/pulls, which has claim default/of-b and cannot start (ImagePullBackOff)"}));
  EXPECT_EQ(asked(1, {"runs", "gone", "runs", "runs"}).advice,
            std::vector<std::string>{
                "wait for the release of claim default/of-b, whose pod default/gone does not exist "
                "any more (then it can run on w)"});
  EXPECT_EQ(asked(1, {"runs", "runs", "runs", "runs"}).advice.size(), 3u) << "there is no other";
}

TEST(Why, SortsNodesNaturally) {
  Cluster cluster;
  for (const char* name : {"w-10", "w-2", "w-1"})
    add(cluster, std::string("kind: Node\nmetadata: {name: ") + name + "}");
  const Answer answer = ask(cluster, "{deviceClassName: vf}");
  std::vector<std::string> names;
  for (const NodeAnswer& node : answer.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"w", "w-1", "w-2", "w-10"}));
}

// ---- missing permissions

// Red when a missing permission counts as the absence of the objects.
TEST(Why, IsUnsureWithoutPermissions) {
  const auto asked = [](const std::string& kind, const std::string& exactly) {
    Cluster cluster;
    add(cluster, kWorld);
    add(cluster, "kind: DeviceClass\nmetadata: {name: any}\nspec: {}");
    add(cluster, claim(exactly));
    cluster.denied[kind] = "list " + kind;
    if (kind == "nodes") cluster.nodes.clear();
    if (kind == "resourceslices") cluster.slices.clear();
    if (kind == "deviceclasses") cluster.classes.clear();
    return why_pod(cluster,
                   pod_of("{nodeSelector: {zone: a}, resourceClaims: [{name: net, resourceClaimName: c}]}"));
  };
  for (const std::string kind : {"resourceslices", "deviceclasses"})
    EXPECT_EQ(asked(kind, "{deviceClassName: vf}").verdict, Verdict::kUnsure) << kind;
  const Answer nodes = asked("nodes", "{deviceClassName: any, count: 9}");
  EXPECT_EQ(nodes.verdict, Verdict::kPending) << "no node has so many, whatever its labels";
  EXPECT_EQ(nodes.nodes.at(0).kept_away, "") << "labels are not known";
  fixture::expect_golden(nodes.unsure.at(0));
  EXPECT_EQ(asked("nodes", "{deviceClassName: any, count: 1}").verdict, Verdict::kUnsure);
}

// Any user may write claims: an answer takes a minute at most, and names the parts that were not checked.
TEST(Why, OmitsAndReportsAnExpensiveSearch) {
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
      EXPECT_FALSE(node.found == SearchResult::kUnsure && (node.changes.is_known || !node.requests.empty()))
          << effort;
    const bool is_said = std::ranges::any_of(answer.unsure, [](const std::string& what) {
      return what.find("nodes were not checked") != std::string::npos;
    });
    EXPECT_EQ(is_said, answer.nodes.back().found == SearchResult::kUnsure) << effort;
  }
  Cluster whole;
  EXPECT_EQ(ask(whole, dear).verdict, Verdict::kPending);
}

constexpr const char* kShared = R"(
kind: ResourceSlice
metadata: {name: shared}
spec:
  driver: e.io
  nodeName: w
  pool: {name: e, generation: 1, resourceSliceCount: 1}
  devices:
  - name: s1
    allowMultipleAllocations: true
    attributes: {pf: {string: p0}}
    capacity: {e.io/links: {value: "64", requestPolicy: {default: "1", validRange: {min: "1", max: "4", step: "1"}}}}
  - name: s2
    allowMultipleAllocations: true
    attributes: {pf: {string: p1}}
    capacity: {e.io/links: {value: "64", requestPolicy: {default: "1", validRange: {min: "1", max: "2", step: "1"}}}}
  - {name: s3, attributes: {pf: {string: p1}}}
---
kind: DeviceClass
metadata: {name: shared}
spec: {selectors: [{cel: {expression: 'device.driver == "e.io" && device.allowMultipleAllocations == true'}}]}
---
kind: DeviceClass
metadata: {name: e}
spec: {selectors: [{cel: {expression: 'device.driver == "e.io"'}}]}
)";

// Red when the advice is only "less" for a capacity whose maximum is known.
TEST(Why, NamesTheMostThatADeviceGivesOneClaim) {
  Cluster cluster;
  add(cluster, kShared);
  const Answer answer = ask(cluster, "{deviceClassName: shared, capacity: {requests: {e.io/links: '5'}}}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  const RequestView& view = answer.nodes.at(0).requests.at(0);
  EXPECT_EQ(view.matching, 2u);
  ASSERT_EQ(view.over_most.count("e.io/links"), 1u);
  EXPECT_EQ(view.over_most.at("e.io/links").devices, 2u);
  EXPECT_EQ(describe(view.over_most.at("e.io/links").most), "4") << "of any device";
  EXPECT_EQ(view.obstacles.at(0).what,
            "gives one claim at most 4 of capacity e.io/links; the request asks for 5");
  ASSERT_EQ(answer.advice.size(), 1u);
  EXPECT_EQ(
      answer.advice[0],
      "let request r of claim default/c ask for at most 4, and not for 5 of e.io/links (then it can run on w)");
}

// Red when the proposed amount is not available: the remaining capacity counts, too.
TEST(Why, SuggestsAnAvailableAmount) {
  Cluster cluster;
  add(cluster, kShared);
  add(cluster, R"(
kind: ResourceClaim
metadata: {name: large}
spec: {}
status: {allocation: {devices: {results: [
  {request: r, driver: e.io, pool: e, device: s1, shareID: a, consumedCapacity: {e.io/links: "61"}},
  {request: r, driver: e.io, pool: e, device: s2, shareID: b, consumedCapacity: {e.io/links: "64"}}]}}, reservedFor: [{resource: pods, name: p}]}
)");
  const Answer answer = ask(cluster, "{deviceClassName: shared, capacity: {requests: {e.io/links: '4'}}}");
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  EXPECT_NE(join(answer.advice, "\n").find("ask for at most 3, and not for 4 of e.io/links"),
            std::string::npos)
      << join(answer.advice, "\n");
}

std::string two_requests(const std::string& constraint, const std::string& first, const std::string& second) {
  return "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: a, exactly: " + first +
         "}, {name: b, exactly: " + second + "}], constraints: [" + constraint + "]}}";
}

// Red when the only text for a constraint that no values can meet is "but not all together".
TEST(Why, NamesConflictingValues) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster, kShared);
  add(cluster, two_requests("{matchAttribute: e.io/pf}",
                            "{deviceClassName: e, selectors: [{cel: {expression: "
                            "'device.attributes[\"e.io\"].pf == \"p0\"'}}]}",
                            "{deviceClassName: e, selectors: [{cel: {expression: "
                            "'device.attributes[\"e.io\"].pf == \"p1\"'}}], count: 2}"));
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  EXPECT_EQ(
      answer.nodes.at(0).clashes,
      std::vector<std::string>{
          "constraints[0] of claim default/c, matchAttribute e.io/pf: request a asks for 1 and has 1 x \"p0\"; "
          "request b asks for 2 and has 2 x \"p1\"; no value has enough devices for all of them"});
}

TEST(Why, CountsMissingDistinctValues) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster, kShared);
  add(cluster,
      two_requests("{distinctAttribute: e.io/pf}", "{deviceClassName: e}", "{deviceClassName: e, count: 2}"));
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  ASSERT_EQ(answer.nodes.at(0).clashes.size(), 1u);
  EXPECT_NE(answer.nodes.at(0).clashes[0].find("that is 2 values for 3 devices"), std::string::npos)
      << answer.nodes.at(0).clashes[0];
}

// What a constraint can meet is not a clash: counters or other claims stand in the way then.
TEST(Why, DoesNotReportASatisfiableConstraint) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster, kShared);
  add(cluster, two_requests("{matchAttribute: e.io/pf, requests: [b]}", "{deviceClassName: e, count: 3}",
                            "{deviceClassName: e}"));
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_TRUE(answer.nodes.at(0).clashes.empty()) << answer.nodes.at(0).clashes[0];
}

kube::Json pod_object(const std::string& spec, const std::string& status) {
  return kube::decode_yaml("metadata: {name: p, namespace: default}\nspec: " + spec + "\nstatus: " + status +
                           "\n")
      .documents.at(0);
}

// Red when a pod that neither the scheduler nor the kubelet tries again counts as running.
TEST(Why, SuggestsDeletingAPodThatIsNotRetried) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster, claim("{deviceClassName: vf}"));
  const std::string on_w = "{nodeName: w, resourceClaims: [{name: net, resourceClaimName: c}]}";
  const Answer bound = why_pod(cluster, *decode_pod(pod_object(on_w, "{phase: Pending}")));
  EXPECT_EQ(bound.verdict, Verdict::kPending);
  ASSERT_EQ(bound.everywhere.size(), 1u);
  EXPECT_EQ(
      bound.everywhere[0],
      "it is on node w, and its claim default/c is not allocated; the scheduler allocates nothing for a pod "
      "that has a node: delete the pod, and create it again without spec.nodeName");
  const Answer failed =
      why_pod(cluster, *decode_pod(pod_object(on_w, "{phase: Failed, reason: Evicted, message: taint}")));
  EXPECT_EQ(failed.verdict, Verdict::kPending);
  EXPECT_EQ(
      failed.everywhere.at(0),
      "it has failed (Evicted: taint), and neither the scheduler nor the kubelet tries it again: delete it, "
      "and create it again where no controller does");
  EXPECT_EQ(why_pod(cluster, *decode_pod(pod_object(on_w, "{phase: Running}"))).verdict, Verdict::kRuns);
  EXPECT_EQ(why_pod(cluster, *decode_pod(pod_object(on_w, "{phase: Succeeded}"))).verdict, Verdict::kRuns);
}

TEST(Why, ReportsATerminatingClaim) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster,
      "kind: ResourceClaim\nmetadata: {name: c, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a/b]}\n"
      "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: vf}}]}}");
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_EQ(answer.verdict, Verdict::kPending);
  ASSERT_EQ(answer.everywhere.size(), 1u);
  EXPECT_NE(answer.everywhere[0].find("is being deleted"), std::string::npos);
}

// Red when a pod whose device waits for its driver's condition counts as schedulable.
TEST(Why, ReportsAMissingBindingCondition) {
  const auto why = [](const std::string& devices) {
    Cluster cluster;
    add(cluster, kWorld);
    add(cluster,
        "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: "
        "vf}}]}}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: v, device: a, "
        "bindingConditions: [d.io/DeviceReady], bindingFailureConditions: [d.io/DeviceLost]}]}}, devices: [" +
            devices + "], reservedFor: [{resource: pods, name: p}]}");
    const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
    return answer.everywhere.empty() ? "" : answer.everywhere[0];
  };
  const auto conditions = [](const std::string& ready, const std::string& lost) {
    return "{driver: d.io, pool: v, device: a, conditions: [{type: d.io/DeviceReady, status: '" + ready +
           "', message: no link}, {type: d.io/DeviceLost, status: '" + lost + "', message: gone}]}";
  };
  const std::string waits = "the scheduler waits with device d.io/v/a of claim default/c: condition d.io/";
  EXPECT_EQ(why(""), waits + "DeviceReady is not set by the driver yet");
  EXPECT_EQ(why(conditions("False", "False")), waits + "DeviceReady is not True: no link");
  EXPECT_EQ(why(conditions("False", "True")), waits + "DeviceLost is True: gone");
  EXPECT_EQ(why(conditions("True", "False")), "");
}

// A claim that is allocated elsewhere is deallocated by the scheduler only where no other pod uses it.
TEST(Why, NamesTheUserOfAClaimAllocatedElsewhere) {
  Cluster cluster;
  add(cluster, kWorld);
  add(cluster,
      "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: "
      "vf}}]}}\nstatus: {allocation: {devices: {results: [{request: r, driver: d.io, pool: v, device: a}]}, "
      "nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [v]}]}]}}, "
      "reservedFor: [{resource: pods, name: q}]}");
  const Answer answer = why_pod(cluster, pod_of("{resourceClaims: [{name: net, resourceClaimName: c}]}"));
  EXPECT_EQ(
      answer.nodes.at(0).kept_away,
      "claim default/c is allocated, for other nodes; to have it allocated again, delete pod default/q, which "
      "has claim default/c");
}

}  // namespace
}  // namespace sliced::why
