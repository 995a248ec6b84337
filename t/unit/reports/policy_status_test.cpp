#include "reports/policy_status.h"

#include <gtest/gtest.h>

namespace sliced::reports {
namespace policy_status_test {

const PolicyRef kPolicy{"SriovResourcePolicy", "ns", "p"}, kOther{"DeviceExposurePolicy", "", "e"};

NodeReport report(const std::string& node, std::vector<PolicyReport> policies) {
  NodeReport out{.node = node};
  out.policies = std::move(policies);
  return out;
}
PolicyReport says(const PolicyRef& policy, int64_t generation, int64_t matched, int64_t offered,
                  const std::string& problem = "", Counts hidden = {}) {
  return {policy, generation, "expose", matched, offered, std::move(hidden), problem, 0};
}
std::map<PolicyRef, FleetWord> summed(const std::vector<NodeReport>& reports) {
  static SharedWords shared;
  std::map<std::string, NodeWords> nodes;
  for (const NodeReport& one : reports) nodes[one.node] = words_of(one, shared);
  return sum_up(nodes);
}
const Condition& condition(const PolicyStatus& status, std::string_view type) {
  for (size_t i = 0; i < kConditionTypes.size(); ++i)
    if (kConditionTypes[i] == type) return status.conditions[i];
  static const Condition kNone;
  return kNone;
}

TEST(PolicyStatus, SumsUpWhatNodesSay) {
  const auto words = summed({report("a", {says(kPolicy, 2, 8, 6), says(kOther, 1, 3, 3)}),
                             report("b", {says(kPolicy, 1, 4, 4)}), report("c", {})});
  const PolicyStatus status = status_of({.generation = 2}, words.at(kPolicy), {}, "now");
  EXPECT_EQ(status.observed_generation, 2);
  EXPECT_EQ(status.nodes_selected, 2);
  EXPECT_EQ(status.nodes_current, 1) << "b has not decided by this generation";
  EXPECT_EQ(status.devices_matched, 12);
  EXPECT_EQ(status.devices_offered, 10);
  EXPECT_TRUE(condition(status, "Accepted").is_true);
  EXPECT_FALSE(condition(status, "NotUsedAsWritten").is_true);
  EXPECT_FALSE(condition(status, "Conflict").is_true);
}

// Red when what a node said of a generation before counts against this one.
TEST(PolicyStatus, ProblemsCountOfTheGenerationThatTheyAreOf) {
  const auto words = summed({report("b", {says(kPolicy, 2, 0, 0, "spec.x: bad")}),
                             report("a", {says(kPolicy, 2, 0, 0, "spec.x: bad")}),
                             report("c", {says(kPolicy, 1, 0, 0, "old")})});
  const PolicyStatus now = status_of({.generation = 2}, words.at(kPolicy), {}, "t");
  EXPECT_TRUE(condition(now, "NotUsedAsWritten").is_true);
  EXPECT_EQ(condition(now, "NotUsedAsWritten").message, "on 2 nodes; a: spec.x: bad");
  EXPECT_TRUE(condition(now, "Accepted").is_true) << "it can be understood here";
  const PolicyStatus next = status_of({.generation = 3}, words.at(kPolicy), {}, "t");
  EXPECT_FALSE(condition(next, "NotUsedAsWritten").is_true);
  const PolicyStatus unread = status_of({.generation = 3, .problem = "spec: no map"}, {}, {}, "t");
  EXPECT_FALSE(condition(unread, "Accepted").is_true);
  EXPECT_EQ(condition(unread, "Accepted").message, "spec: no map");
  EXPECT_TRUE(condition(unread, "NotUsedAsWritten").is_true);
}

TEST(PolicyStatus, AConflictIsSaidWithDevicesAndNodes) {
  const auto words = summed({report("a", {says(kOther, 1, 5, 2, "", {{"conflict", 3}})}),
                             report("b", {says(kOther, 1, 1, 0, "", {{"conflict", 1}})})});
  const Condition conflict = condition(status_of({.generation = 1}, words.at(kOther), {}, "t"), "Conflict");
  EXPECT_TRUE(conflict.is_true);
  EXPECT_EQ(conflict.message.find("4 devices on 2 nodes"), 0u) << conflict.message;
}

// Red when a status that says the same is another one each time: it would be written for ever.
TEST(PolicyStatus, TimesChangeOnlyWithWhatTheyAreOf) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 2)})});
  const PolicyStatus first = status_of({.generation = 1}, words.at(kPolicy), {}, "10:00");
  EXPECT_EQ(status_of({.generation = 1}, words.at(kPolicy), first, "11:00"), first);
  const auto broken = summed({report("a", {says(kPolicy, 1, 2, 2, "spec.x: bad")})});
  const PolicyStatus second = status_of({.generation = 1}, broken.at(kPolicy), first, "12:00");
  EXPECT_EQ(condition(second, "NotUsedAsWritten").since, "12:00");
  EXPECT_EQ(condition(second, "Accepted").since, "10:00");
}

TEST(PolicyStatus, ComesBackAsItWasWritten) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 1, "spec.x: \"bad\"\n", {{"conflict", 1}})})});
  const PolicyStatus status =
      status_of({.generation = 1, .problem = "p"}, words.at(kPolicy), {}, "2026-11-21T00:17:41Z");
  EXPECT_EQ(decode_policy_status(*kube::decode_json(kube::encode_json(json_of(status)))), status);
  EXPECT_EQ(decode_policy_status(
                *kube::decode_json(R"({"status":{"conditions":[{"type":"Ready"},7],"nodesSelected":"x"}})")),
            PolicyStatus{});
}

// Red when one node can say that it is many.
TEST(PolicyStatus, WhoNamesAPolicyTwiceIsHeardOnce) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 2), says(kPolicy, 1, 2, 2, "x")}),
                             report("b", {says(kPolicy, 1, 4, 3)})});
  EXPECT_EQ(words.at(kPolicy).selected, 2);
  EXPECT_EQ(words.at(kPolicy).matched, 6);
}

// Red when whoever writes reports with ever other names takes memory for ever, or when what a fleet says alike is kept for each.
TEST(PolicyStatus, WhatIsSaidNoMoreIsForgotten) {
  SharedWords shared;
  std::map<std::string, NodeWords> nodes;
  for (int round = 0; round < 100; ++round) {
    std::vector<PolicyReport> policies;
    for (int i = 0; i < 100; ++i)
      policies.push_back(says({"SriovResourcePolicy", "ns", std::to_string(round * 100 + i)}, 1, 1, 1,
                              std::to_string(round * 100 + i)));
    nodes["a"] = words_of(report("a", policies), shared);
    EXPECT_LE(shared.policies.size(), SharedValues<PolicyRef>::kForgetMin);
    EXPECT_LE(shared.problems.size(), SharedValues<PolicyRef>::kForgetMin);
  }
  for (int i = 0; i < 100; ++i)
    nodes[std::to_string(i)] = words_of(report("", {says(kPolicy, 1, 1, 1, "spec.x: bad")}), shared);
  EXPECT_EQ(nodes["1"].at(0).policy, nodes["2"].at(0).policy);
  EXPECT_EQ(nodes["1"].at(0).problem, nodes["2"].at(0).problem);
  EXPECT_EQ(sum_up(nodes).at(kPolicy).selected, 100);
}

}  // namespace policy_status_test
}  // namespace sliced::reports
