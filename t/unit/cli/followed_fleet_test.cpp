#include "cli/fleet/followed_fleet.h"

#include <gtest/gtest.h>

#include <optional>

#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::cli {
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
    followed.emplace(kube::Ports{cluster, scheduler, log, [] { return 0.5; }},
                     std::set<std::string>{kDriver});
    scheduler.advance(Millis{1'000});
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<FollowedFleet> followed;
};

TEST_F(FollowedFleetTest, IsWholeOnceEachHasAnswered) {
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
TEST_F(FollowedFleetTest, WhoMayNotListNodesSeesThoseThatHaveSlices) {
  cluster.deny("nodes");
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->note() + followed->refusal(), "");
  const auto rows = followed->fleet().rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].is_there);
  EXPECT_EQ(rows[0].problems, std::vector<std::string>{});
}

TEST_F(FollowedFleetTest, WhoMayNotReadClaimsIsTold) {
  cluster.deny("resourceclaims");
  follow();
  EXPECT_FALSE(followed->is_whole());
  EXPECT_NE(followed->refusal().find("resourceclaims"), std::string::npos);
}

// Red when what is shown is old, and nobody says so.
TEST_F(FollowedFleetTest, WhatMayNotBeReadAnyMoreIsSaidToBeOld) {
  follow();
  cluster.deny("nodedevicereports");
  cluster.expire_watches("nodedevicereports");
  scheduler.advance(Millis{10'000});
  EXPECT_EQ(followed->fleet().rows().at(0).report->version, "1");
  EXPECT_NE(followed->note().find("nodedevicereports"), std::string::npos) << followed->note();
}

TEST_F(FollowedFleetTest, WithoutReportsThereAreNone) {
  cluster.uninstall(kube::kNodeDeviceReports);
  follow();
  EXPECT_TRUE(followed->is_whole());
  EXPECT_EQ(followed->note(), "");
  EXPECT_FALSE(followed->fleet().rows().at(0).report);
}

}  // namespace
}  // namespace followed_fleet_test
}  // namespace sliced::cli
