#include "kube/objects/object_meta.h"

#include <gtest/gtest.h>

#include "t/unit/kube/objects/json_print.h"

namespace sliced::kube {
namespace {

Json parse(std::string_view text) {
  auto json = decode_json(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : Json();
}

TEST(ObjectMeta, ReadsTheFieldsThatTheDaemonUses) {
  const auto meta = decode_object_meta(
      parse(R"({"metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"7","generation":3,
    "labels":{"x":"1"},"annotations":{"y":"2"},"creationTimestamp":"2024-01-01T00:00:00Z","managedFields":[{}],
    "deletionTimestamp":"2024-01-01T00:00:00Z",
    "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"nu","controller":true}]}})"));
  ASSERT_TRUE(meta.ok()) << meta.error().what;
  ObjectMeta wanted{"a", "b", "u", "7", 3, {{"x", "1"}}, {{"y", "2"}}, {{"v1", "Node", "n", "nu", true}},
                    true};
  wanted.created_at = 20240101000000;
  EXPECT_EQ(*meta, wanted);
}

TEST(ObjectMeta, ReturnsTheLatestManagerOfNoSubresource) {
  const auto of = [](const std::string& fields) {
    return last_manager(parse(R"({"metadata":{"name":"a","managedFields":)" + fields + "}}"));
  };
  EXPECT_EQ(
      of(R"([{"manager":"a","time":"2026-01-02T00:00:00Z"},{"manager":"b","time":"2026-01-01T00:00:00Z"},
      {"manager":"c","time":"2026-01-03T00:00:00Z","subresource":"status"}])"),
      "a");
  EXPECT_EQ(of(R"([{"manager":"a"}])"), "a");
  EXPECT_EQ(of(R"([{"manager":")" + std::string(500, 'x') + R"("}])"), std::string(128, 'x'));
  for (const char* none : {"null", "[]", "{}", "7", "[7,null,\"a\"]", "[{}]", R"([{"manager":7,"time":[]}])"})
    EXPECT_EQ(of(none), "") << none;
  EXPECT_EQ(last_manager(parse("{}")), "");
}

// Red when an update would drop fields of other writers.
TEST(ObjectMeta, RoundTripsFieldsThatClientsMaySet) {
  const Json object = parse(
      R"({"metadata":{"name":"a","generateName":"a-","finalizers":["example.com/hold","foregroundDeletion"],
    "ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"nu","controller":true,"blockOwnerDeletion":false}]}})");
  const auto meta = decode_object_meta(object);
  ASSERT_TRUE(meta.ok()) << meta.error().what;
  EXPECT_EQ(meta->finalizers, (std::vector<std::string>{"example.com/hold", "foregroundDeletion"}));
  EXPECT_EQ(meta->generate_name, "a-");
  EXPECT_EQ(meta->owner_references.at(0).block_owner_deletion, std::optional(false));
  const auto again = decode_object_meta(Json(Json::Object{{"metadata", encode_object_meta(*meta)}}));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *meta);
}

TEST(ObjectMeta, NullsCountAsAbsent) {
  const auto meta = decode_object_meta(parse(
      R"({"metadata":{"name":"a","namespace":null,"labels":null,"annotations":null,"ownerReferences":null,"generation":null,"deletionTimestamp":null}})"));
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(*meta, ObjectMeta{.name = "a"});
}

TEST(ObjectMeta, WrongShapesNameTheirField) {
  const struct {
    std::string_view text, what;
  } rows[] = {
      {"{}", "metadata: is missing"},
      {R"({"metadata":[]})", "metadata: must be a map, not list"},
      {R"({"metadata":{}})", "metadata.name: is missing"},
      {R"({"metadata":{"name":""}})", "metadata.name: is missing"},
      {R"({"metadata":{"name":3}})", "metadata.name: must be a string, not number"},
      {R"({"metadata":{"name":"a","labels":[]}})", "metadata.labels: must be a map, not list"},
      {R"({"metadata":{"name":"a","labels":{"x":1}}})", "metadata.labels[x]: must be a string, not number"},
      {R"({"metadata":{"name":"a","generation":"1"}})",
       "metadata.generation: must be a whole number, not string"},
      {R"({"metadata":{"name":"a","finalizers":"x"}})", "metadata.finalizers: must be a list, not string"},
      {R"({"metadata":{"name":"a","finalizers":[1]}})",
       "metadata.finalizers[]: must be a string, not number"},
      {R"({"metadata":{"name":"a","ownerReferences":{}}})",
       "metadata.ownerReferences: must be a list, not map"},
      {R"({"metadata":{"name":"a","ownerReferences":[1]}})",
       "metadata.ownerReferences[]: must be a map, not number"},
  };
  for (const auto& row : rows) {
    const auto meta = decode_object_meta(parse(row.text));
    ASSERT_FALSE(meta.ok()) << row.text;
    EXPECT_EQ(meta.error(), (Error{Errc::kInvalid, std::string(row.what)}));
  }
}

TEST(ObjectMeta, OmitsEmptyFieldsAndRoundTrips) {
  EXPECT_EQ(encode_object_meta({.name = "a"}), (Json::Object{{"name", "a"}}));
  const ObjectMeta meta{"a",  "b", "u", "7", 3, {{"x", "1"}}, {{"y", "2"}}, {{"v1", "Node", "n", "nu", true}},
                        false};
  EXPECT_EQ(*decode_object_meta(Json(Json::Object{{"metadata", encode_object_meta(meta)}})), meta);
}

TEST(DescribeObject, AcceptsAnyObject) {
  EXPECT_EQ(
      describe_object(parse(R"({"apiVersion":"a/v1","kind":"K","metadata":{"name":"n","namespace":"s"}})")),
      "a/v1 K s/n");
  EXPECT_EQ(describe_object(parse(R"({"kind":"K","metadata":{"name":"n"}})")), "K n");
  EXPECT_EQ(describe_object(parse(R"([1])")), "object without a name");
  EXPECT_EQ(describe_object(parse(R"({"kind":"\u001b[1m","metadata":7})")), "\\x1b[1m without a name");
}

}  // namespace
}  // namespace sliced::kube
