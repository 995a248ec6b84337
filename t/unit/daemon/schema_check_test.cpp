#include "daemon/schema_check.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;

struct SchemaCheckTest : testing::Test {
  /// An OpenAPI document whose SriovResourcePolicy has that property of spec and no other.
  static std::string schema_with(const std::string& property) {
    return R"({"components":{"schemas":{"x":{"x-kubernetes-group-version-kind":[{"group":")" +
           kube::kSriovResourcePolicies.group + R"(","version":"v1alpha1","kind":"SriovResourcePolicy"}],)" +
           R"("properties":{"spec":{"properties":{")" + property + R"(":{}}}}}}}})";
  }
  void serve(const std::string& text) {
    cluster.schemas[kube::kSriovResourcePolicies.group + "/v1alpha1"] = text;
  }
  void list(const kube::Resource& kind) {
    check.listed(kind);
    scheduler.advance(1s);
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  SchemaCheck check{cluster,
                    log,
                    {{kube::kSriovResourcePolicies, {"spec.priority", "spec.readiness.require"}},
                     {kube::kDeviceAttributes, {}},
                     {kube::kDeviceExposurePolicies, {"spec.priority"}}}};
};

TEST_F(SchemaCheckTest, ReportsDroppedFieldsOnce) {
  serve(schema_with("other"));
  for (int i = 0; i < 3; ++i) list(kube::kSriovResourcePolicies);
  EXPECT_EQ(log.count("drops spec.priority, spec.readiness.require"), 1u) << log.all();
  EXPECT_EQ(log.count("until then set --readiness in place of spec.readiness"), 1u) << log.all();
  EXPECT_EQ(check.dropped(), "SriovResourcePolicy: spec.priority, spec.readiness.require");
  serve(schema_with(R"(readiness":{"properties":{"require":{}}},"priority)"));
  list(kube::kSriovResourcePolicies);
  EXPECT_EQ(log.lines.size(), 1u) << log.all();
  EXPECT_EQ(check.dropped(), "");
  serve(schema_with("other"));
  list(kube::kSriovResourcePolicies);
  EXPECT_EQ(log.count("drops spec.priority"), 2u) << "it is so again";
}

TEST_F(SchemaCheckTest, ReadsAGroupOnceForAllItsKinds) {
  serve(schema_with(R"(readiness":{"properties":{"require":{}}},"priority)"));
  size_t asked = 0;
  cluster.on_request = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    asked += request.verb == "schema" ? 1 : 0;
    return std::nullopt;
  };
  list(kube::kDeviceAttributes);
  EXPECT_EQ(asked, 0u);
  list(kube::kSriovResourcePolicies);
  EXPECT_EQ(asked, 1u);
  EXPECT_EQ(log.lines.size(), 0u) << log.all();
}

}  // namespace
}  // namespace sliced::daemon
