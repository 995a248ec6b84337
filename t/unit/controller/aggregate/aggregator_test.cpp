#include "controller/aggregate/aggregator.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::aggregate {
namespace aggregator_test {

using namespace std::chrono_literals;

struct AggregatorTest : testing::Test {
  AggregatorTest() {
    for (const auto* kind :
         {&kube::kSriovResourcePolicies, &kube::kDeviceExposurePolicies, &kube::kNodeDeviceReports})
      cluster.install(*kind);
    cluster.applies_status = true;
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
    reports::NodeReport report{.node = "n" + std::to_string(node)};
    for (const std::string& name : policies)
      report.policies.push_back({{"SriovResourcePolicy", "ns", name}, 1, "expose", 4, offered, {}, "", 0});
    cluster.put(kube::kNodeDeviceReports, json_of(report));
  }
  void refuse(const std::string& policy) {
    cluster.on_request = [policy](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.verb != "apply" || request.name != policy) return std::nullopt;
      return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "apply: forbidden"};
    };
  }
  void start() {
    aggregator.emplace(
        kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
        Aggregator::Settings{.namespace_ = "ns",
                             .now =
                                 [this] {
                                   if (const std::function<void()> meanwhile = on_round) meanwhile();
                                   return std::to_string(scheduler.now().time_since_epoch().count());
                                 },
                             .version = "0.2.0",
                             .reports_per_turn = reports_per_turn,
                             .policies_per_turn = policies_per_turn});
    aggregator->start();
    scheduler.advance(5s);
  }
  // As another one, of 99 nodes and so many devices.
  void write_as(const Writer& writer, int64_t offered) {
    PolicyStatus status = this->status();
    status.writer = writer;
    status.observed_generation = 1, status.nodes_selected = 99, status.devices_offered = offered;
    auto policy = *cluster.object(kube::kSriovResourcePolicies, "p", "ns");
    policy.set("status", *json_of(status).find("status"));
    cluster.put(kube::kSriovResourcePolicies, policy);
  }
  size_t writes() const { return cluster.count("apply"); }
  PolicyStatus status(const std::string& name = "p") const {
    const auto object = cluster.object(kube::kSriovResourcePolicies, name, "ns");
    return object ? decode_policy_status(*object) : PolicyStatus{};
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  size_t reports_per_turn = 20'000, policies_per_turn = 500;
  std::function<void()> on_round;  // when a sum begins
  std::optional<Aggregator> aggregator;
};

TEST_F(AggregatorTest, WritesTheSummaryOfTheNodes) {
  start();
  EXPECT_EQ(status().nodes_selected, 3);
  EXPECT_EQ(status().devices_offered, 12);
  EXPECT_EQ(writes(), 1u);
  scheduler.advance(10min);
  EXPECT_EQ(writes(), 1u);
}

// Red when the next elected leader writes everything again.
TEST_F(AggregatorTest, ASuccessorDoesNotRewriteEqualStatuses) {
  start();
  const size_t before = writes();
  start();
  scheduler.advance(1min);
  EXPECT_EQ(writes(), before);
}

TEST_F(AggregatorTest, WritesAPolicyAtMostOnceInTenSeconds) {
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
TEST_F(AggregatorTest, WritesNothingBeforeInitialLists) {
  cluster.deny("nodedevicereports");
  start();
  scheduler.advance(1min);
  EXPECT_EQ(writes(), 0u);
  cluster.allow("nodedevicereports");
  scheduler.advance(2min);
  EXPECT_EQ(status().nodes_selected, 3);
}

TEST_F(AggregatorTest, AFailingPolicyDelaysNoOther) {
  put_policy("a-bad", "{configs: [{}]}");
  refuse("a-bad");
  start();
  scheduler.advance(30s);
  EXPECT_EQ(status().nodes_selected, 3);
  scheduler.advance(1h);
  EXPECT_LE(cluster.count("apply"), 40u);
  EXPECT_EQ(log.count("policy status not written: will retry"), 1u) << log.all();
}

// Red when a write that is due together with one that has failed for long waits as long as that one.
TEST_F(AggregatorTest, OtherPoliciesDoNotWaitForOneWhoseWriteFails) {
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
TEST_F(AggregatorTest, WritesEachOfManyChangingPolicies) {
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
    if (request.verb == "apply") ++written[request.name];
  for (const std::string& name : names) {
    EXPECT_GE(written[name], 2) << name;
    EXPECT_LE(written[name], 13) << name;
  }
}

TEST_F(AggregatorTest, HonoursRetryAfter) {
  for (int i = 0; i < 50; ++i) put_policy("q" + std::to_string(i), "{configs: [{}]}");
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "apply") return std::nullopt;
    return kube::Failure{.code = Errc::kBusy, .http_status = 429, .what = "apply: busy", .retry_after = 30s};
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

TEST_F(AggregatorTest, ReportsItsMissingSources) {
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

// Red when a status is written as a whole: the fake server, as the real one, then has the list as it was sent.
TEST_F(AggregatorTest, StatusFieldsOfOtherWritersStay) {
  auto policy = *cluster.object(kube::kSriovResourcePolicies, "p", "ns");
  policy.set("status", *kube::decode_json(R"({"conditions":[
      {"type":"Approved","status":"True","reason":"Looked","message":"by hand"},
      {"type":"Conflict","status":"True","reason":"Mine","message":"another's"}],"reviewedBy":"somebody"})"));
  cluster.put(kube::kSriovResourcePolicies, policy);
  const auto others = [&] {
    const auto now = *cluster.object(kube::kSriovResourcePolicies, "p", "ns");
    std::string out(now.find("status")->text("reviewedBy"));
    for (const kube::Json& one : *now.find({"status", "conditions"})->array())
      out += " " + std::string(one.text("type")) + "=" + std::string(one.text("reason"));
    return out;
  };
  start();
  EXPECT_EQ(others(),
            "somebody Approved=Looked Conflict=None Accepted=Understood NotUsedAsWritten=AsWritten");
  put_report(0, 1);
  scheduler.advance(15s);
  EXPECT_EQ(status().devices_offered, 9);
  EXPECT_EQ(others(),
            "somebody Approved=Looked Conflict=None Accepted=Understood NotUsedAsWritten=AsWritten");
}

TEST_F(AggregatorTest, SumsUpInSteps) {
  reports_per_turn = 2, policies_per_turn = 1;
  for (int i = 0; i < 5; ++i) put_policy("q" + std::to_string(i), "{configs: [{}]}");
  for (int i = 3; i < 40; ++i) put_report(i, 1, {"p", "q4"});
  start();
  EXPECT_EQ(status().nodes_selected, 40);
  EXPECT_EQ(status("q4").devices_offered, 37);
  EXPECT_EQ(status("q3").observed_generation, 1);
  EXPECT_EQ(aggregator->nodes(), 40u);
  EXPECT_EQ(aggregator->policies().at("SriovResourcePolicy"), 6u);
}

// Red when what changes while it is summed up, of a node that has had its turn, is told with the next change only.
TEST_F(AggregatorTest, WritesAChangeThatArrivesDuringAWrite) {
  reports_per_turn = 1, policies_per_turn = 1;
  cluster.latency = 0ms;
  start();
  scheduler.advance(15s);
  const size_t before = writes();
  on_round = [&] {
    on_round = {};
    put_report(0, 1);  // heard of between the first portion and the second
  };
  reports::NodeReport same{.node = "n1", .daemon_version = "0.3.0"};
  same.policies.push_back({{"SriovResourcePolicy", "ns", "p"}, 1, "expose", 4, 4, {}, "", 0});
  cluster.put(kube::kNodeDeviceReports, json_of(same));
  scheduler.advance(15s);
  EXPECT_FALSE(on_round);
  EXPECT_EQ(status().devices_offered, 1 + 4 + 4);
  EXPECT_EQ(writes(), before + 1);
}

// Red when a status that a newer version has written is overwritten as soon as it differs.
TEST_F(AggregatorTest, KeepsTheStatusOfANewerVersionForAWhile) {
  write_as({"0.3.0", "z"}, 1);
  start();
  scheduler.advance(280s);
  EXPECT_EQ(writes(), 0u);
  EXPECT_EQ(aggregator->yielded(), 1u);
  scheduler.advance(30s);
  EXPECT_EQ(writes(), 1u) << "it is not there any more";
  EXPECT_EQ(log.count("policy status taken over"), 1u) << log.all();
  EXPECT_EQ(status().devices_offered, 12);
  EXPECT_EQ(status().writer, (Writer{"0.2.0", "ns"}));
}

TEST_F(AggregatorTest, LeavesAnActiveNewerWriterAlone) {
  write_as({"0.3.0", "z"}, 1);
  start();
  for (int i = 0; i < 60; ++i) {
    write_as({"0.3.0", "z"}, 2 + i);
    scheduler.advance(1min);
  }
  EXPECT_EQ(writes(), 0u);
}

// Red when two that disagree write in turns for ever: each time it is back it is given twice as long.
TEST_F(AggregatorTest, SlowsDownADispute) {
  start();
  cluster.log.clear();
  for (int minutes = 0; minutes < 24 * 60; ++minutes) {
    if (status().nodes_selected != 99) write_as({"0.3.0", "z"}, 1);
    scheduler.advance(1min);
  }
  EXPECT_LE(writes(), 9u) << "after 5, 10, 20, ... min";
  EXPECT_GE(writes(), 4u);
}

TEST_F(AggregatorTest, TheStatusOfAnOlderVersionIsReplacedImmediately) {
  for (const Writer& writer : {Writer{"0.1.9", "a"}, Writer{"0.2.0", "o"}, Writer{}}) {
    write_as(writer, 1);
    start();
    scheduler.advance(15s);
    EXPECT_EQ(status().writer, (Writer{"0.2.0", "ns"})) << writer.version;
    EXPECT_EQ(status().devices_offered, 12);
  }
}

// Of two of one version the namespace decides, so that they agree who waits.
TEST_F(AggregatorTest, PrefersTheFirstNamespaceOfEqualVersions) {
  write_as({"0.2.0", "a"}, 1);
  start();
  scheduler.advance(4min);
  EXPECT_EQ(writes(), 0u);
}

// The watch tells of both before our answer comes. Red when the answer counts for more: what another one has written would
// stand until something else changes.
TEST_F(AggregatorTest, DetectsAForeignWriteBeforeItsOwnAnswer) {
  bool is_first = true;
  cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "apply" && std::exchange(is_first, false)) write_as({"0.1.9", "a"}, 1);
    return std::nullopt;
  };
  start();
  ASSERT_FALSE(is_first);
  EXPECT_EQ(status().devices_offered, 1);
  scheduler.advance(15s);
  EXPECT_EQ(status().devices_offered, 12);
}

TEST_F(AggregatorTest, CountsItsActions) {
  put_policy("a-bad", "{configs: [{}]}");
  refuse("a-bad");
  std::vector<size_t> pending;  // while the answer is under way
  cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb == "apply") pending.push_back(aggregator->pending());
    return std::nullopt;
  };
  start();
  EXPECT_EQ(pending, std::vector<size_t>{1});
  EXPECT_EQ(aggregator->counters().written, 1u);
  EXPECT_EQ(aggregator->counters().failed, 1u);
  EXPECT_GE(aggregator->counters().sums, 1u);
  EXPECT_EQ(aggregator->nodes(), 3u);
  EXPECT_EQ(aggregator->pending(), 0u);
}

TEST_F(AggregatorTest, ForgetsADeletedNode) {
  start();
  cluster.remove(kube::kNodeDeviceReports, "n1");
  scheduler.advance(15s);
  EXPECT_EQ(status().nodes_selected, 2);
}

}  // namespace aggregator_test
}  // namespace sliced::aggregate
