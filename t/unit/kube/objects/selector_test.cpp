#include "kube/objects/selector.h"

#include <gtest/gtest.h>

#include "kube/objects/yaml.h"
#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace selector_test {

Json parse(std::string_view yaml) {
  auto decoded = decode_yaml(yaml);
  EXPECT_TRUE(decoded.problems.empty()) << yaml;
  return decoded.documents.empty() ? Json() : decoded.documents[0];
}

const NodeView kNode{
    "worker-1",
    {{"zone", "a"}, {"cores", "16"}, {"empty", ""}, {"feature.node.kubernetes.io/sriov", "true"}}};

TEST(NodeSelector, SelectsLikeKubernetes) {
  const struct {
    std::string yaml;
    bool matched;
  } rows[] = {
      {"null", true},
      {"{}", true},
      {"{matchLabels: {}}", true},
      {"{matchExpressions: []}", true},
      {"{matchLabels: null}", true},
      {"{zone: a}", true},
      {"{zone: b}", false},
      {"{zone: a, absent: ''}", false},
      {"{empty: ''}", true},
      {"{feature.node.kubernetes.io/sriov: 'true'}", true},
      {"{matchLabels: {zone: a}}", true},
      {"{matchLabels: {zone: a}, matchExpressions: [{key: cores, operator: DoesNotExist}]}", false},
      {"{matchExpressions: [{key: zone, operator: In, values: [x, a]}]}", true},
      {"{matchExpressions: [{key: zone, operator: NotIn, values: [x, a]}]}", false},
      {"{matchExpressions: [{key: absent, operator: NotIn, values: [x]}]}", true},
      {"{matchExpressions: [{key: absent, operator: In, values: ['']}]}", false},
      {"{matchExpressions: [{key: absent, operator: DoesNotExist}]}", true},
      {"{matchExpressions: [{key: empty, operator: DoesNotExist}]}", false},
      {"{matchExpressions: [{key: empty, operator: Exists}]}", true},
      {"{matchExpressions: [{key: absent, operator: Exists}]}", false},
      {"{nodeSelectorTerms: []}", false},
      {"{nodeSelectorTerms: null}", false},
      {"{nodeSelectorTerms: [{}]}", false},
      {"{nodeSelectorTerms: [{matchExpressions: [], matchFields: []}]}", false},
      {"{nodeSelectorTerms: [{}, {matchExpressions: [{key: zone, operator: Exists}]}]}", true},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}, {key: absent, "
       "operator: Exists}]}]}",
       false},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Gt, values: ['8']}]}]}", true},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Gt, values: ['16']}]}]}", false},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Lt, values: ['17']}]}]}", true},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Lt, values: ['9']}]}]}", false},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Gt, values: ['8']}]}]}", false},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: absent, operator: Lt, values: ['8']}]}]}", false},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-1]}]}]}",
       true},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-2]}]}]}",
       false},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: NotIn, values: [worker-2]}]}]}",
       true},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-1]}],"
       " matchExpressions: [{key: zone, operator: In, values: [b]}]}]}",
       false},
  };
  for (const auto& row : rows) {
    FieldProblems problems;
    const auto selector = decode_node_selector(row.yaml == "null" ? Json() : parse(row.yaml), problems);
    EXPECT_TRUE(problems.empty()) << row.yaml << ": "
                                  << (problems.empty() ? "" : problems[0].field + " " + problems[0].what);
    EXPECT_EQ(match_node(selector, kNode).matched, row.matched) << row.yaml;
  }
}

TEST(NodeSelector, EveryProblemNamesFieldAndReason) {
  const struct {
    std::string yaml, field, what;
  } rows[] = {
      {"[a]", "", "must be a map, not list"},
      {"zone", "", "must be a map, not string"},
      {"{zone: 1}", "zone", "must be a string, not number; put it in quotes"},
      {"{zone: yes}", "zone", "must be a string, not boolean; put it in quotes"},
      {"{matchLabel: {a: b}}", "matchLabel", "must be a string, not map"},
      {"{'bad key': a}", "bad key", "\"bad key\" is not a label key"},
      {"{zone: 'bad value'}", "zone", "\"bad value\" is not a label value"},
      {"{matchLabels: {a: b}, matchExpresions: []}", "matchExpresions",
       "unknown field, did you mean matchExpressions?"},
      {"{matchLabels: [a]}", "matchLabels", "must be a map, not list"},
      {"{matchLabels: {a: 1}}", "matchLabels[a]", "must be a string, not number; put it in quotes"},
      {"{matchExpressions: {a: b}}", "matchExpressions", "must be a list, not map"},
      {"{matchExpressions: [a]}", "matchExpressions[0]", "must be a map, not string"},
      {"{matchExpressions: [{key: a, operator: Exists}, {operator: Exists}]}", "matchExpressions[1].key",
       "is missing"},
      {"{matchExpressions: [{key: a}]}", "matchExpressions[0].operator", "is missing"},
      {"{matchExpressions: [{key: a, operator: in, values: [b]}]}", "matchExpressions[0].operator",
       "\"in\": expected one of In, NotIn, Exists, DoesNotExist"},
      {"{matchExpressions: [{key: a, operator: Gt, values: ['1']}]}", "matchExpressions[0].operator",
       "\"Gt\": expected one of In, NotIn, Exists, DoesNotExist"},
      {"{matchExpressions: [{key: a, operator: 1}]}", "matchExpressions[0].operator",
       "number: expected one of In, NotIn, Exists, DoesNotExist"},
      {"{matchExpressions: [{key: a, operator: In}]}", "matchExpressions[0].values",
       "must not be empty for In"},
      {"{matchExpressions: [{key: a, operator: NotIn, values: []}]}", "matchExpressions[0].values",
       "must not be empty for NotIn"},
      {"{matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "matchExpressions[0].values",
       "must be empty for Exists"},
      {"{matchExpressions: [{key: a, operator: In, values: [b, 1]}]}", "matchExpressions[0].values[1]",
       "must be a string, not number; put it in quotes"},
      {"{matchExpressions: [{key: a, operator: In, values: b}]}", "matchExpressions[0].values",
       "must be a list, not string"},
      {"{matchExpressions: [{key: a, operator: In, values: [b], value: c}]}", "matchExpressions[0].value",
       "unknown field, did you mean values?"},
      {"{nodeSelectorTerms: [], zone: a}", "zone", "unknown field"},
      {"{nodeSelectorTerms: {a: b}}", "nodeSelectorTerms", "must be a list, not map"},
      {"{nodeSelectorTerms: [a]}", "nodeSelectorTerms[0]", "must be a map, not string"},
      {"{nodeSelectorTerms: [{matchLabels: {a: b}}]}", "nodeSelectorTerms[0].matchLabels", "unknown field"},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Gt, values: [b]}]}]}",
       "nodeSelectorTerms[0].matchExpressions[0].values", "must be one whole number for Gt"},
      {"{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Lt, values: ['1', '2']}]}]}",
       "nodeSelectorTerms[0].matchExpressions[0].values", "must be one whole number for Lt"},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.namespace, operator: In, values: [a]}]}]}",
       "nodeSelectorTerms[0].matchFields[0].key",
       "\"metadata.namespace\": only metadata.name can be matched"},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: Exists}]}]}",
       "nodeSelectorTerms[0].matchFields[0].operator", "\"Exists\": expected one of In, NotIn"},
      {"{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [a, b]}]}]}",
       "nodeSelectorTerms[0].matchFields[0].values", "must be exactly one value for a field"},
  };
  for (const auto& row : rows) {
    FieldProblems problems;
    decode_node_selector(parse("\n" + row.yaml), problems);
    bool found = false;
    std::string all;
    for (const auto& problem : problems) {
      found =
          found || (problem.field == row.field && problem.what.starts_with(row.what) && problem.line == 2);
      all += "\n  " + problem.field + ": " + problem.what + " line " + std::to_string(problem.line);
    }
    EXPECT_TRUE(found) << row.yaml << all;
  }
}

TEST(NodeSelector, ReportsEveryProblem) {
  FieldProblems problems;
  decode_node_selector(parse("matchLabels:\n  a: 1\n  b: 2\nmatchExpressions:\n- {key: x}\n"), problems);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[1].line, 3);
  EXPECT_EQ(problems[2].line, 5);
}

TEST(NodeSelector, ReportsFoundAndExpectedValues) {
  FieldProblems problems;
  const auto match = [&](std::string_view yaml) {
    return match_node(decode_node_selector(parse(yaml), problems), kNode);
  };
  EXPECT_EQ(match("{zone: b}"), (NodeMatch{false, "labels[zone]", "a", "In [b]"}));
  EXPECT_EQ(match("{absent: b}"), (NodeMatch{false, "labels[absent]", "", "In [b]"}));
  EXPECT_EQ(match("{nodeSelectorTerms: [{matchExpressions: [{key: cores, operator: Gt, values: ['32']}]}]}"),
            (NodeMatch{false, "labels[cores]", "16", "Gt 32"}));
  EXPECT_EQ(match("{nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [w2]}]}]}"),
            (NodeMatch{false, "metadata.name", "worker-1", "In [w2]"}));
  EXPECT_EQ(match("{matchExpressions: [{key: zone, operator: DoesNotExist}]}"),
            (NodeMatch{false, "labels[zone]", "a", "DoesNotExist"}));
  EXPECT_EQ(match("{nodeSelectorTerms: []}").field, "nodeSelectorTerms");
}

TEST(LabelSelector, MatchesLikeKubernetes) {
  const struct {
    std::string yaml;
    bool matched;
  } rows[] = {
      {"{}", true},
      {"{matchLabels: {zone: a}}", true},
      {"{matchLabels: {zone: b}}", false},
      {"{matchLabels: {zone: a}, matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}", false},
      {"{matchExpressions: [{key: absent, operator: NotIn, values: [a]}]}", true},
  };
  for (const auto& row : rows) {
    FieldProblems problems;
    EXPECT_EQ(matches(decode_label_selector(parse(row.yaml), problems), kNode.labels), row.matched)
        << row.yaml;
    EXPECT_TRUE(problems.empty()) << row.yaml;
  }
  FieldProblems problems;
  decode_label_selector(parse("{zone: a}"), problems);
  ASSERT_EQ(problems.size(), 1u) << "a plain map is not a label selector";
  EXPECT_EQ(problems[0].field, "zone");
}

TEST(LabelKeys, FollowTheApi) {
  for (const std::string_view good : {"a", "A.b_c-1", "x.y/a", "example.com/A", "0"})
    EXPECT_TRUE(is_label_key(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string("-a"), std::string("a-"), std::string("/a"), std::string("a/"),
        std::string("A.b/c"), std::string("a/b/c"), std::string("a b"), std::string(64, 'a')}) {
    EXPECT_FALSE(is_label_key(bad)) << bad;
  }
  EXPECT_TRUE(is_label_value(""));
  EXPECT_TRUE(is_label_value(std::string(63, 'a')));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
  EXPECT_FALSE(is_label_value("a/b"));
}

TEST(Describe, ShowsEachOperator) {
  EXPECT_EQ(describe(Requirement{"zone", Operator::kIn, {"a", "b"}}), "zone In [a, b]");
  EXPECT_EQ(describe(Requirement{"zone", Operator::kExists, {}}), "zone Exists");
  EXPECT_EQ(describe(Requirement{"cores", Operator::kGt, {"4"}}), "cores Gt 4");
}

}  // namespace selector_test
}  // namespace sliced::kube
