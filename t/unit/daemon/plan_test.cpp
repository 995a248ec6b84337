#include "daemon/plan.h"

#include <gtest/gtest.h>

#include "policy/decide.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/pools.h"
#include "t/unit/daemon/ignored_pool_events.h"

namespace sliced::daemon {
namespace plan_test {

struct PlanTest : testing::Test {
  PlanTest() {
    auto inputs = std::make_shared<policy::Inputs>();
    inputs->inventory = std::make_shared<const hotplug::Inventory>();
    inputs->policies = std::make_shared<const policy::PolicySet>();
    inputs->settings.sriov_driver = options.sriov_driver_name;
    inputs->settings.exposure_driver = options.exposure_driver_name;
    decision = policy::decide(inputs);
    decision.pools[options.sriov_driver_name];
    decision.pools[options.exposure_driver_name];
  }
  Plan plan() {
    return make_plan(decision, "why",
                     {.before = before,
                      .offers = offers,
                      .node_name = node_name,
                      .inventory = *decision.inputs->inventory,
                      .are_pods_being_read = are_pods_being_read,
                      .out_of_sync = out_of_sync,
                      .selecting_by_mac = selecting_by_mac});
  }

  const config::Options options;
  const std::string node_name = "node-a";
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  kube::ClusterPorts ports{cluster, scheduler, log, [] { return 0.5; }};
  IgnoredPoolEvents events;
  PoolPublishers offers{PoolPublisher{ports, options.sriov_driver_name, events},
                        PoolPublisher{ports, options.exposure_driver_name, events}};
  policy::Decision decision;
  const policy::Decision* before = nullptr;
  bool are_pods_being_read = false;
  std::set<hotplug::PciAddress> out_of_sync;
  std::vector<Shared<policy::ExposurePolicy>> selecting_by_mac;
};

TEST_F(PlanTest, ReportsTheFirstDecisionEvenIfNothingIsOffered) {
  const Plan first = plan();
  EXPECT_TRUE(first.pools[kSriov].is_first && first.pools[kSriov].difference);
  EXPECT_FALSE(first.pools[kExposure].difference) << "once";
  EXPECT_TRUE(first.is_changed());
  before = &decision;
  EXPECT_FALSE(plan().is_changed());
}

TEST_F(PlanTest, ContainsPools) {
  decision.pools[options.sriov_driver_name] = {fixture::pool(fixture::devices(0, 2))};
  const Plan made = plan();
  ASSERT_EQ(made.pools[kSriov].desired.size(), 1u);
  EXPECT_EQ(made.pools[kSriov].difference->added.size(), 2u);
  EXPECT_TRUE(made.decision->pools.empty());
  EXPECT_TRUE(log.lines.empty()) << "a plan has no effect";
}

TEST_F(PlanTest, PostponesPoolsUntilPodsAreReadIfSlicesAreMissing) {
  decision.awaits_pod_claims = true;
  EXPECT_FALSE(plan().pools[kSriov].is_deferred) << "no pods are being read";
  are_pods_being_read = true;
  EXPECT_TRUE(plan().pools[kSriov].is_deferred);
  EXPECT_FALSE(plan().pools[kExposure].is_deferred);
  EXPECT_TRUE(plan().awaits_claims);
}

TEST_F(PlanTest, QueriesPFsForTheDecisionAndTheNodeState) {
  const auto one = *hotplug::PciAddress::decode("0000:03:00.0");
  const auto two = *hotplug::PciAddress::decode("0000:04:00.0");
  decision.unanswered_pfs = {one};
  decision.pfs_to_query = {one};
  out_of_sync = {two};
  const Plan made = plan();
  EXPECT_EQ(made.query_again, (std::set{one, two}));
  EXPECT_EQ(made.query_now, std::set{one});
}

TEST_F(PlanTest, SchedulesTheNextDecision) {
  EXPECT_FALSE(plan().decide_at || plan().decide_again);
  decision.due = TimePoint{Millis{7}};
  decision.is_regrouped = true;
  EXPECT_EQ(plan().decide_at, TimePoint{Millis{7}});
  EXPECT_TRUE(plan().decide_again);
}

}  // namespace plan_test
}  // namespace sliced::daemon
