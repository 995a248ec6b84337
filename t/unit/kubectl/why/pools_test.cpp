#include "kubectl/why/pools.h"

#include "t/unit/kubectl/why/objects.h"

namespace sliced::why {
namespace {

std::string slice(const std::string& name, int generation, int count, const std::string& rest) {
  return "---\nkind: ResourceSlice\nmetadata: {name: " + name +
         "}\nspec: {driver: d, pool: {name: p, generation: " + std::to_string(generation) +
         ", resourceSliceCount: " + std::to_string(count) + "}, " + rest + "}\n";
}

std::vector<Pool> pools_of(const std::string& yaml, bool as_if_complete = false) {
  Cluster cluster;
  add(cluster, yaml);
  return gather_pools(SliceIndex(cluster.slices), {"w", {{"zone", "a"}}}, Features{}, as_if_complete);
}

TEST(GatherPools, UsesTheNewestGenerationInNameOrder) {
  const auto pools = pools_of(slice("z", 2, 2, "nodeName: w, devices: [{name: z0}]") +
                              slice("old", 1, 1, "nodeName: w, devices: [{name: gone}]") +
                              slice("b", 2, 2, "nodeName: w, devices: [{name: b0}, {name: b1}]"));
  ASSERT_EQ(pools.size(), 1u);
  std::vector<std::string> names;
  for (const Candidate& one : pools[0].devices) names.push_back(one.device->name);
  EXPECT_EQ(names, (std::vector<std::string>{"b0", "b1", "z0"}));
}

TEST(GatherPools, ReturnsNothingOfAnIncompletePool) {
  const std::string yaml = slice("a", 1, 2, "nodeName: w, devices: [{name: a0}]");
  const auto pools = pools_of(yaml);
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_TRUE(pools[0].is_incomplete);
  EXPECT_TRUE(pools[0].devices.empty());
  EXPECT_EQ(pools_of(yaml, true).at(0).devices.size(), 1u);
}

// What other nodes have of a pool counts, for its counters, and makes it complete.
TEST(GatherPools, MarksDevicesOfOtherNodes) {
  const auto pools =
      pools_of(slice("a", 1, 3, "nodeName: w, devices: [{name: a0}]") +
               slice("b", 1, 3, "nodeName: other, devices: [{name: b0}]") +
               slice("c", 1, 3, "nodeName: other, sharedCounters: [{name: s, counters: {c: {value: '1'}}}]"));
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_FALSE(pools[0].is_incomplete);
  EXPECT_EQ(pools[0].devices.size(), 1u);
  EXPECT_EQ(pools[0].elsewhere.size(), 1u);
  EXPECT_TRUE(pools[0].counter_sets.contains("s"));
}

TEST(GatherPools, ReportsWhyAPoolIsInvalid) {
  EXPECT_EQ(pools_of(slice("a", 1, 1, "nodeName: w, devices: [{name: x}, {name: x}]")).at(0).invalid,
            "two devices are named x");
  EXPECT_EQ(
      pools_of(slice("a", 1, 1,
                     "nodeName: w, devices: [{name: x, consumesCounters: [{counterSet: s, counters: {c: "
                     "{value: '1'}}}]}]"))
          .at(0)
          .invalid,
      "device x consumes of counter set s, which is not there");
}

TEST(GatherPools, AcceptsEachFormOfNodeSelection) {
  const char* here[] = {
      "allNodes: true",
      "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}",
      "perDeviceNodeSelection: true"};
  for (const char* where : here)
    EXPECT_EQ(pools_of(slice("a", 1, 1, std::string(where) + ", devices: [{name: x, nodeName: w}]")).size(),
              1u)
        << where;
  EXPECT_EQ(
      pools_of(slice("a", 1, 1, "perDeviceNodeSelection: true, devices: [{name: x, nodeName: v}]")).size(),
      0u);
  EXPECT_EQ(pools_of(slice("a", 1, 1, "devices: [{name: x}]")).size(), 0u) << "a way of a later release";
}

}  // namespace
}  // namespace sliced::why
