#include "controller/aggregate/summing.h"

#include <gtest/gtest.h>

namespace sliced::aggregate {
namespace summing_test {

const reports::PolicyRef kFirst{"SriovResourcePolicy", "ns", "p"}, kSecond{"DeviceExposurePolicy", "", "e"};

struct SummingTest : testing::Test {
  void put(const std::string& node, const std::vector<std::pair<reports::PolicyRef, int64_t>>& offered) {
    reports::NodeReport report{.node = node};
    for (const auto& [policy, count] : offered)
      report.policies.push_back(
          {.policy = policy, .generation = 1, .matched = count, .offered = count, .problem = "spec.x: bad"});
    nodes[node] = std::make_shared<const NodePolicyReports>(policy_reports_of(report, shared));
  }
  SharedReportValues shared;
  PolicyReportsByNode nodes;
};

// Red when a fleet is summed up in one go, whatever its size: the bound of a turn is words.
TEST_F(SummingTest, BoundsTheWorkOfAStep) {
  for (int i = 100; i < 200; ++i) put("n" + std::to_string(i), {{kFirst, 1}, {kSecond, 2}});
  FleetSum sum(shared);
  size_t steps = 0;
  for (int64_t before = 0; !sum.step(nodes, 30); before = sum.of(kFirst).selected) {
    EXPECT_LE(sum.of(kFirst).selected - before, 10);
    EXPECT_GT(sum.of(kFirst).selected, before) << "it goes on";
    ASSERT_LT(++steps, 100u);
  }
  EXPECT_GE(steps, 9u);
  EXPECT_EQ(sum.of(kFirst).selected, 100);
  EXPECT_EQ(sum.of(kSecond).offered, 200);
  EXPECT_EQ(sum.of(kFirst).first_problem.at(1), "n100: spec.x: bad");
  EXPECT_EQ(sum.of(kFirst).problem_nodes.at(1), 100);
}

TEST_F(SummingTest, SumsUpAnOversizedNodeAlone) {
  put("a", {{kFirst, 1}, {kSecond, 1}});
  put("b", {{kFirst, 1}, {kSecond, 1}});
  FleetSum sum(shared);
  EXPECT_FALSE(sum.step(nodes, 1));
  EXPECT_EQ(sum.of(kFirst).selected, 1);
  EXPECT_TRUE(sum.step(nodes, 1));
  EXPECT_EQ(sum.of(kFirst).selected, 2);
}

TEST_F(SummingTest, ReturnsNoSummaryWithoutNodes) {
  FleetSum sum(shared);
  EXPECT_TRUE(sum.step(nodes, 100));
  EXPECT_EQ(sum.of(kFirst).selected, 0);
  put("a", {{kSecond, 1}});
  EXPECT_TRUE(sum.step(nodes, 100));
  EXPECT_EQ(sum.of(kFirst).selected, 0);
}

// Red when what changes between two steps breaks the sum, is counted twice, or is taken for another policy whose name has the
// memory of one that nobody says any more.
TEST_F(SummingTest, HandlesNodesThatComeAndGo) {
  for (int i = 10; i < 30; ++i) put("n" + std::to_string(i), {{kFirst, 1}});
  put("gone", {{{"SriovResourcePolicy", "ns", "only-here"}, 7}});
  FleetSum sum(shared);
  ASSERT_FALSE(sum.step(nodes, 6)) << "gone, n10, n11";
  EXPECT_EQ(sum.of({"SriovResourcePolicy", "ns", "only-here"}).offered, 7);
  nodes.erase("gone");
  nodes.erase("n11");
  nodes.erase("n12");
  put("a-new", {{kFirst, 100}});
  put("n13", {{kFirst, 10}});
  for (int i = 0; i < 3'000; ++i) {
    put("z-new", {{{"SriovResourcePolicy", "ns", "other" + std::to_string(i)}, 1}});
  }
  put("z-new", {{kFirst, 1'000}});
  while (!sum.step(nodes, 6)) {
  }
  EXPECT_EQ(sum.of(kFirst).offered, 1 + 1 + 10 + 16 + 1'000)
      << "n10, n11 as they were; n13; n14 to n29; z-new";
  EXPECT_EQ(sum.of({"SriovResourcePolicy", "ns", "only-here"}).offered, 7);
}

}  // namespace summing_test
}  // namespace sliced::aggregate
