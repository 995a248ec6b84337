#include "daemon/pool_publisher.h"

#include <gtest/gtest.h>

#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"
#include "t/fixture/pools.h"
#include "t/unit/daemon/ignored_pool_events.h"

namespace sliced::daemon {
namespace offer_test {

using namespace std::chrono_literals;
using fixture::devices;
using fixture::kNode;
using fixture::pool;

struct PoolPublisherTest : testing::Test, IgnoredPoolEvents {
  static PoolPublisher::Item item(const std::string& name, int count) {
    kube::ResourceSlice slice;
    slice.driver = fixture::kDriver;
    slice.node_name = kNode.name;
    slice.pool = {kNode.name, 1, 1};
    slice.meta.name = name;
    slice.meta.uid = "uid-" + name;
    slice.devices = devices(0, count);
    return {{"", name}, slice.meta.uid, "7", std::move(slice)};
  }
  static PoolPublisher::Item unreadable(const std::string& name) {
    return {{"", name}, "uid-" + name, "7", Error{Errc::kInvalid, "cannot be read"}};
  }
  size_t writes() { return cluster.writes().size(); }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  int refused = 0;
  PoolPublisher offer{kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }}, fixture::kDriver,
                      *this};

  void on_refused() override { ++refused; }
};

TEST_F(PoolPublisherTest, WritesNothingWithoutPermission) {
  offer.apply(Relisted<PoolPublisher::Item>{{}, "start"});
  offer.set_desired({pool(devices(0, 2))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(writes(), 0u);
  offer.publisher().permit(true);
  scheduler.advance(1s);
  EXPECT_EQ(writes(), 1u);
}

TEST_F(PoolPublisherTest, ReportsTheStateOfItsSource) {
  const auto names = [](const std::vector<const kube::ResourceSlice*>& shown) {
    std::vector<std::string> out;
    for (const auto* one : shown) out.push_back(one->meta.name);
    return out;
  };
  EXPECT_EQ(names(offer.apply(Relisted<PoolPublisher::Item>{{item("a", 1), unreadable("b")}, "start"})),
            (std::vector<std::string>{"a", "b"}))
      << "one that cannot be read is there all the same";
  EXPECT_EQ(names(offer.apply(Changed<PoolPublisher::Item>{item("c", 1)})), std::vector<std::string>{"c"});
  EXPECT_TRUE(offer.apply(Removed<PoolPublisher::Item>{{"", "a"}}).empty());
  EXPECT_EQ(offer.publisher().observed().size(), 2u);
}

// Refused entries are kept here, reported once, and tried again on request.
TEST_F(PoolPublisherTest, QuarantinesRefusedEntries) {
  cluster.on_admit = [](const fake::Request&, kube::Json&) -> std::optional<kube::Failure> {
    return kube::Failure{.code = Errc::kInvalid,
                         .http_status = 422,
                         .reason = "Invalid",
                         .what = "refused",
                         .fields = {"spec.devices[0].name"}};
  };
  EXPECT_FALSE(offer.empty_quarantine());
  offer.apply(Relisted<PoolPublisher::Item>{{}, "start"});
  offer.set_desired({pool(devices(0, 1))}, kNode);
  offer.publisher().permit(true);
  scheduler.advance(1s);
  EXPECT_GE(refused, 1);
  ASSERT_EQ(offer.quarantine().size(), 1u);
  EXPECT_EQ(offer.quarantine().begin()->first, fixture::device_name(0));
  EXPECT_TRUE(offer.empty_quarantine());
  EXPECT_TRUE(offer.quarantine().empty());
}

TEST_F(PoolPublisherTest, KeepsDesiredPoolsWhileTheNodeIsDeleted) {
  offer.set_desired({pool(devices(0, 2))}, kNode);
  offer.on_node_deleted();
  EXPECT_FALSE(offer.publisher().has_desired());
  ASSERT_EQ(offer.desired_last().size(), 1u);
  EXPECT_EQ(offer.desired_last()[0].devices.size(), 2u);
  offer.on_node_deleted();
  EXPECT_EQ(offer.desired_last().size(), 1u) << "twice is once";
  offer.set_desired({pool(devices(0, 3))}, kNode);
  EXPECT_EQ(offer.desired_last()[0].devices.size(), 3u);
}

TEST_F(PoolPublisherTest, WritesNoPostponedPoolUntilAnEntryIsDesired) {
  offer.apply(Relisted<PoolPublisher::Item>{{}, "start"});
  offer.publisher().permit(true);
  offer.set_desired({pool(devices(0, 2))}, kNode);
  offer.defer();
  scheduler.advance(1s);
  EXPECT_EQ(writes(), 0u);
  EXPECT_TRUE(offer.is_deferred());
  EXPECT_EQ(offer.desired_last().size(), 1u) << "what was desired before";
  offer.set_desired({pool(devices(0, 3))}, kNode);
  scheduler.advance(1s);
  EXPECT_EQ(writes(), 1u);
  EXPECT_FALSE(offer.is_deferred());
}

TEST_F(PoolPublisherTest, ReportsGainedLostAndChangedEntries) {
  const auto logged = [&](const std::vector<policy::DesiredPool>& pools,
                          const PoolPublisher::Origin& origin) {
    const auto difference = offer.difference(pools, origin.is_first);
    if (difference) offer.log(*difference, pools, origin);
    return difference.has_value();
  };
  EXPECT_FALSE(logged({pool({})}, {"why"})) << "nothing has changed";
  EXPECT_TRUE(logged({pool({})}, {.why = "why", .is_first = true}));
  EXPECT_EQ(log.count("decided driver=" + fixture::kDriver), 1u) << log.all();
  offer.set_desired({pool(devices(0, 2))}, kNode);
  EXPECT_FALSE(logged({pool(devices(0, 2))}, {"why"}));
  auto next = devices(1, 1, 7);
  for (const auto& one : devices(2, 10)) next.push_back(one);
  EXPECT_TRUE(logged({pool(next)}, {"why"}));
  EXPECT_EQ(log.count("changed=" + fixture::device_name(1)), 1u) << log.all();
  EXPECT_EQ(log.count("removed=" + fixture::device_name(0)), 1u) << log.all();
  EXPECT_EQ(log.count("and 2 more"), 1u) << "eight names are enough: " << log.all();
}

}  // namespace offer_test
}  // namespace sliced::daemon
