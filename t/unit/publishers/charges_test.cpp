#include "publishers/charges.h"

#include <gtest/gtest.h>

#include "policy/exposure/withdrawn.h"
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
  Charges charges{Ports{cluster, scheduler, log, [] { return 0.0; }},
                  {.sriov_driver = kSriov, .exposure_driver = "net.example.com", .node = "node-a"},
                  [] {}};
};

// Somebody who may write our slices writes new names without end. Red when each of them is kept.
TEST_F(ChargesTest, NamesWithoutEndAreThePoolAsAWhole) {
  size_t news = 0;
  for (int i = 0; i < 400; ++i) news += charges.learn(slice_of(i, "node-a")) ? 1 : 0;
  EXPECT_LE(charges.sriov_held().size(), Charges::kNamesMax + 1);
  EXPECT_TRUE(charges.sriov_held().contains(std::string(policy::kUnknownEntry)));
  EXPECT_TRUE(charges.is_sriov_doubted());
  EXPECT_LE(news, Charges::kNamesMax / 128 + 1) << "what changes nothing is decided nothing for";
  EXPECT_EQ(log.count("more devices than a node can have"), 1u);
}

TEST_F(ChargesTest, PoolsWithoutEndAreNotOurs) {
  for (size_t i = 0; i < 2 * Charges::kPoolsMax; ++i)
    charges.learn(slice_of(static_cast<int>(i), "node-a/" + std::to_string(i)));
  EXPECT_LE(charges.sriov_held().size(), Charges::kPoolsMax * 128);
}

}  // namespace
}  // namespace sliced::publishers
