#include "controller/aggregate/silent_nodes.h"

#include <gtest/gtest.h>

#include <optional>

#include "daemon/reports/node_report.h"
#include "kube/objects/api_time.h"
#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::aggregate {
namespace silent_nodes_test {

using namespace std::chrono_literals;

struct SilentNodesTest : testing::Test {
  SilentNodesTest() {
    cluster.install(kube::kLeases);
    cluster.install(kube::kNodeDeviceReports);
    cluster.clock = [this] { return now(); };
    for (const char* node : {"a", "b"}) {
      renew(node);
      cluster.put(kube::kNodeDeviceReports, json_of(reports::NodeReport{.node = node}));
    }
    renew("without-report");
    cluster.put_text(
        kube::kLeases,
        R"({"metadata":{"name":"sliced-aggregate","namespace":"ns"},"spec":{"renewTime":"2026-11-21T00:00:00Z"}})");
  }
  int64_t now() const { return 1'795'219'810 + scheduler.now().time_since_epoch().count() / 1'000; }
  void renew(const std::string& node) {
    cluster.put_text(kube::kLeases, R"({"metadata":{"name":"sliced-node-)" + node +
                                        R"(","namespace":"ns"},"spec":{"renewTime":")" +
                                        kube::encode_api_time(now()) + R"("}})");
  }
  void start() {
    nodes.emplace(kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }}, "ns");
    for (const char* node : {"a", "b"}) nodes->on_report(node, !mark(node).empty());
    nodes->start();
    scheduler.advance(1s);
  }
  // All daemons but those of `dead` live on.
  void live(Millis time, const std::set<std::string>& dead) {
    for (; time > 0s; time -= 10s) {
      for (const char* node : {"a", "b", "without-report"})
        if (!dead.contains(node)) renew(node);
      scheduler.advance(10s);
    }
  }
  std::string mark(const std::string& node) const {
    const auto object = cluster.object(kube::kNodeDeviceReports, node);
    return object ? reports::decode_node_report(*object)->silent_since : "none";
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<SilentNodes> nodes;
};

// Red when a daemon that is gone is not seen within two minutes, or not forgotten when it is back.
TEST_F(SilentNodesTest, MarksAndClearsSilenceInReports) {
  start();
  EXPECT_EQ(nodes->leases(), 3u) << "another Lease is not a node's";
  live(90s, {"a"});
  EXPECT_EQ(nodes->silent(), 0u);
  live(30s, {"a"});
  EXPECT_EQ(nodes->silent(), 1u);
  EXPECT_EQ(mark("a"), kube::encode_api_time(1'795'219'810));
  EXPECT_EQ(mark("b"), "");
  EXPECT_EQ(log.count("node silent: its daemon does not renew its Lease"), 1u);
  live(30min, {"a"});
  EXPECT_EQ(nodes->counters().written, 1u) << "while it lasts it is not written again";
  live(20s, {});
  EXPECT_EQ(nodes->silent(), 0u);
  EXPECT_EQ(mark("a"), "");
  EXPECT_EQ(nodes->counters().written, 2u);
}

// Red when the next leader needs minutes to find silent nodes, or removes the marks of the former one.
TEST_F(SilentNodesTest, ASuccessorSeesSilentNodesImmediately) {
  scheduler.advance(30min);
  renew("b");
  start();
  scheduler.advance(SilentNodes::kLookEvery);
  EXPECT_EQ(nodes->silent(), 2u);
  EXPECT_NE(mark("a"), "");
  const uint64_t before = cluster.count("patch");
  start();
  renew("b");
  scheduler.advance(30s);
  EXPECT_NE(mark("a"), "");
  EXPECT_EQ(cluster.count("patch"), before);
}

// Red when an outage of the API server, in which no daemon can renew, marks a whole fleet.
TEST_F(SilentNodesTest, IgnoresAnOutageOfTheApiServer) {
  start();
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  scheduler.advance(20min);
  EXPECT_EQ(nodes->silent(), 0u);
  cluster.set_network(fake::FakeCluster::Network::kUp);
  scheduler.advance(45s);
  EXPECT_EQ(nodes->silent(), 0u);
  live(10min, {"a"});
  EXPECT_EQ(nodes->silent(), 1u) << "it did not come back";
  EXPECT_NE(mark("a"), "");
}

// Red when a report is made for a node that writes none, or when one that may not be written is asked for all the time.
TEST_F(SilentNodesTest, LeavesAnUnwritableReportUnchanged) {
  start();
  cluster.remove(kube::kNodeDeviceReports, "b");
  live(3min, {"a", "b", "without-report"});
  EXPECT_EQ(nodes->silent(), 3u);
  EXPECT_EQ(mark("b"), "none");
  EXPECT_EQ(mark("without-report"), "none");
  start();
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "patch") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "patch: forbidden"};
  };
  renew("a");
  scheduler.advance(90s);
  const size_t before = cluster.count("patch");
  scheduler.advance(30min);
  EXPECT_LE(cluster.count("patch"), before + 12);
  EXPECT_EQ(log.count("report of a silent node not updated"), 1u);
}

TEST_F(SilentNodesTest, ANodeThatIsDeletedIsNotSilent) {
  start();
  live(3min, {"a"});
  ASSERT_EQ(nodes->silent(), 1u);
  cluster.remove(kube::kLeases, "sliced-node-a", "ns");
  live(10s, {"a"});
  EXPECT_EQ(nodes->silent(), 0u);
}

}  // namespace silent_nodes_test
}  // namespace sliced::aggregate
