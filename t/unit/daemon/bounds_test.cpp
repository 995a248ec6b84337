// What others write into the cluster, however much of it, is told within bounds, and where there is not room
// for all of it nothing is offered that might have been excluded.
#include <gtest/gtest.h>

#include "t/fixture/daemon_world.h"

namespace sliced {
namespace {

using namespace std::chrono_literals;

struct BoundsTest : testing::Test, fixture::DaemonWorld {
  static constexpr const char* kAll = "{configs: [{}]}";
  /// An exclude that excludes nothing and takes about half a MiB.
  void put_large_exclude(const std::string& name) {
    std::string values;
    for (int i = 0; i < 6'000; ++i) values += "a-value-of-some-label-" + std::to_string(i) + ", ";
    put_exposure(
        name,
        "{action: exclude, selector: {cel: 'false'}, nodeSelector: {nodeSelectorTerms: [{matchExpressions: "
        "[{key: a, operator: NotIn, values: [" +
            values + "b]}]}]}}");
  }
  size_t said(std::string_view part) const { return log.count(part); }
};

TEST_F(BoundsTest, AnExcludeBeyondTheMemoryLimitHoldsBackNewEntries) {
  make_pf(4);
  put_policy("p", kAll);
  for (int i = 0; i < 8; ++i) put_large_exclude("e" + std::to_string(i));
  start();
  run(2s);
  EXPECT_TRUE(offered().empty()) << "one of them may mean any device";
  EXPECT_EQ(said("objects are ignored: the memory for this kind is used up"), 1u);
  for (int i = 0; i < 6; ++i) remove_exposure("e" + std::to_string(i));
  run(10s);
  EXPECT_EQ(offered().size(), 4u) << "there is room for all of them now";
}

TEST_F(BoundsTest, PublishedEntriesStayWhenAnExcludeExceedsTheMemoryLimit) {
  make_pf(4);
  put_policy("p", kAll);
  start();
  run(2s);
  ASSERT_EQ(offered().size(), 4u);
  for (int i = 0; i < 8; ++i) put_large_exclude("e" + std::to_string(i));
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
}

TEST_F(BoundsTest, AnOversizedPolicyMayBeAnExclude) {
  make_pf(4);
  put_policy("p", kAll);
  cluster.put_text(kube::kDeviceExposurePolicies,
                   R"({"metadata":{"name":"large"},"spec":{"selector":{"cel":"true"},"x":")" +
                       std::string(2u << 20, 'x') + R"(","action":"exclude"}})");
  start();
  run(2s);
  EXPECT_TRUE(offered().empty());
  EXPECT_EQ(said("large"), 2u) << "by the watcher, and as a policy that is not used";
  remove_exposure("large");
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
}

TEST_F(BoundsTest, PoliciesBeyondTheLimitLeaveOthersServed) {
  make_pf(4);
  for (int i = 0; i < 12; ++i) {
    std::string values;
    for (int v = 0; v < 16'000; ++v) values += "a" + std::to_string(v) + ",";
    put_policy("large" + std::to_string(i),
               "{nodeSelector: {matchExpressions: [{key: a, operator: In, values: [" + values +
                   "b]}]}, configs: [{}]}");
  }
  put_policy("p", kAll);
  start();
  run(2s);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(said("objects are ignored"), 1u);
}

TEST_F(BoundsTest, LogsThousandsOfInvalidPoliciesInAHundredLines) {
  make_pf(1);
  std::string unknown = "{";
  for (int i = 0; i < 50; ++i) unknown += "k" + std::to_string(i) + ": 1, ";
  for (int i = 0; i < 300; ++i) put_policy("broken" + std::to_string(i), unknown + "z: 1}");
  start();
  run(2s);
  EXPECT_LE(said("policy problem"), 101u);
  EXPECT_EQ(said("and 6200 more problems"), 1u) << "21 lines of each of 300 policies, less 100";
  const size_t before = log.lines.size();
  put_policy("late", "{typo: 1}");
  run(2s);
  EXPECT_EQ(said("dra-driver-sriov/late: spec.typo"), 1u) << "what comes later is said";
  EXPECT_LE(log.lines.size(), before + 3);
}

// Whoever has the node's credentials may write slices without end. What a list of more than is believed shows is
// not all of them: nothing is written by halves, and it is said until somebody has taken them away.
TEST_F(BoundsTest, TooManyOwnSlicesStopEveryWriteWithAMessage) {
  make_pf(4);
  put_policy("p", kAll);
  const auto name_of = [](size_t i) { return "stray-" + std::to_string(i); };
  for (size_t i = 0; i <= watchers::kSlicesMax; ++i)
    cluster.put_text(
        kube::kResourceSlices,
        R"({"metadata":{"name":")" + name_of(i) + R"("},"spec":{"driver":")" + kDriver +
            R"(","nodeName":"node-a","pool":{"name":"stray","generation":1,"resourceSliceCount":1},)" +
            R"("devices":[]}})");
  start();
  run(2min);
  EXPECT_EQ(writes(), 0u);
  EXPECT_GE(said("more than 4096 objects"), 1u) << log.all();
  for (size_t i = 20; i <= watchers::kSlicesMax; ++i) cluster.remove(kube::kResourceSlices, name_of(i));
  run(30min);
  EXPECT_EQ(offered().size(), 4u);
  EXPECT_EQ(slices().size(), 1u) << "what is surplus and in our name goes";
}

}  // namespace
}  // namespace sliced
