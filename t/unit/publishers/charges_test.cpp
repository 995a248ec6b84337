#include "publishers/charges.h"

#include <gtest/gtest.h>

#include "policy/charged/record.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::publishers {
namespace {

constexpr const char* kSriov = "sriov.example.com";

struct ChargesTest : testing::Test {
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
  Charges charges{kube::Ports{cluster, scheduler, log, [] { return 0.0; }},
                  {.sriov_driver = kSriov, .exposure_driver = "net.example.com", .node = "node-a"},
                  [] {}};
};

// Somebody who may write our slices writes new names without end. Red when each of them is kept.
TEST_F(ChargesTest, NamesWithoutEndAreThePoolAsAWhole) {
  size_t changes = 0;
  for (int i = 0; i < 400; ++i) changes += charges.learn(slice_of(i, "node-a")) ? 1 : 0;
  EXPECT_LE(charges.ledger().sriov_holdings().size(), policy::Ledger::kNamesMax + 1);
  EXPECT_TRUE(charges.ledger().is_sriov_doubted());
  EXPECT_LE(changes, policy::Ledger::kNamesMax / 128 + 1) << "what changes nothing is decided nothing for";
  EXPECT_EQ(log.count("more devices than a node can have"), 1u);
}

TEST_F(ChargesTest, WhatCannotBeReadIsSaidOnceWhileItLasts) {
  kube::ResourceSlice slice = slice_of(0, "node-a");
  slice.meta.name = "a";
  slice.meta.annotations[std::string(policy::kWithdrawnAnnotation)] = "nonsense";
  slice.unknown_fields = {std::string(kube::kUnreadable), "spec.devices: no list"};
  for (int i = 0; i < 3; ++i) charges.learn(slice);
  EXPECT_EQ(log.count("the record of withdrawn devices"), 1u);
  EXPECT_EQ(log.count("cannot be understood; what can be read of it is charged"), 1u);
}

}  // namespace
}  // namespace sliced::publishers
