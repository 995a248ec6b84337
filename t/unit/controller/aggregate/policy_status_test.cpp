#include "controller/aggregate/policy_status.h"

#include <gtest/gtest.h>

#include "t/fixture/golden.h"

namespace sliced::aggregate {
namespace policy_status_test {

const reports::PolicyRef kPolicy{"SriovResourcePolicy", "ns", "p"}, kOther{"DeviceExposurePolicy", "", "e"};

reports::NodeReport report(const std::string& node, std::vector<reports::PolicyReport> policies) {
  reports::NodeReport out{.node = node};
  out.policies = std::move(policies);
  return out;
}
reports::PolicyReport says(const reports::PolicyRef& policy, int64_t generation, int64_t matched,
                           int64_t offered, const std::string& problem = "", reports::Counts hidden = {}) {
  return {policy, generation, "expose", matched, offered, std::move(hidden), problem, 0};
}
std::map<reports::PolicyRef, PolicyTotals> summed(const std::vector<reports::NodeReport>& reports) {
  static SharedReportValues shared;
  std::map<std::string, NodePolicyReports> nodes;
  for (const reports::NodeReport& one : reports) nodes[one.node] = policy_reports_of(one, shared);
  std::map<reports::PolicyRef, PolicyTotals> out;
  for (const auto& [node, words] : nodes)
    for (const NodePolicyReport& word : words) add(node, word, out[*word.policy]);
  return out;
}
const Condition& condition(const PolicyStatus& status, std::string_view type) {
  for (size_t i = 0; i < kConditionTypes.size(); ++i)
    if (kConditionTypes[i] == type) return status.conditions[i];
  static const Condition kNone;
  return kNone;
}

TEST(PolicyStatus, SumsUpTheReportsOfNodes) {
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

// Red when a node's report about a former generation counts for this one.
TEST(PolicyStatus, CountsProblemsOfTheirOwnGeneration) {
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

TEST(PolicyStatus, ReportsAConflictWithDevicesAndNodes) {
  const auto words = summed({report("a", {says(kOther, 1, 5, 2, "", {{"conflict", 3}})}),
                             report("b", {says(kOther, 1, 1, 0, "", {{"conflict", 1}})})});
  const Condition conflict = condition(status_of({.generation = 1}, words.at(kOther), {}, "t"), "Conflict");
  EXPECT_TRUE(conflict.is_true);
  EXPECT_EQ(conflict.message.find("4 devices on 2 nodes"), 0u) << conflict.message;
}

reports::PolicyReport overruled(const reports::PolicyRef& policy, int64_t devices, const std::string& by) {
  reports::PolicyReport out = says(policy, 1, 2, 2);
  out.overruled = devices;
  out.overruled_by = by;
  return out;
}

// Red when a conflict within one kind, its winner or its nodes are not reported.
TEST(PolicyStatus, ReportsTheWinnerAndNodesOfAConflictWithinOneKind) {
  const auto words = summed(
      {report("a", {says(kPolicy, 1, 2, 2)}), report("b", {overruled(kPolicy, 3, "ns/first")}),
       report("c", {overruled(kPolicy, 4, "ns/first")}), report("d", {overruled(kPolicy, 5, "ns/second")})});
  const Condition conflict = condition(status_of({.generation = 1}, words.at(kPolicy), {}, "t"), "Conflict");
  EXPECT_TRUE(conflict.is_true);
  EXPECT_EQ(conflict.reason, "Overruled");
  EXPECT_EQ(
      conflict.message,
      "12 devices on 3 nodes, first b: policy ns/first (and 1 other) has precedence by priority and name, and offers them differently");
}

TEST(PolicyStatus, ReportsBothConflicts) {
  reports::PolicyReport both = overruled(kOther, 1, "e1");
  both.hidden = {{"conflict", 2}};
  const Condition conflict =
      condition(status_of({.generation = 1}, summed({report("a", {both})}).at(kOther), {}, "t"), "Conflict");
  EXPECT_EQ(conflict.reason, "OfferedByAnother");
  EXPECT_EQ(conflict.message.find("2 devices on 1 node: a Sriov"), 0u) << conflict.message;
  fixture::expect_golden(conflict.message);
}

// Red when a fleet whose nodes each name another winner takes memory without bound, or a message.
TEST(PolicyStatus, CountsSomeOfManyWinners) {
  std::vector<reports::NodeReport> reports;
  for (int i = 100; i < 300; ++i)
    reports.push_back(
        report("n" + std::to_string(i), {overruled(kPolicy, 1, std::string(400, 'x') + std::to_string(i))}));
  const auto words = summed(reports);
  EXPECT_EQ(words.at(kPolicy).overruled, 200);
  EXPECT_LE(words.at(kPolicy).overruled_by.size(), 16u);
  EXPECT_LE(condition(status_of({.generation = 1}, words.at(kPolicy), {}, "t"), "Conflict").message.size(),
            600u);
}

TEST(PolicyStatus, OneOfTwoWritersPrecedes) {
  const auto precede = [](const std::string& one, const std::string& other) {
    EXPECT_TRUE(precedes({one, "z"}, {other, "a"})) << one << " " << other;
    EXPECT_FALSE(precedes({other, "a"}, {one, "z"})) << one << " " << other;
  };
  precede("0.2.0", "0.1.9");
  precede("0.10.0", "0.9.0");
  precede("1.0.0", "0.99.99");
  precede("1.0.0", "1.0.0-rc.1");
  precede("0.1.0", "");
  precede("0.1.0", "nonsense");
  precede("0.0.1", "1.2");
  EXPECT_TRUE(precedes({"0.1.0", "a"}, {"0.1.0", "b"}));
  EXPECT_TRUE(precedes({"0.1.0+deb", "a"}, {"0.1.0", "b"}));
  EXPECT_FALSE(precedes({"0.1.0", "a"}, {"0.1.0", "a"})) << "its own";
}

// Red when who has written it makes a status another one: two that say the same would write for ever.
TEST(PolicyStatus, IgnoresTheManagerInComparisons) {
  PolicyStatus one{.writer = {"0.1.0", "a"}, .observed_generation = 3}, other = one;
  other.writer = {"0.2.0", "b"};
  EXPECT_TRUE(one.has_same_content(other));
  other.devices_offered = 1;
  EXPECT_FALSE(one.has_same_content(other));
  other = one;
  other.conditions[1].message = "x";
  EXPECT_FALSE(one.has_same_content(other));
}

// Red when an equal status has another text each time: it would be written without end.
TEST(PolicyStatus, TransitionTimesChangeWithTheirConditionOnly) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 2)})});
  const PolicyStatus first = status_of({.generation = 1}, words.at(kPolicy), {}, "10:00");
  EXPECT_EQ(status_of({.generation = 1}, words.at(kPolicy), first, "11:00"), first);
  const auto broken = summed({report("a", {says(kPolicy, 1, 2, 2, "spec.x: bad")})});
  const PolicyStatus second = status_of({.generation = 1}, broken.at(kPolicy), first, "12:00");
  EXPECT_EQ(condition(second, "NotUsedAsWritten").since, "12:00");
  EXPECT_EQ(condition(second, "Accepted").since, "10:00");
}

TEST(PolicyStatus, RoundTrips) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 1, "spec.x: \"bad\"\n", {{"conflict", 1}})})});
  PolicyStatus status =
      status_of({.generation = 1, .problem = "p"}, words.at(kPolicy), {}, "2026-11-21T00:17:41Z");
  status.writer = {"0.1.0", "ns"};
  EXPECT_EQ(decode_policy_status(*kube::decode_json(kube::encode_json(json_of(status)))), status);
  EXPECT_EQ(decode_policy_status(
                *kube::decode_json(R"({"status":{"conditions":[{"type":"Ready"},7],"nodesSelected":"x"}})")),
            PolicyStatus{});
}

// Red when one node can say that it is many.
TEST(PolicyStatus, ADuplicatePolicyInAReportCountsOnce) {
  const auto words = summed({report("a", {says(kPolicy, 1, 2, 2), says(kPolicy, 1, 2, 2, "x")}),
                             report("b", {says(kPolicy, 1, 4, 3)})});
  EXPECT_EQ(words.at(kPolicy).selected, 2);
  EXPECT_EQ(words.at(kPolicy).matched, 6);
}

// Red when whoever writes reports with ever other names takes memory for ever, or when what a fleet says alike is kept for each.
TEST(PolicyStatus, ForgetsDeletedReports) {
  SharedReportValues shared;
  std::map<std::string, NodePolicyReports> nodes;
  for (int round = 0; round < 100; ++round) {
    std::vector<reports::PolicyReport> policies;
    for (int i = 0; i < 100; ++i)
      policies.push_back(says({"SriovResourcePolicy", "ns", std::to_string(round * 100 + i)}, 1, 1, 1,
                              std::to_string(round * 100 + i)));
    nodes["a"] = policy_reports_of(report("a", policies), shared);
    EXPECT_LE(shared.policies.size(), SharedValues<reports::PolicyRef>::kForgetMin);
    EXPECT_LE(shared.troubles.size(), SharedValues<reports::PolicyRef>::kForgetMin);
  }
  for (int i = 0; i < 100; ++i)
    nodes[std::to_string(i)] = policy_reports_of(report("", {says(kPolicy, 1, 1, 1, "spec.x: bad")}), shared);
  EXPECT_EQ(nodes["1"].at(0).policy, nodes["2"].at(0).policy);
  EXPECT_EQ(nodes["1"].at(0).trouble, nodes["2"].at(0).trouble);
}

}  // namespace policy_status_test
}  // namespace sliced::aggregate
