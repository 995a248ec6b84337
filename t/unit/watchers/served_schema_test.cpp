#include "watchers/served_schema.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"

namespace sliced::watchers {
namespace {

using Paths = std::vector<std::string>;

/// An OpenAPI v3 document as kube-apiserver serves it for a CRD, with `spec` as the schema of spec.
std::string document(const std::string& spec) {
  return R"({"openapi":"3.0.0","components":{"schemas":{
    "io.other.v1.Decoy":{"x-kubernetes-group-version-kind":[{"group":"other.io","kind":"SriovResourcePolicy","version":"v1alpha1"}],
      "properties":{"spec":{"properties":{"priority":{"type":"integer"}}}}},
    "io.x.v1alpha1.SriovResourcePolicy":{"type":"object","properties":{"spec":)" +
         spec + R"(},
      "x-kubernetes-group-version-kind":[{"group":"sriovnetwork.k8snetworkplumbingwg.io","kind":"SriovResourcePolicy","version":"v1alpha1"}]},
    "loop":{"allOf":[{"$ref":"#/components/schemas/loop"}]},
    "filter":{"properties":{"drivers":{"type":"array","items":{"type":"string"}}}}}}})";
}

Paths dropped(const std::string& spec, const Paths& paths) {
  auto result = fields_dropped_by_schema(document(spec), kube::kSriovResourcePolicies, paths);
  EXPECT_TRUE(result) << result.error().what;
  return result.ok() ? *result : Paths{"error"};
}

TEST(ServedSchema, ReportsFieldsThatTheServerWouldDrop) {
  const struct {
    const char* why;
    std::string spec;
    Paths paths, dropped;
  } rows[] = {
      {"named properties stay, others go, in the order asked",
       R"({"type":"object","properties":{"configs":{"type":"array","items":{"properties":{"resourceName":{}}}}}})",
       {"spec.priority", "spec.configs", "spec.configs[].resourceName", "spec.configs[].x"},
       {"spec.priority", "spec.configs[].x"}},
      {"unknown fields are kept where the schema says so, at any depth below",
       R"({"properties":{"filter":{"x-kubernetes-preserve-unknown-fields":true}}})",
       {"spec.filter.any", "spec.filter.any.deeper[].still", "spec.other"},
       {"spec.other"}},
      {"a property named beside preserved unknown fields is pruned by its own schema",
       R"({"x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"properties":{"b":{}}}}})",
       {"spec.a.b", "spec.a.c", "spec.z.c"},
       {"spec.a.c"}},
      {"preserve-unknown-fields: false keeps nothing",
       R"({"x-kubernetes-preserve-unknown-fields":false})",
       {"spec.a"},
       {"spec.a"}},
      {"a map of values has room for every key",
       R"({"properties":{"map":{"additionalProperties":{"properties":{"int":{}}}},"any":{"additionalProperties":true},"none":{"additionalProperties":false}}})",
       {"spec.map.x.int", "spec.map.x.bool", "spec.any.x", "spec.none.x"},
       {"spec.map.x.bool", "spec.none.x"}},
      {"references are followed",
       R"({"properties":{"f":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/filter"}],"default":{}}}}})",
       {"spec.f[].drivers", "spec.f[].vendors"},
       {"spec.f[].vendors"}},
      {"a schema that refers to itself ends",
       R"({"$ref":"#/components/schemas/loop"})",
       {"spec.a"},
       {"spec.a"}},
      {"a list of lists",
       R"({"properties":{"l":{"items":{"items":{"properties":{"a":{}}}}}}})",
       {"spec.l[][].a", "spec.l[].a"},
       {"spec.l[].a"}},
      {"no schema of spec at all", R"({})", {"spec.a"}, {"spec.a"}},
  };
  for (const auto& row : rows) EXPECT_EQ(dropped(row.spec, row.paths), row.dropped) << row.why;
}

TEST(ServedSchema, AClusterWithoutSchemasDropsNothing) {
  auto result = fields_dropped_by_schema("", kube::kSriovResourcePolicies, {"spec.a"});
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, Paths{});
}

TEST(ServedSchema, ReportsAnUnreadableSchemaAsAnError) {
  auto broken = fields_dropped_by_schema("{", kube::kSriovResourcePolicies, {"spec.a"});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::kInvalid);
  auto other = fields_dropped_by_schema(document("{}"), kube::kDeviceAttributes, {"spec.a"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace sliced::watchers
