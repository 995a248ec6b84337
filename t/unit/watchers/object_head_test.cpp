#include "watchers/object_head.h"

#include <gtest/gtest.h>

#include <string>

namespace sliced::watchers {
namespace {

const std::string kWhole =
    R"({"kind":"T","spec":{"metadata":{"name":"decoy"},"x":["}",{"]":1.5e3}]},)"
    R"( "metadata" : { "labels":{"name":"decoy"}, "name":"a\u0062", "namespace":"ns","generation":3,)"
    R"("uid":"u-1","resourceVersion":"42","annotations":{"a":"b","k8s.io/initial-events-end":"true"} },"status":null})";

TEST(ObjectHead, ReadsTheMetadataOfTheObject) {
  auto head = decode_object_head(kWhole);
  ASSERT_TRUE(head) << head.error().what;
  EXPECT_EQ(*head, (ObjectHead{"ns", "ab", "u-1", "42", true}));
}

TEST(ObjectHead, IsTheSameOrAnErrorHoweverTheTextIsCut) {
  const size_t end = kWhole.find(R"(},"status")");  // metadata is whole from here on
  const size_t enough = kWhole.find(R"(,"annotations")");
  for (size_t cut = 0; cut <= kWhole.size(); ++cut) {
    auto head = decode_object_head(std::string_view(kWhole).substr(0, cut));
    ASSERT_EQ(head.ok(), cut >= enough) << "cut at " << cut;
    if (head) {
      ASSERT_EQ(*head, (ObjectHead{"ns", "ab", "u-1", "42", cut > end || head->initial_events_end}));
    } else {
      ASSERT_EQ(head.error().code, Errc::kTooLarge) << "cut at " << cut;
    }
  }
}

// Red when a truncated object has no name, or that of another one.
TEST(IsInScope, KeepsATruncatedObject) {
  const std::string whole =
      R"({"metadata":{"name":"n","resourceVersion":"1","finalizers":["a"]},"spec":{"pool":{"name":"p"},)"
      R"("driver":"d","nodeName":"n"}})";
  const kube::Scope ours{{}, "", "spec.driver=d,spec.nodeName=n", false};
  const kube::Scope others{{}, "", "spec.driver=e,spec.nodeName=n", false};
  const size_t told = whole.find(R"(,"nodeName")");
  for (size_t cut = whole.find(R"(,"finalizers")"); cut < whole.size(); ++cut) {
    const std::string_view text = std::string_view(whole).substr(0, cut);
    const auto head = decode_object_head(text);
    ASSERT_TRUE(head) << text;
    EXPECT_TRUE(is_in_scope(*head, text, ours)) << text;
    EXPECT_EQ(is_in_scope(*head, text, others), cut < told) << text;
  }
}

TEST(ObjectHead, DecodesTexts) {
  const struct {
    const char* why;
    std::string text;
    const char* name;  // nullptr: an error
  } rows[] = {
      {"a bookmark has a version only", R"({"metadata":{"resourceVersion":"7"}})", ""},
      {"empty metadata", R"({"metadata":{}})", ""},
      {"annotations may be null", R"({"metadata":{"annotations":null,"name":"a"}})", "a"},
      {"annotations of another shape are not ours to judge", R"({"metadata":{"annotations":[1],"name":"a"}})",
       "a"},
      {"what follows metadata is not looked at", R"({"metadata":{"name":"a"},"spec":{{{)", "a"},
      {"nesting costs nothing",
       R"({"spec":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') +
           R"(,"metadata":{"name":"a"}})",
       "a"},
      {"null is absent", R"({"metadata":{"namespace":null,"name":"a"}})", "a"},
      {"no metadata", R"({"kind":"T"})", nullptr},
      {"metadata is not an object", R"({"metadata":"name"})", nullptr},
      {"a name that is not a string", R"({"metadata":{"name":5}})", nullptr},
      {"a name without end", R"({"metadata":{"name":")" + std::string(600, 'x') + R"("}})", nullptr},
      {"a bad escape in the name", R"({"metadata":{"name":"\ud800"}})", nullptr},
      {"a list", R"([{"metadata":{"name":"a"}}])", nullptr},
      {"nothing", "", nullptr},
      {"a missing comma", R"({"metadata":{"uid":"u" "name":"a"}})", nullptr},
      {"a closing bracket too many", R"({"spec":],"metadata":{"name":"a"}})", nullptr},
  };
  for (const auto& row : rows) {
    auto head = decode_object_head(row.text);
    ASSERT_EQ(head.ok(), row.name != nullptr) << row.why;
    if (head) {
      EXPECT_EQ(head->name, row.name) << row.why;
    }
  }
}

TEST(IsInScope, EvaluatesFieldSelectors) {
  const struct {
    const char* selector;
    const char* object;
    bool is_in;
  } rows[] = {
      {"", R"({"metadata":{"name":"n"}})", true},
      {"metadata.name=n", R"({"metadata":{"name":"n"}})", true},
      {"metadata.name=n", R"({"metadata":{"name":"m"}})", false},
      {"spec.driver=d,spec.nodeName=n", R"({"spec":{"driver":"d","pool":{"x":[1]},"nodeName":"n"}})", true},
      {"spec.driver=d,spec.nodeName=n", R"({"kind":{"spec":1},"spec":{"nodeName":"n","driver":"d"}})", true},
      {"spec.driver=d,spec.nodeName=n", R"({"spec":{"driver":"e","nodeName":"n"}})", false},
      {"spec.driver=d,spec.nodeName=n", R"({"spec":{"driver":"d","nodeName":"m"}})", false},
      {"spec.driver=d,spec.nodeName=n", R"({"spec":{"driver":"d","allNodes":true}})", false},
      {"spec.driver=d", R"({"spec":{"pool":{"driver":"d"}}})", false},
      {"spec.driver=d", R"({"driver":"d"})", false},
      {"spec.driver=d", R"({"spec":"d"})", false},
      {"spec.driver=d", R"({"spec":{"driver":["d"]}})", false},
      {"spec.driver=d", R"({"spec":{"driver":"d"}})", true},
      {"spec.driver=d", "5", false},
  };
  for (const auto& row : rows) {
    const auto head = decode_object_head(row.object);
    const kube::Scope scope{{}, "", row.selector, false};
    EXPECT_EQ(is_in_scope(head ? *head : ObjectHead{}, row.object, scope), row.is_in)
        << row.selector << " " << row.object;
  }
  const kube::Scope scope{{}, "ns", "", false};
  EXPECT_TRUE(is_in_scope({.namespace_ = "ns"}, "{}", scope));
  EXPECT_FALSE(is_in_scope({.namespace_ = "other"}, "{}", scope));
  EXPECT_FALSE(is_in_scope({}, "{}", scope));
}

TEST(ObjectHead, OnlyTheValueTrueEndsTheInitialEvents) {
  for (const auto* value : {"\"false\"", "\"\"", "\"True\""}) {
    auto head = decode_object_head(
        std::string(R"({"metadata":{"annotations":{"k8s.io/initial-events-end":)") + value + "}}}");
    ASSERT_TRUE(head);
    EXPECT_FALSE(head->initial_events_end) << value;
  }
}

}  // namespace
}  // namespace sliced::watchers
