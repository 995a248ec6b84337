#include "daemon/own_node.h"

#include <gtest/gtest.h>

#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace {

OwnNode::Item node(const std::string& uid) {
  return {{"", "a"}, uid, "1", watchers::NodeFacts{"a", uid, {{"zone", uid}}}};
}
OwnNode::Item broken() { return {{"", "a"}, "", "1", Error{Errc::kInvalid, "broken"}}; }

config::Options options(config::ClusterSpec cluster = config::InCluster{}) {
  config::Options out;
  out.cluster = std::move(cluster);
  out.node_name = "a";
  out.node_labels = {{"zone", "by flag"}};
  return out;
}

TEST(OwnNode, FollowsTheNodeObject) {
  fake::MemoryLog log;
  OwnNode own(log, options());
  EXPECT_FALSE(own.is_there());
  EXPECT_EQ(own.missing(), "node a: there is no such Node object");
  EXPECT_FALSE(own.apply(Relisted<OwnNode::Item>{{}, "start"}));
  EXPECT_TRUE(own.apply(Relisted<OwnNode::Item>{{node("1")}, "start"}));
  EXPECT_FALSE(own.apply(Changed<OwnNode::Item>{node("1")})) << "nothing is new";
  EXPECT_TRUE(own.is_there());
  EXPECT_EQ(own.view().labels.at("zone"), "1");
  EXPECT_EQ(own.owner_uid(), "1");
  EXPECT_FALSE(own.apply(Changed<OwnNode::Item>{broken()})) << "the last word stands";
  EXPECT_EQ(log.lines.size(), 0u);
  EXPECT_TRUE(own.apply(Changed<OwnNode::Item>{node("2")}));
  EXPECT_EQ(own.view().labels.at("zone"), "2");
  EXPECT_EQ(log.count("Node object created again"), 1u);
  EXPECT_TRUE(own.apply(Removed<OwnNode::Item>{{"", "a"}}));
  EXPECT_FALSE(own.is_there());
  EXPECT_EQ(own.owner_uid(), "");
  EXPECT_EQ(log.count("Node object deleted"), 1u);
}

TEST(OwnNode, DirectoryOptionsReplaceTheNode) {
  fake::MemoryLog log;
  OwnNode own(log, options(config::ClusterDirectory{"d"}));
  EXPECT_TRUE(own.is_there());
  EXPECT_EQ(own.view(), (kube::NodeView{"a", {{"zone", "by flag"}}}));
  EXPECT_TRUE(own.apply(Relisted<OwnNode::Item>{{node("1")}, "start"}));
  EXPECT_EQ(own.view().labels.at("zone"), "1");
  EXPECT_EQ(own.owner_uid(), "");
}

}  // namespace
}  // namespace sliced::daemon
