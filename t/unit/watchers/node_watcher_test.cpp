#include "watchers/node_watcher.h"

#include "t/fixture/golden.h"
#include "t/unit/watchers/watch_fixture.h"

namespace sliced::watchers {
namespace {

struct NodeWatcherTest : WatchTest {
  void follow_node() {
    watcher = make_node_watcher(ports(), "n1", [this](SourceEvent<Watched<NodeFacts>> event) {
      if (auto* changed = std::get_if<Changed<Watched<NodeFacts>>>(&event)) say("changed", changed->now);
      if (auto* removed = std::get_if<Removed<Watched<NodeFacts>>>(&event))
        words.push_back("removed " + removed->id.name);
      if (auto* list = std::get_if<Relisted<Watched<NodeFacts>>>(&event)) {
        words.push_back("relisted " + std::to_string(list->all.size()));
        for (const auto& one : list->all) say("has", one);
      }
    });
    watcher->start();
    settle();
  }
  void say(const std::string& verb, const Watched<NodeFacts>& node) {
    ASSERT_TRUE(node.value) << node.value.error().what;
    words.push_back(verb + " " + node.value->name + " " + node.value->uid +
                    " zone=" + node.value->labels.at("zone"));
  }
  void put_node(const std::string& name, const std::string& uid, const std::string& zone) {
    cluster.put_text(kube::kNodes, R"({"metadata":{"name":")" + name + R"(","uid":")" + uid +
                                       R"(","labels":{"zone":")" + zone +
                                       R"("}},"status":{"images":["large"]}})");
  }
  Words look() { return std::exchange(words, {}); }

  Words words;
  std::unique_ptr<NodeWatcher> watcher;
};

TEST_F(NodeWatcherTest, RequestsTheMetadataOfOneNode) {
  put_node("n1", "u1", "a");
  put_node("n2", "u2", "b");
  follow_node();
  ASSERT_EQ(cluster.log.size(), 1u);
  EXPECT_EQ(cluster.log[0].field_selector, "metadata.name=n1");
  EXPECT_TRUE(cluster.log[0].metadata_only);
  EXPECT_EQ(look(), (Words{"relisted 1", "has n1 u1 zone=a"}));
  put_node("n2", "u2", "c");
  settle();
  EXPECT_EQ(look(), Words{});
}

TEST_F(NodeWatcherTest, ReportsLabelsAndANewUid) {
  put_node("n1", "u1", "a");
  follow_node();
  look();
  put_node("n1", "u1", "b");
  settle();
  EXPECT_EQ(look(), (Words{"changed n1 u1 zone=b"}));
  cluster.remove(kube::kNodes, "n1");
  put_node("n1", "u9", "b");
  settle();
  EXPECT_EQ(look(), (Words{"removed n1", "changed n1 u9 zone=b"}));
}

TEST_F(NodeWatcherTest, DropsOtherNodes) {
  cluster.ignores_scopes = true;
  put_node("n1", "u1", "a");
  put_node("n2", "u2", "b");
  follow_node();
  EXPECT_EQ(look(), (Words{"relisted 1", "has n1 u1 zone=a"}));
  put_node("n2", "u2", "c");
  settle();
  EXPECT_EQ(look(), Words{});
}

// A load balancer's 404, however well-formed discovery's answer looks.
TEST_F(NodeWatcherTest, NodesAreNeverAbsent) {
  cluster.unserve(kube::kNodes);
  follow_node();
  scheduler.advance(std::chrono::minutes(5));
  EXPECT_EQ(look(), Words{});
  EXPECT_EQ(watcher->sync_state().state, State::kUnreachable);
  fixture::expect_golden(watcher->sync_state().why);
  EXPECT_TRUE(watcher->sync_state().is_unserved) << "for those who look once";
  EXPECT_FALSE(watcher->sync_state().known);
}

TEST_F(NodeWatcherTest, AMissingNodeIsAnInitialSync) {
  follow_node();
  EXPECT_EQ(look(), (Words{"relisted 0"}));
  EXPECT_TRUE(watcher->sync_state().known);
  put_node("n1", "u1", "a");
  settle();
  EXPECT_EQ(look(), (Words{"changed n1 u1 zone=a"}));
}

}  // namespace
}  // namespace sliced::watchers
