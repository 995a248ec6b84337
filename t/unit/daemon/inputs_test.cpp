#include "daemon/inputs.h"

#include <gtest/gtest.h>

#include "policy/reserved/ledger.h"
#include "publishers/diff_pool.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/pools.h"
#include "t/unit/daemon/ignored_pool_events.h"

namespace sliced::daemon {
namespace inputs_test {

using namespace std::chrono_literals;

struct InputsTest : testing::Test {
  InputsTest() {
    options.node_name = "node-a";
    inventory = std::make_shared<hotplug::Inventory>();
    state.node.apply(Changed<OwnNode::Item>{
        {{"", "node-a"}, "uid", "1", watchers::NodeFacts{"node-a", "uid", {{"zone", "a"}}}}});
  }
  Decider::InputsPtr gather() {
    return make_snapshot({state, options, inventory, server_features, reservations, settling, offers,
                          scheduler.now(), nullptr});
  }
  void expose() {
    policy::ExposurePolicy one;
    one.id.name = "p";
    const watchers::PolicyObject<policy::ExposurePolicy> object{
        std::make_shared<const policy::ExposurePolicy>(one)};
    state.policies.apply(Changed<WatchedPolicy<policy::ExposurePolicy>>{{{"", "p"}, "uid", "1", object}}, {});
  }
  // A slice of the driver with an entry of each function.
  void show(Driver which, const std::vector<std::string>& names) {
    kube::ResourceSlice slice;
    slice.driver = offers[which].driver();
    slice.node_name = "node-a";
    slice.pool = {"node-a", 1, 1};
    slice.meta.name = publishers::slice_name(0, slice.driver, "node-a", slice.pool.name, 0);
    slice.meta.uid = "uid";
    for (const std::string& name : names) slice.devices.push_back(kube::Device{.name = name});
    const PoolPublisher::Item item{{"", slice.meta.name}, "uid", "7", slice};
    offers[which].apply(Relisted<PoolPublisher::Item>{{item}, "start"});
    reservations.learn(slice);
  }

  config::Options options;
  hotplug::InventoryPtr inventory;
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  State state{.node = OwnNode(log, options)};
  kube::ClusterPorts ports{cluster, scheduler, log, [] { return 0.5; }};
  publishers::ServerFeatures server_features{ports, "dra.networking", "node-a", "", [] {}};
  publishers::Reservations reservations{ports,
                                        {.sriov_driver = options.sriov_driver_name,
                                         .exposure_driver = options.exposure_driver_name,
                                         .node = "node-a"},
                                        [] {}};
  QuietWindows settling{scheduler, 100ms, 250ms, [] {}};
  IgnoredPoolEvents events;
  PoolPublishers offers{PoolPublisher{ports, options.sriov_driver_name, events},
                        PoolPublisher{ports, options.exposure_driver_name, events}};
};

TEST_F(InputsTest, CombinesAllSources) {
  const auto in = gather();
  EXPECT_EQ(in->inventory, inventory);
  EXPECT_EQ(in->policies, state.policies.set());
  EXPECT_EQ(in->node.name, "node-a");
  EXPECT_EQ(in->settings.sriov_driver, options.sriov_driver_name);
  EXPECT_EQ(in->settings.exposure_driver, options.exposure_driver_name);
  EXPECT_FALSE(in->settings.counters || in->settings.shared_devices || in->settings.list_attributes)
      << "what the server can do is not known yet";
  EXPECT_EQ(in->selectors, nullptr) << "there is no decision before";
  EXPECT_EQ(in->before, nullptr) << "nothing is in motion";
}

TEST_F(InputsTest, PassesResultsToTheNextDecision) {
  auto before = std::make_shared<policy::Decision>();
  before->inputs = gather();
  before->entries = std::make_shared<const policy::EntryMemory>();
  state.decision = before;
  scheduler.advance(5s);
  EXPECT_EQ(gather()->entries, before->entries);
  EXPECT_EQ(gather()->before_at, before->inputs->now);
  EXPECT_EQ(gather()->now, before->inputs->now + 5s);
}

// Red when VFs wait for the node's own slices although it has only SriovResourcePolicies.
TEST_F(InputsTest, IncludesTheOtherDriverOnlyWithExposures) {
  show(kSriov, {"0000-03-00-2"});
  const auto alone = gather();
  EXPECT_TRUE(alone->sriov_holdings.empty() && alone->published.sriov.empty());
  EXPECT_TRUE(alone->published.is_sriov_pool_there);
  expose();
  const auto both = gather();
  EXPECT_EQ(both->sriov_holdings, std::set<std::string>{"0000-03-00-2"});
  EXPECT_EQ(both->published.sriov, std::set<std::string>{"0000-03-00-2"});
}

TEST_F(InputsTest, IncludesReservationsOfTheOtherType) {
  show(kExposure, {"0000-03-00-0"});
  const auto in = gather();
  EXPECT_EQ(in->holdings.size(), 1u);
  EXPECT_EQ(in->published.exposure, std::set<std::string>{"0000-03-00-0"}) << "though no policy exposes";
}

TEST_F(InputsTest, KnowsThePublishedStateOfSettlingDevices) {
  auto now = std::make_shared<hotplug::Inventory>();
  now->devices["a"] = {};
  inventory = now;
  hotplug::InventoryUpdate update;
  update.now = inventory;
  update.added = {"a"};
  settling.note(update, true);
  offers[kSriov].set_desired({fixture::pool(fixture::devices(0, 2))}, fixture::kNode);
  const auto in = gather();
  EXPECT_EQ(in->settling, std::set<std::string>{"a"});
  ASSERT_NE(in->before, nullptr);
  EXPECT_EQ(in->before->at(options.sriov_driver_name).at(0).devices.size(), 2u);
}

TEST_F(InputsTest, IncludesOwnSlicesOfBothDrivers) {
  show(kSriov, {"0000-03-00-2"});
  const publishers::OwnSlices own = own_slices(offers, options);
  EXPECT_EQ(own.sriov.size(), 1u);
  EXPECT_TRUE(own.exposure.empty());
}

}  // namespace inputs_test
}  // namespace sliced::daemon
