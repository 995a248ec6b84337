#include "publishers/reservations.h"

#include <gtest/gtest.h>

#include "policy/reserved/record.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::publishers {
namespace {

constexpr const char* kSriov = "sriov.example.com";

struct ReservationsTest : testing::Test {
  kube::ResourceSlice slice_of(int number, const std::string& pool) const {
    kube::ResourceSlice slice;
    slice.driver = kSriov;
    slice.node_name = "node-a";
    slice.pool.name = pool;
    for (int i = 0; i < 128; ++i)
      slice.devices.push_back(kube::Device{.name = "d-" + std::to_string(number) + "-" + std::to_string(i)});
    return slice;
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  Reservations charges{kube::ClusterPorts{cluster, scheduler, log, [] { return 0.0; }},
                       {.sriov_driver = kSriov, .exposure_driver = "net.example.com", .node = "node-a"},
                       [] {}};
};

// Somebody who may write our slices writes new names without end. Red when each of them is kept.
TEST_F(ReservationsTest, TooManyNamesReserveTheWholePool) {
  size_t changes = 0;
  for (int i = 0; i < 400; ++i) changes += charges.learn(slice_of(i, "node-a")) ? 1 : 0;
  EXPECT_LE(charges.ledger().sriov_holdings().size(), policy::Ledger::kNamesMax + 1);
  EXPECT_TRUE(charges.ledger().is_sriov_unverified());
  EXPECT_LE(changes, policy::Ledger::kNamesMax / 128 + 1) << "what changes nothing is decided nothing for";
  EXPECT_EQ(log.count("too many device names in ResourceSlices"), 1u);
}

TEST_F(ReservationsTest, AFailingReadIsLoggedOnce) {
  kube::ResourceSlice slice = slice_of(0, "node-a");
  slice.meta.name = "a";
  slice.meta.annotations[std::string(policy::kWithdrawnAnnotation)] = "nonsense";
  slice.unknown_fields = {std::string(kube::kUnreadable), "spec.devices: no list"};
  for (int i = 0; i < 3; ++i) charges.learn(slice);
  EXPECT_EQ(log.count("invalid annotation dra.networking/withdrawn"), 1u);
  EXPECT_EQ(log.count("invalid ResourceSlice of this node: its readable devices are reserved"), 1u);
}

}  // namespace
}  // namespace sliced::publishers
