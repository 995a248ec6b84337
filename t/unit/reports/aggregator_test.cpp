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
  void put_report(int node, int64_t offered, const std::vector<std::string>& policies = {"p"}) {
    NodeReport report{.node = "n" + std::to_string(node)};
    for (const std::string& name : policies)
      report.policies.push_back({{"SriovResourcePolicy", "ns", name}, 1, "expose", 4, offered, {}, "", 0});
    cluster.put(kube::kNodeDeviceReports, json_of(report));
  }
  void refuse(const std::string& policy) {
    cluster.on_request = [policy](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != "patch" || request.name != policy) return std::nullopt;
      return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "patch: forbidden"};
    };
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
  refuse("a-bad");
  start();
  scheduler.advance(30s);
  EXPECT_EQ(status().nodes_selected, 3);
  scheduler.advance(1h);
  EXPECT_LE(cluster.count("patch"), 40u);
  EXPECT_EQ(log.count("the status of a policy was not written"), 1u) << log.all();
}

// Red when what is due together with one that has failed for long waits as long as that does.
TEST_F(AggregatorTest, WhatIsDueWithAPolicyThatFailsDoesNotWaitForIt) {
  put_policy("a-bad", "{configs: [{}]}");
  refuse("a-bad");
  start();
  scheduler.advance(1h);
  for (const size_t before = writes(); writes() == before;) scheduler.advance(100ms);
  scheduler.advance(374'500ms);  // the longest wait, but for half a second
  put_report(0, 1);
  scheduler.advance(20s);
  EXPECT_EQ(status().devices_offered, 9);
}

// Red when the first of many that change all the time are written again before the last of them.
TEST_F(AggregatorTest, OfManyThatChangeAllTheTimeEachIsWritten) {
  std::vector<std::string> names;
  for (int i = 10; i < 70; ++i) put_policy(names.emplace_back("p" + std::to_string(i)), "{configs: [{}]}");
  cluster.latency = 400ms;
  start();
  cluster.log.clear();
  for (int i = 0; i < 120; ++i) {
    put_report(i % 3, i, names);
    scheduler.advance(1s);
  }
  std::map<std::string, int> written;
  for (const fake::Request& request : cluster.log)
    if (request.verb == "patch") ++written[request.name];
  for (const std::string& name : names) {
    EXPECT_GE(written[name], 2) << name;
    EXPECT_LE(written[name], 13) << name;
  }
}

TEST_F(AggregatorTest, ABusyServerIsAskedWhenItWantsToBe) {
  for (int i = 0; i < 50; ++i) put_policy("q" + std::to_string(i), "{configs: [{}]}");
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "patch") return std::nullopt;
    return kube::Failure{.code = Errc::kBusy, .http_status = 429, .what = "patch: busy", .retry_after = 30s};
  };
  start();
  for (int i = 0; i < 600; ++i) {
    put_report(i % 3, i);  // each would be looked at
    scheduler.advance(1s);
  }
  EXPECT_LE(writes(), 21u);
  EXPECT_GE(writes(), 3u);
  cluster.on_request = {};
  scheduler.advance(10min);
  EXPECT_EQ(status("q49").observed_generation, 1);
}

TEST_F(AggregatorTest, SaysWhatItWaitsFor) {
  cluster.deny("nodedevicereports");
  start();
  EXPECT_EQ(aggregator->waits_for().find("nodedevicereports: "), 0u) << aggregator->waits_for();
  cluster.allow("nodedevicereports");
  scheduler.advance(2min);
  EXPECT_EQ(aggregator->waits_for(), "");
  cluster.uninstall(kube::kNodeDeviceReports);
  cluster.uninstall(kube::kDeviceExposurePolicies);
  scheduler.advance(10min);
  EXPECT_NE(aggregator->waits_for().find("not installed"), std::string::npos) << aggregator->waits_for();
  const size_t before = writes();
  scheduler.advance(10min);
  EXPECT_EQ(writes(), before) << "no nodes is not what nodes say";
  cluster.install(kube::kNodeDeviceReports);
  scheduler.advance(10min);
  EXPECT_EQ(aggregator->waits_for(), "") << "of policies none is an answer";
}

TEST_F(AggregatorTest, ANodeThatIsGoneCountsNoMore) {
  start();
  cluster.remove(kube::kNodeDeviceReports, "n1");
  scheduler.advance(15s);
  EXPECT_EQ(status().nodes_selected, 2);
}

}  // namespace aggregator_test
}  // namespace sliced::reports
