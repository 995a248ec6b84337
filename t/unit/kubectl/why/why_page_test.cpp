#include "kubectl/why/why_page.h"

#include <gtest/gtest.h>

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

// Red when what somebody wrote into a selector looks like a line of the answer, or steers the terminal.
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

// Red when a slip in the name of an attribute is told in the last column of the table alone.
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

// Red when what would help is below tables of nodes.
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

// Red when a pod whose extended resource a DeviceClass provides is said to ask for no device.
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

// Red when a cluster full of what cannot be read is told object by object.
TEST(WhyPage, BoundsUnreadableObjects) {
  why::Cluster cluster = cluster_of(kCluster);
  for (int i = 0; i < 1'000; ++i)
    why::add_object(kube::Json::Object{{"kind", "ResourceSlice"}}, "ns", cluster);
  const why::Answer answer = why_claim(cluster, cluster.claims[0]);
  ASSERT_EQ(answer.unsure.size(), kProblemsMax + 1);
  EXPECT_EQ(answer.unsure.back(), "and 980 more objects cannot be read");
}

}  // namespace
}  // namespace why_page_test
}  // namespace sliced::kubectl
