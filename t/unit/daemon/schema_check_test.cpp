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
    scheduler.advance(SchemaCheck::kSpread);
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  double dice = 0.5;
  SchemaCheck check{{cluster, scheduler, log, [this] { return dice; }},
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

// Red when all nodes of a fleet read their schemas in the moment in which they have started, or a CRD has changed; and
// when each list of that time brings another request.
TEST_F(SchemaCheckTest, ReadsAfterARandomWait) {
  serve(schema_with("other"));
  for (const double part : {0.0, 0.25, 0.99}) {
    SCOPED_TRACE(part);
    dice = part;
    const size_t before = cluster.count("schema");
    const auto wait = Millis(static_cast<int64_t>(part * static_cast<double>(SchemaCheck::kSpread.count())));
    check.listed(kube::kSriovResourcePolicies);
    check.listed(kube::kSriovResourcePolicies);
    if (part > 0) {
      scheduler.advance(wait - 1ms);
      EXPECT_EQ(cluster.count("schema"), before);
    }
    scheduler.advance(1s);
    EXPECT_EQ(cluster.count("schema"), before + 1);
    scheduler.advance(10min);
    EXPECT_EQ(cluster.count("schema"), before + 1);
  }
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
