#include "kubectl/fleet/followed_fleet.h"

#include <gtest/gtest.h>

#include <optional>

#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::kubectl {
namespace followed_fleet_test {
namespace {

constexpr const char* kDriver = "d.example";

struct FollowedFleetTest : testing::Test {
  FollowedFleetTest() {
    cluster.install(kube::kResourceClaims);
    cluster.install(kube::kNodeDeviceReports);
    cluster.put_text(kube::kNodes, R"({"metadata":{"name":"a"}})");
    cluster.put_text(
        kube::kResourceSlices,
        R"({"metadata":{"name":"s"},"spec":{"driver":"d.example","nodeName":"a",)"
        R"("pool":{"name":"a","generation":1,"resourceSliceCount":1},"devices":[{"name":"x"}]}})");
    cluster.put_text(kube::kNodeDeviceReports, R"({"metadata":{"name":"a"},"status":{"daemonVersion":"1"}})");
  }
  void follow() {
    followed.emplace(kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
                     std::set<std::string>{kDriver}, "ns");
    scheduler.advance(Millis{1'000});
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<FollowedFleet> followed;
};

TEST_F(FollowedFleetTest, IsCompleteOnceEachListHasAnswered) {
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->note() + followed->refusal(), "");
  const uint64_t before = followed->moment();
  cluster.put_text(kube::kNodes, R"({"metadata":{"name":"b"}})");
  scheduler.advance(Millis{1'000});
  EXPECT_GT(followed->moment(), before);
  EXPECT_EQ(followed->fleet().rows().size(), 2u);
}

// Red when who may not list nodes sees nothing, or their slices as orphans.
TEST_F(FollowedFleetTest, ShowsNodesWithSlicesWithoutPermissionForNodes) {
  cluster.deny("nodes");
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->note() + followed->refusal(), "");
  const auto rows = followed->fleet().rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].is_there);
  EXPECT_EQ(rows[0].problems, std::vector<std::string>{});
}

// Red when a user who may not read everything sees nothing, or the missing data is not named.
TEST_F(FollowedFleetTest, NamesForbiddenDataAndShowsTheRest) {
  cluster.deny("resourceclaims");
  cluster.deny("leases");
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->refusal() + followed->note(), "");
  const auto gaps = followed->gaps();
  ASSERT_EQ(gaps.size(), 2u);
  EXPECT_EQ(gaps[0].find("ALLOCATED and FREE are unknown: watch resourceclaims"), 0u) << gaps[0];
  EXPECT_EQ(gaps[1].find("whether daemons are alive is unknown: watch leases"), 0u) << gaps[1];
  EXPECT_FALSE(followed->fleet().rows().at(0).knows_claims);
  EXPECT_EQ(followed->fleet().rows().at(0).usage.devices, 1u);
}

TEST_F(FollowedFleetTest, RefusesAUserWithoutAnyPermission) {
  for (const char* plural : {"nodes", "resourceslices", "nodedevicereports"}) cluster.deny(plural);
  follow();
  EXPECT_FALSE(followed->is_whole());
  EXPECT_NE(followed->refusal().find("resourceslices"), std::string::npos);
}

struct SilenceTest : FollowedFleetTest {
  SilenceTest() {
    cluster.install(kube::kLeases);
    cluster.clock = [this] { return kNow + scheduler.now().time_since_epoch().count() / 1'000; };
    renew();
  }
  void renew() {
    const auto seconds = scheduler.now().time_since_epoch().count() / 1'000;
    const std::string time = "2026-11-21T00:" + std::to_string(10 + seconds / 60) + ":" +
                             std::to_string(10 + seconds % 60 % 50) + "Z";
    cluster.put_text(
        kube::kLeases,
        R"({"metadata":{"name":"sliced-node-a","namespace":"ns"},"spec":{"renewTime":")" + time + R"("}})");
  }
  bool is_silent() const { return followed->fleet().rows().at(0).silent_for.has_value(); }
  static constexpr int64_t kNow = 1'795'219'810;  // 2026-11-21T00:10:10Z
};

// Red when a daemon that dies is shown as alive for more than two minutes, or when each renewal redraws the page.
TEST_F(SilenceTest, DetectsADeadDaemonWithinTwoMinutes) {
  follow();
  EXPECT_FALSE(is_silent());
  const uint64_t before = followed->moment();
  for (int i = 0; i < 3; ++i) scheduler.advance(Millis{2'000}), renew();
  EXPECT_EQ(followed->moment(), before);
  scheduler.advance(Millis{95'000});
  EXPECT_FALSE(is_silent());
  scheduler.advance(Millis{20'000});
  EXPECT_TRUE(is_silent());
  renew();
  scheduler.advance(FollowedFleet::kJudgeEvery);
  EXPECT_FALSE(is_silent());
}

// Red when an outage of the API server, in which no Lease can be renewed, shows a whole fleet as silent.
TEST_F(SilenceTest, IgnoresAnOutageOfTheApiServer) {
  follow();
  cluster.set_network(fake::FakeCluster::Network::kRefused);
  scheduler.advance(Millis{600'000});
  EXPECT_FALSE(is_silent());
  cluster.set_network(fake::FakeCluster::Network::kUp);
  scheduler.advance(Millis{75'000});
  EXPECT_FALSE(is_silent());
  scheduler.advance(Millis{60'000});
  EXPECT_TRUE(is_silent()) << "it did not come back";
}

// Red when outdated data is shown without a note.
TEST_F(FollowedFleetTest, MarksDataAsOldAfterALostPermission) {
  follow();
  cluster.deny("nodedevicereports");
  cluster.expire_watches("nodedevicereports");
  scheduler.advance(Millis{10'000});
  EXPECT_EQ(followed->fleet().rows().at(0).report->version, "1");
  EXPECT_NE(followed->note().find("nodedevicereports"), std::string::npos) << followed->note();
}

TEST_F(FollowedFleetTest, ShowsNoReportsIfThereAreNone) {
  cluster.uninstall(kube::kNodeDeviceReports);
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->note(), "");
  EXPECT_FALSE(followed->fleet().rows().at(0).report);
}

}  // namespace
}  // namespace followed_fleet_test
}  // namespace sliced::kubectl
