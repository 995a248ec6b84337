#include "kubectl/why/why_page.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "kube/objects/yaml.h"

namespace sliced::kubectl {
namespace why_page_test {
namespace {

why::Cluster cluster_of(const std::string& yaml) {
  why::Cluster out;
  for (const kube::Json& object : kube::decode_yaml(yaml).documents) why::add_object(object, "ns", out);
  return out;
}

constexpr const char* kCluster =
    "kind: Node\n"
    "metadata: {name: w}\n"
    "---\n"
    "kind: ResourceSlice\n"
    "metadata: {name: s}\n"
    "spec: {driver: d, nodeName: w, pool: {name: w, generation: 1, resourceSliceCount: 1}, devices: [{name: one}]}\n"
    "---\n"
    "kind: DeviceClass\n"
    "metadata: {name: c}\n"
    "spec: {selectors: [{cel: {expression: \"device.driver == 'other' &&\\n\\n  1 == 1\"}}]}\n"
    "---\n"
    "kind: ResourceClaim\n"
    "metadata: {name: claim, namespace: ns}\n"
    "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c,\n"
    "  selectors: [{cel: {expression: \"true\\nclaim ns/other is allocated\\e[2J\"}}]}}]}}\n";

// Red when the text of a selector looks like a line of the answer, or controls the terminal.
TEST(WhyPage, JoinsTheLinesOfAnExpression) {
  const why::Cluster cluster = cluster_of(kCluster);
  ASSERT_EQ(cluster.claims.size(), 1u);
  EXPECT_TRUE(cluster.unread.empty()) << cluster.unread.front();
  const std::string text = why_text(why_claim(cluster, cluster.claims[0]), "claim ns/claim", "Pools: 1.", 10);
  EXPECT_NE(text.find("\n    class: device.driver == 'other' && 1 == 1\n"
                      "    request: true claim ns/other is allocated\\x1b[2J\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("\nclaim ns/other"), std::string::npos) << text;
  EXPECT_EQ(text.find("\\x0a"), std::string::npos) << text;
}

// Red when the cause comes below advice, or only at the end.
TEST(WhyPage, HeadlinesThePolicyThatHidesDevices) {
  const why::Cluster cluster = cluster_of(kCluster);
  why::Answer answer = why_claim(cluster, cluster.claims.at(0));
  answer.causes = {
      "4 devices on w that request r could have are not offered: DeviceExposurePolicy x excludes it",
      "another cause"};
  const std::string text = why_text(answer, "claim ns/claim", "Pools: 1.", 10);
  EXPECT_EQ(text.rfind("claim ns/claim is pending: 4 devices on w that request r could have are not offered: "
                       "DeviceExposurePolicy x excludes it\n  - another cause\n",
                       0),
            0u)
      << text;
  EXPECT_EQ(json_of(answer, "claim ns/claim").find({"causes"})->array()->size(), 2u);
}

// Red when a misspelled attribute is reported in the last column of the table only.
TEST(WhyPage, HeadlinesAnAttributeThatNoDeviceHas) {
  const why::Cluster cluster = cluster_of(
      "kind: Node\nmetadata: {name: w}\n"
      "---\nkind: ResourceSlice\nmetadata: {name: s}\n"
      "spec: {driver: d, nodeName: w, pool: {name: w, generation: 1, resourceSliceCount: 1}, devices: [{name: one, "
      "attributes: {PFName: {string: ens1f0}}}]}\n"
      "---\nkind: DeviceClass\nmetadata: {name: c}\nspec: {}\n"
      "---\nkind: ResourceClaim\nmetadata: {name: claim, namespace: ns}\n"
      "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c,\n"
      "  selectors: [{cel: {expression: 'device.attributes[\"d\"].pfName == \"ens1f0\"'}}]}}]}}\n");
  const std::string text =
      why_text(why_claim(cluster, cluster.claims.at(0)), "claim ns/claim", "Pools: 1.", 10);
  EXPECT_EQ(text.rfind(
                "claim ns/claim is pending: selectors[0] of request r reads pfName, which no device has; did "
                "you mean PFName?\n",
                0),
            0u)
      << text;
}

std::string text_of_pod(const why::Cluster& cluster, const std::string& spec) {
  const auto pod = why::decode_pod(
      kube::decode_yaml("metadata: {name: p, namespace: ns}\nspec: " + spec).documents.front());
  EXPECT_TRUE(pod);
  return why_text(why_pod(cluster, *pod), "pod ns/p", "Pools: 1.", 10);
}

// Nodes of one device each, which a class matches; a claim of so many devices.
std::string fleet_of(int nodes, int count) {
  std::string out =
      "kind: DeviceClass\nmetadata: {name: any}\n---\nkind: ResourceClaim\nmetadata: {name: claim, namespace: ns}\n"
      "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: any, count: " +
      std::to_string(count) + "}}]}}\n";
  for (int i = 1; i <= nodes; ++i) {
    const std::string name = "w-" + std::to_string(i);
    out += "---\nkind: Node\nmetadata: {name: " + name +
           "}\n---\nkind: ResourceSlice\nmetadata: {name: " + name +
           "}\nspec: {driver: d, nodeName: " + name + ", pool: {name: " + name +
           ", generation: 1, resourceSliceCount: 1}, devices: [{name: one}]}\n";
  }
  return out;
}

constexpr const char* kOwnClaim = "{resourceClaims: [{name: c, resourceClaimName: claim}]}";

TEST(WhyPage, HeadlinesACountAboveTheSupply) {
  const std::string text = text_of_pod(cluster_of(fleet_of(2, 3)), kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no node has 3 free devices for request r (class any); the most is 1, "
      "on w-1; ask for at most 1\n"))
      << text;
  EXPECT_NE(text.find("only 1 device for 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("each request alone"), std::string::npos) << text;
}

// Red when nodes can allocate what no template says.
TEST(WhyPage, OmitsNodesIfTheTemplateIsMissing) {
  why::Cluster cluster = cluster_of(fleet_of(2, 1));
  cluster.template_names = {"one-vf", "two-vfs"};
  const std::string text =
      text_of_pod(cluster, "{resourceClaims: [{name: c, resourceClaimTemplateName: one-vff}]}");
  EXPECT_EQ(
      text.rfind(
          "pod ns/p is pending: there is no ResourceClaimTemplate ns/one-vff, which the pod names; did you mean "
          "one-vf?\n",
          0),
      0u)
      << text;
  EXPECT_EQ(text.find("can be allocated"), std::string::npos) << text;
  EXPECT_EQ(text.find("WANTED"), std::string::npos) << text;
}

TEST(WhyPage, HeadlinesTheReasonThatKeepsThePodAway) {
  const why::Cluster cluster = cluster_of(fleet_of(2, 1));
  const std::string text = text_of_pod(
      cluster, "{nodeSelector: {disk: ssd}, resourceClaims: [{name: c, resourceClaimName: claim}]}");
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: 2 nodes have what its claims ask for, but the pod is kept away from them: "
      "the pod's nodeSelector requires label disk=ssd; the node has none\n"))
      << text;
  why::Cluster cordoned = cluster_of(fleet_of(1, 5));
  cordoned.nodes[0].taints.push_back({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
  EXPECT_TRUE(
      text_of_pod(cordoned, kOwnClaim)
          .starts_with(
              "pod ns/p is pending: the pod is kept away from the one node: the pod does not tolerate the "
              "node's taint node.kubernetes.io/unschedulable:NoSchedule\n"));
}

TEST(WhyPage, GroupsEqualRows) {
  const std::string text = text_of_pod(cluster_of(fleet_of(30, 3)), kOwnClaim);
  EXPECT_NE(text.find("\nw-1, w-2, w-3 and 27 more nodes  r "), std::string::npos) << text;
  EXPECT_EQ(text.find("w-30"), std::string::npos) << text;
}

// Red when the advice is below the tables of nodes.
TEST(WhyPage, PrintsTheAnswerBeforeItsEvidence) {
  const std::string text = text_of_pod(cluster_of(fleet_of(3, 3)), kOwnClaim);
  const size_t change = text.find("To run there, all of these must change:"), table = text.find("\nNODE ");
  ASSERT_NE(change, std::string::npos) << text;
  EXPECT_LT(change, table) << text;
  EXPECT_LT(change, text.find("claim ns/claim is not allocated")) << text;
}

TEST(WhyPage, HeadlinesTheReasonOfAnUnsureAnswer) {
  why::Cluster cluster = cluster_of(fleet_of(1, 1));
  cluster.denied["nodes"] = "list nodes";
  const std::string text = text_of_pod(cluster, kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p: unsure whether a node has what its claims ask for: permissions are missing: list nodes; "))
      << text;
  EXPECT_EQ(text.find("does not wait for one"), std::string::npos) << text;
}

// Red when a pod whose extended resource a DeviceClass provides counts as a pod without devices.
TEST(WhyPage, ShowsExtendedResourcesAsAClaim) {
  why::Cluster cluster = cluster_of(fleet_of(1, 1));
  cluster.classes[0].extended_resource = "example.com/vf";
  const std::string text =
      text_of_pod(cluster, "{containers: [{name: app, resources: {limits: {example.com/vf: 2}}}]}");
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no node has 2 free devices for request container-0-request-0 (class any)"))
      << text;
  EXPECT_NE(text.find("(container app asks for 2 of example.com/vf)"), std::string::npos) << text;
  EXPECT_EQ(text.find("does not wait for one"), std::string::npos) << text;
  EXPECT_NE(text_of_pod(cluster, "{}").find("It requests no devices, so it does not wait for one."),
            std::string::npos);
}

// Red when a cluster full of unreadable objects is reported object by object.
TEST(WhyPage, BoundsUnreadableObjects) {
  why::Cluster cluster = cluster_of(kCluster);
  for (int i = 0; i < 1'000; ++i)
    why::add_object(kube::Json::Object{{"kind", "ResourceSlice"}}, "ns", cluster);
  const why::Answer answer = why_claim(cluster, cluster.claims[0]);
  ASSERT_EQ(answer.unsure.size(), kProblemsMax + 1);
  EXPECT_EQ(answer.unsure.back(), "and 980 more objects cannot be read");
}

// A node with devices of the driver.
std::string devices_of(const std::string& node, const std::string& driver, int devices) {
  std::string out = "---\nkind: Node\nmetadata: {name: " + node +
                    "}\n---\nkind: ResourceSlice\nmetadata: {name: " + node + "}\nspec: {driver: " + driver +
                    ", nodeName: " + node + ", pool: {name: " + node +
                    ", generation: 1, resourceSliceCount: 1}, devices: [";
  for (int i = 0; i < devices; ++i) out += (i > 0 ? ", " : "") + ("{name: d" + std::to_string(i)) + "}";
  return out + "]}\n";
}
std::string class_of(const std::string& name, const std::string& driver) {
  return "---\nkind: DeviceClass\nmetadata: {name: " + name +
         "}\nspec: {selectors: [{cel: {expression: \"device.driver == '" + driver + "'\"}}]}\n";
}
std::string claim_of(const std::string& requests) {
  return "---\nkind: ResourceClaim\nmetadata: {name: claim, namespace: ns}\nspec: {devices: {requests: [" +
         requests + "]}}\n";
}

TEST(WhyPage, NamesRequestsThatTogetherLackADeviceFirst) {
  const std::string text = text_of_pod(
      cluster_of(
          devices_of("w", "d.io", 2) + class_of("vf", "d.io") +
          claim_of("{name: a, exactly: {deviceClassName: vf}}, {name: b, exactly: {deviceClassName: vf}}, "
                   "{name: c, exactly: {deviceClassName: vf}}")),
      kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: each of its requests alone has enough devices on w, but not all together\n"))
      << text;
}

TEST(WhyPage, NamesRequestsForDevicesOfDifferentNodesFirst) {
  why::Cluster cluster = cluster_of(
      devices_of("w-1", "d.io", 2) + devices_of("w-2", "gpu.io", 1) + class_of("vf", "d.io") +
      class_of("gpu", "gpu.io") +
      claim_of("{name: a, exactly: {deviceClassName: vf}}, {name: b, exactly: {deviceClassName: gpu}}"));
  cluster.drivers = {"d.io"};
  const std::string text = text_of_pod(cluster, kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no node has devices for all its requests: w-1 has too few devices for "
      "b, w-2 has too few devices for a\n"))
      << text;
  // A policy offers no devices of another driver.
  EXPECT_NE(text.find("have driver gpu.io offer devices that DeviceClass gpu selects"), std::string::npos)
      << text;
}

TEST(WhyPage, CountsFreeDevicesOfARequestForAll) {
  const std::string text = text_of_pod(
      cluster_of(
          devices_of("w", "d.io", 2) + class_of("vf", "d.io") +
          claim_of("{name: a, exactly: {deviceClassName: vf, allocationMode: All}}") +
          "---\nkind: ResourceClaim\nmetadata: {name: other, namespace: ns}\nspec: {}\nstatus: {allocation: "
          "{devices: {results: [{request: r, driver: d.io, pool: w, device: d0}]}}}\n"),
      kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: request a asks for all devices of class vf, and only 1 of 2 are free\n"))
      << text;
}

// Red when the headline is that no node has what the claims ask for.
TEST(WhyPage, HeadlinesARequestForAllOnSeveralNodesOrBesideAnother) {
  const std::string other =
      "---\nkind: ResourceClaim\nmetadata: {name: other, namespace: ns}\nspec: {}\nstatus: {allocation: "
      "{devices: {results: [{request: r, driver: d.io, pool: w, device: d0}, {request: r, driver: d.io, pool: w-2, "
      "device: d0}]}}}\n";
  const std::string all = "{name: a, exactly: {deviceClassName: vf, allocationMode: All}}";
  std::string text = text_of_pod(cluster_of(devices_of("w", "d.io", 3) + devices_of("w-2", "d.io", 2) +
                                            class_of("vf", "d.io") + claim_of(all) + other),
                                 kOwnClaim);
  EXPECT_TRUE(
      text.starts_with("pod ns/p is pending: request a asks for all devices of class vf, and only 2 of 3 are "
                       "free on w, the node with the most\n"))
      << text;
  text = text_of_pod(cluster_of(devices_of("w", "d.io", 3) + devices_of("w-3", "x.io", 1) +
                                class_of("vf", "d.io") + class_of("x", "x.io") +
                                claim_of(all + ", {name: b, exactly: {deviceClassName: x}}") + other),
                     kOwnClaim);
  EXPECT_TRUE(
      text.starts_with("pod ns/p is pending: request a asks for all devices of class vf, and only 2 of 3 are "
                       "free on w, the node with the most\n"))
      << text;
  text =
      text_of_pod(cluster_of(devices_of("w", "x.io", 1) + class_of("vf", "d.io") + claim_of(all)), kOwnClaim);
  EXPECT_TRUE(text.starts_with("pod ns/p is pending: no device on 1 node matches request a (class vf)"))
      << text;
}

TEST(WhyPage, NamesAnIncompletePoolFirst) {
  std::string slice = devices_of("w", "d.io", 2);
  slice.replace(slice.find("resourceSliceCount: 1"), 21, "resourceSliceCount: 2");
  const std::string text = text_of_pod(
      cluster_of(slice + class_of("vf", "d.io") + claim_of("{name: a, exactly: {deviceClassName: vf}}")),
      kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no device on 1 node matches request a (class vf); pool d.io/w is not "
      "complete: 1 of its 2 slices of generation 1 are there, so the scheduler does not use its "
      "devices\n"))
      << text;
}

TEST(WhyPage, NamesAMisspelledDriverFirst) {
  why::Cluster cluster =
      cluster_of(devices_of("w", "sriov.example.com", 2) + class_of("vf", "sriof.example.com") +
                 claim_of("{name: a, exactly: {deviceClassName: vf}}"));
  EXPECT_EQ(text_of_pod(cluster, kOwnClaim).find("did you mean"), std::string::npos)
      << "another driver may be installed later";
  cluster.drivers = {"sriov.example.com"};
  const std::string text = text_of_pod(cluster, kOwnClaim);
  EXPECT_TRUE(
      text.starts_with("pod ns/p is pending: selectors[0] of DeviceClass vf compares device.driver with "
                       "sriof.example.com, and no device has that driver; did you mean sriov.example.com?\n"))
      << text;
  EXPECT_NE(text.find("correct selectors[0] of DeviceClass vf: sriov.example.com, not sriof.example.com"),
            std::string::npos)
      << text;
}

// Red when the headline only says that no node has the requested devices.
TEST(WhyPage, HeadlinesEachAlternativeThatIsShort) {
  const std::string cluster =
      devices_of("w-1", "d.io", 1) + devices_of("w-2", "d.io", 1) + class_of("vf", "d.io") +
      class_of("gpu", "gpu.io") +
      claim_of(
          "{name: a, firstAvailable: [{name: first, deviceClassName: gpu}, {name: second, "
          "deviceClassName: vf, count: 2}]}");
  std::string text = text_of_pod(cluster_of(cluster), kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no alternative of request a has enough devices on any node: first (class gpu) "
      "matches no device; second asks for 2, and at most 1 is free, on w-1\n"))
      << text;
  // One alternative has enough on the node: the request does not lack devices.
  text = text_of_pod(
      cluster_of(devices_of("w", "d.io", 1) + class_of("vf", "d.io") + class_of("gpu", "gpu.io") +
                 claim_of("{name: a, firstAvailable: [{name: first, deviceClassName: gpu}, {name: second, "
                          "deviceClassName: vf}]}, {name: b, exactly: {deviceClassName: vf}}")),
      kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: each of its requests alone has enough devices on w, but not all together\n"))
      << text;
}

std::string allocated_claim(const std::string& name, const std::string& node, const std::string& device,
                            const std::string& user) {
  return "---\nkind: ResourceClaim\nmetadata: {name: " + name +
         ", namespace: ns}\nspec: {devices: {requests: [{name: r, exactly: {deviceClassName: vf}}]}}\nstatus: {" +
         (user.empty() ? "" : "reservedFor: [{resource: pods, name: " + user + ", uid: u}], ") +
         "allocation: {devices: {results: [{request: r, driver: d.io, pool: " + node + ", device: " + device +
         "}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [" +
         node + "]}]}]}}}\n";
}

// Red when the headline is that of a node for which the claim is not allocated.
TEST(WhyPage, HeadlinesTheNodeForWhichAClaimIsAllocated) {
  constexpr const char* kTwoClaims =
      "{resourceClaims: [{name: a, resourceClaimName: had}, {name: b, resourceClaimName: claim}]}";
  const std::string rest = class_of("vf", "d.io") + claim_of("{name: r, exactly: {deviceClassName: vf}}");
  why::Cluster cluster =
      cluster_of(devices_of("w-1", "d.io", 1) + devices_of("w-2", "d.io", 1) + devices_of("w-3", "d.io", 1) +
                 rest + allocated_claim("had", "w-2", "d0", "q"));
  std::string text = text_of_pod(cluster, kTwoClaims);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: claim ns/had is allocated for w-2 only, where the pod cannot run: no node has 1 free "
      "device for request r (class vf); the most is 0, of 1 that match, because 1 is allocated (ns/had (pod "
      "q)); to have it allocated again, delete pod ns/q"))
      << text;
  cluster.nodes.at(1).taints.push_back({"node.kubernetes.io/unschedulable", "", "NoSchedule"});
  text = text_of_pod(cluster, kTwoClaims);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: claim ns/had is allocated for w-2 only, where the pod cannot run: the pod does not "
      "tolerate the node's taint node.kubernetes.io/unschedulable:NoSchedule; to have it allocated again, "))
      << text;
  text = text_of_pod(
      cluster_of(devices_of("w-1", "d.io", 1) + class_of("vf", "d.io") +
                 allocated_claim("had", "w-9", "d0", "") + allocated_claim("claim", "w-1", "d0", "")),
      kTwoClaims);
  EXPECT_TRUE(text.starts_with("pod ns/p is pending: claim ns/had is allocated for no node that exists\n"))
      << text;
  text = text_of_pod(
      cluster_of(devices_of("w-1", "d.io", 1) + devices_of("w-2", "d.io", 1) + class_of("vf", "d.io") +
                 allocated_claim("had", "w-2", "d0", "") + allocated_claim("claim", "w-1", "d0", "")),
      kTwoClaims);
  EXPECT_TRUE(
      text.starts_with("pod ns/p is pending: claim ns/claim is allocated for w-1 only, claim ns/had is "
                       "allocated for w-2 only: no node has all of them\n"))
      << text;
}

// A PF and its VF, of which either can be allocated.
constexpr const char* kExclusive =
    "---\nkind: Node\nmetadata: {name: w}\n"
    "---\nkind: ResourceSlice\nmetadata: {name: counters}\nspec: {driver: d.io, nodeName: w, pool: {name: w, "
    "generation: 1, resourceSliceCount: 2}, sharedCounters: [{name: g, counters: {u: {value: 1}}}]}\n"
    "---\nkind: ResourceSlice\nmetadata: {name: devices}\nspec: {driver: d.io, nodeName: w, pool: {name: w, "
    "generation: 1, resourceSliceCount: 2}, devices: ["
    "{name: pf, attributes: {t: {string: pf}}, consumesCounters: [{counterSet: g, counters: {u: {value: 1}}}]}, "
    "{name: vf, attributes: {t: {string: vf}}, consumesCounters: [{counterSet: g, counters: {u: {value: 1}}}]}]}\n";

// Red when a request counts as satisfied although the counters allow only one of its devices.
TEST(WhyPage, HeadlinesDevicesThatExcludeEachOther) {
  for (const char* requests : {"{name: a, exactly: {deviceClassName: vf, count: 2}}",
                               "{name: a, exactly: {deviceClassName: vf}}, {name: b, exactly: "
                               "{deviceClassName: vf}}"}) {
    const std::string text =
        text_of_pod(cluster_of(kExclusive + class_of("vf", "d.io") + claim_of(requests)), kOwnClaim);
    EXPECT_TRUE(
        text.starts_with("pod ns/p is pending: devices pf and vf of pool d.io/w exclude each other: they "
                         "consume 2 of counter g/u, which has 1\n"))
        << text;
    EXPECT_EQ(text.find("each request alone"), std::string::npos) << text;
  }
}

// A pool of devices that consume counters of one set, and their amounts: counters "a: {value: 10}", and devices as
// "d0" with "a: {value: 1}".
std::string counted_pool(const std::string& driver, const std::string& counters,
                         const std::vector<std::pair<std::string, std::string>>& devices) {
  const std::string head = "---\nkind: ResourceSlice\nmetadata: {name: " + driver;
  const std::string spec = "}\nspec: {driver: " + driver +
                           ", nodeName: w, pool: {name: w, generation: 1, resourceSliceCount: 2}, ";
  std::string out =
      head + "-counters" + spec + "sharedCounters: [{name: g, counters: {" + counters + "}}]}\n";
  out += head + spec + "devices: [";
  for (const auto& [name, consumed] : devices)
    out += "{name: " + name + ", consumesCounters: [{counterSet: g, counters: {" + consumed + "}}]}, ";
  return out + "]}\n";
}

// Red when devices that could be allocated together are said to exclude each other.
TEST(WhyPage, HeadlinesTheCounterThatIsShort) {
  const std::string text = text_of_pod(
      cluster_of(kExclusive + class_of("vf", "d.io") + class_of("other", "a.io") +
                 counted_pool("a.io", "u: {value: 10}", {{"a0", "u: {value: 1}"}, {"a1", "u: {value: 1}"}}) +
                 claim_of("{name: a, exactly: {deviceClassName: other, count: 2}}, {name: b, exactly: "
                          "{deviceClassName: vf, count: 2}}")),
      kOwnClaim);
  EXPECT_TRUE(
      text.starts_with("pod ns/p is pending: devices pf and vf of pool d.io/w exclude each other: they "
                       "consume 2 of counter g/u, which has 1\n"))
      << text;
  const std::string used =
      text_of_pod(cluster_of("kind: Node\nmetadata: {name: w}\n" + class_of("vf", "d.io") +
                             counted_pool("d.io", "a: {value: 10}, u: {value: 3}",
                                          {{"d0", "a: {value: 1}, u: {value: 2}"},
                                           {"d1", "a: {value: 1}, u: {value: 1}"},
                                           {"d2", "a: {value: 1}, u: {value: 1}"}}) +
                             allocated_claim("other", "w", "d0", "q") +
                             claim_of("{name: a, exactly: {deviceClassName: vf, count: 2}}")),
                  kOwnClaim);
  EXPECT_TRUE(
      used.starts_with("pod ns/p is pending: devices d1 and d2 of pool d.io/w exclude each other: they "
                       "consume 2 of counter g/u, which has 3, and 1 of it is left\n"))
      << used;
}

// Red when the table and the data omit it because an alternative lacks devices, too.
TEST(WhyPage, ShowsAnExclusionBesideAnAlternativeThatIsShort) {
  const why::Cluster cluster = cluster_of(
      kExclusive + class_of("vf", "d.io") + class_of("gpu", "gpu.io") +
      claim_of(
          "{name: a, firstAvailable: [{name: first, deviceClassName: gpu}, {name: second, deviceClassName: "
          "vf}]}, {name: b, exactly: {deviceClassName: vf}}"));
  const std::string text = text_of_pod(cluster, kOwnClaim);
  const size_t headline = text.find("exclude each other");
  ASSERT_NE(headline, std::string::npos) << text;
  EXPECT_NE(text.find("exclude each other", headline + 1), std::string::npos) << text;
  const kube::Json json = json_of(why_claim(cluster, cluster.claims.at(0)), "claim ns/claim");
  EXPECT_EQ(
      json.find({"nodes"})->array()->at(0).text("exclusion"),
      "devices pf and vf of pool d.io/w exclude each other: they consume 2 of counter g/u, which has 1");
}

TEST(WhyPage, HeadlinesTheHolderOfACounter) {
  const std::string text = text_of_pod(
      cluster_of(kExclusive + class_of("vf", "d.io") + allocated_claim("other", "w", "pf", "q") +
                 claim_of("{name: a, exactly: {deviceClassName: vf, selectors: [{cel: {expression: "
                          "\"device.attributes['d.io'].t == 'vf'\"}}]}}")),
      kOwnClaim);
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no node has 1 free device for request a (class vf); the most is 0, of 1 that match, "
      "because d.io/w/vf takes 1 of counter g/u, and 0 of 1 is left; used by pf of claim ns/other (pod q)\n"))
      << text;
}

// Red when the advice is to loosen a constraint whose attribute has a slip.
TEST(WhyPage, SuggestsTheAttributeThatAConstraintMeans) {
  std::string slice = devices_of("w", "d.io", 2);
  slice.replace(slice.find("devices: ["), std::string::npos,
                "devices: [{name: d0, attributes: {NUMANode: {int: 0}, x.io/root: {int: 0}}}, {name: d1, "
                "attributes: {NUMANode: {int: 0}, x.io/root: {int: 0}}}]}\n");
  const auto text_with = [&](const std::string& attribute) {
    std::string claim = claim_of("{name: a, exactly: {deviceClassName: vf, count: 2}}");
    claim.replace(claim.rfind("]}}"), 3, "], constraints: [{matchAttribute: " + attribute + "}]}}");
    return text_of_pod(cluster_of(slice + class_of("vf", "d.io") + claim), kOwnClaim);
  };
  const std::string text = text_with("d.io/numaNode");
  EXPECT_TRUE(text.starts_with(
      "pod ns/p is pending: no node has 2 free devices for request a (class vf); the most is 0, of 2 that match, "
      "because d.io/w/d0 has no d.io/numaNode, which a constraint requires; did you mean d.io/NUMANode? (and 1 more "
      "device)\n"))
      << text;
  EXPECT_NE(text_with("d.io/root").find("did you mean x.io/root?"), std::string::npos)
      << text_with("d.io/root");
  EXPECT_EQ(text_with("d.io/other").find("did you mean"), std::string::npos) << text_with("d.io/other");
}

TEST(WhyPage, SuggestsACapacityWithASimilarName) {
  std::string slice = devices_of("w", "d.io", 1);
  slice.replace(slice.find("{name: d0}"), 10, "{name: d0, capacity: {d.io/macvlans: {value: 4}}}");
  const std::string text = text_of_pod(
      cluster_of(
          slice + class_of("vf", "d.io") +
          claim_of("{name: a, exactly: {deviceClassName: vf, capacity: {requests: {d.io/macvlan: 1}}}}")),
      kOwnClaim);
  EXPECT_NE(text.find("has no capacity d.io/macvlan; the request asks for 1; did you mean d.io/macvlans?"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace why_page_test
}  // namespace sliced::kubectl
