#include "reports/aggregator.h"

#include <gtest/gtest.h>

#include <optional>

#include "kube/kinds.h"
#include "kube/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reports {
namespace aggregator_test {

using namespace std::chrono_literals;

struct AggregatorTest : testing::Test {
  AggregatorTest() {
    for (const auto* kind :
         {&kube::kSriovResourcePolicies, &kube::kDeviceExposurePolicies, &kube::kNodeDeviceReports})
      cluster.install(*kind);
    put_policy("p", "{configs: [{}]}");
    for (int i = 0; i < 3; ++i) put_report(i, 4);
  }
  void put_policy(const std::string& name, const std::string& spec) {
    cluster.put(kube::kSriovResourcePolicies,
                kube::decode_yaml("metadata: {name: " + name +
                                  ", namespace: ns, generation: 1}\nspec: " + spec + "\n")
                    .documents.at(0));
  }
  void put_report(int node, int64_t offered) {
    NodeReport report{.node = "n" + std::to_string(node)};
    report.policies = {{{"SriovResourcePolicy", "ns", "p"}, 1, "expose", 4, offered, {}, "", 0}};
    cluster.put(kube::kNodeDeviceReports, json_of(report));
  }
  void start() {
    aggregator.emplace(
        kube::Ports{cluster, scheduler, log, [] { return 0.5; }},
        Aggregator::Settings{"ns",
                             [this] { return std::to_string(scheduler.now().time_since_epoch().count()); }});
    aggregator->start();
    scheduler.advance(5s);
  }
  size_t writes() const { return cluster.count("patch"); }
  PolicyStatus status(const std::string& name = "p") const {
    const auto object = cluster.object(kube::kSriovResourcePolicies, name, "ns");
    return object ? decode_policy_status(*object) : PolicyStatus{};
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<Aggregator> aggregator;
};

TEST_F(AggregatorTest, WritesWhatTheNodesSay) {
  start();
  EXPECT_EQ(status().nodes_selected, 3);
  EXPECT_EQ(status().devices_offered, 12);
  EXPECT_EQ(writes(), 1u);
  scheduler.advance(10min);
  EXPECT_EQ(writes(), 1u);
}

// Red when whoever is elected next writes everything once more.
TEST_F(AggregatorTest, ASuccessorWritesNothingThatStands) {
  start();
  const size_t before = writes();
  start();
  scheduler.advance(1min);
  EXPECT_EQ(writes(), before);
}

TEST_F(AggregatorTest, AtMostOneWriteOfAPolicyInTenSeconds) {
  start();
  cluster.log.clear();
  for (int i = 0; i < 300; ++i) {
    put_report(i % 3, i / 7);
    scheduler.advance(200ms);
  }
  EXPECT_LE(writes(), 7u);
  EXPECT_GE(writes(), 4u) << status().devices_offered << " " << log.all();
  put_report(0, 1), put_report(1, 1), put_report(2, 1);
  scheduler.advance(15s);
  EXPECT_EQ(status().devices_offered, 3);
}

// A list that is not whole would tell 0 nodes.
TEST_F(AggregatorTest, NothingIsWrittenBeforeAllIsListed) {
  cluster.deny("nodedevicereports");
  start();
  scheduler.advance(1min);
  EXPECT_EQ(writes(), 0u);
  cluster.allow("nodedevicereports");
  scheduler.advance(2min);
  EXPECT_EQ(status().nodes_selected, 3);
}

TEST_F(AggregatorTest, APolicyThatFailsHoldsUpNoOther) {
  put_policy("a-bad", "{configs: [{}]}");
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "patch" || request.name != "a-bad") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "patch: forbidden"};
  };
  start();
  scheduler.advance(30s);
  EXPECT_EQ(status().nodes_selected, 3);
  scheduler.advance(1h);
  EXPECT_LE(cluster.count("patch"), 40u);
  EXPECT_EQ(log.count("the status of a policy was not written"), 1u) << log.all();
}

TEST_F(AggregatorTest, ANodeThatIsGoneCountsNoMore) {
  start();
  cluster.remove(kube::kNodeDeviceReports, "n1");
  scheduler.advance(15s);
  EXPECT_EQ(status().nodes_selected, 2);
}

}  // namespace aggregator_test
}  // namespace sliced::reports
