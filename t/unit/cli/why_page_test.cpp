#include "cli/fleet/why_page.h"

#include <gtest/gtest.h>

#include "kube/yaml.h"

namespace sliced::cli {
namespace why_page_test {
namespace {

allocation::Cluster cluster_of(const std::string& yaml) {
  allocation::Cluster out;
  for (const kube::Json& object : kube::decode_yaml(yaml).documents)
    allocation::add_object(object, "ns", out);
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
TEST(WhyPage, AnExpressionOfSeveralLinesIsOne) {
  const allocation::Cluster cluster = cluster_of(kCluster);
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

// Red when a cluster full of what cannot be read is told object by object.
TEST(WhyPage, WhatCannotBeReadIsToldWithinBounds) {
  allocation::Cluster cluster = cluster_of(kCluster);
  for (int i = 0; i < 1'000; ++i)
    allocation::add_object(kube::Json::Object{{"kind", "ResourceSlice"}}, "ns", cluster);
  const allocation::Answer answer = why_claim(cluster, cluster.claims[0]);
  ASSERT_EQ(answer.unsure.size(), kProblemsMax + 1);
  EXPECT_EQ(answer.unsure.back(), "and 980 more objects cannot be read");
}

}  // namespace
}  // namespace why_page_test
}  // namespace sliced::cli
