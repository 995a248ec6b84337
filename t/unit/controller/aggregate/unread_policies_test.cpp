#include "controller/aggregate/unread_policies.h"

#include <gtest/gtest.h>

#include <optional>

#include "controller/aggregate/aggregator.h"
#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::aggregate {
namespace unread_policies_test {

using namespace std::chrono_literals;

struct UnreadPoliciesTest : testing::Test {
  UnreadPoliciesTest() {
    for (const auto* kind :
         {&kube::kSriovResourcePolicies, &kube::kDeviceExposurePolicies, &kube::kNodeDeviceReports})
      cluster.install(*kind);
    cluster.applies_status = true;
    put_policy("ours", "p");
    put_report("n1", {"ours"});
  }
  void put_policy(const std::string& namespace_, const std::string& name) {
    cluster.put(kube::kSriovResourcePolicies, kube::decode_yaml("metadata: {name: " + name + ", namespace: " +
                                                                namespace_ + "}\nspec: {configs: [{}]}\n")
                                                  .documents.at(0));
  }
  void put_report(const std::string& node, const std::vector<std::string>& namespaces) {
    reports::NodeReport report{.node = node};
    for (const std::string& one : namespaces)
      report.policies.push_back({{"SriovResourcePolicy", one, "p"}, 1, "expose", 4, 4, {}, "", 0});
    cluster.put(kube::kNodeDeviceReports, json_of(report));
  }
  void start() {
    aggregator.emplace(
        kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
        Aggregator::Settings{
            .namespace_ = "ours", .now = [] { return "2026-11-21T00:17:41Z"; }, .version = "0.2.0"});
    aggregator->start();
    scheduler.advance(5s);
  }
  size_t warned() const { return log.count("policy without effect: no daemon reads its namespace"); }
  // Bodies of Events that were created.
  std::vector<std::string> events() const {
    std::vector<std::string> out;
    for (const auto& request : cluster.writes())
      if (request.plural == kube::kEvents.plural && request.verb == "create")
        out.push_back(kube::encode_json(request.body));
    return out;
  }
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<Aggregator> aggregator;
};

TEST_F(UnreadPoliciesTest, ReportsAPolicyInAnUnreadNamespaceOnce) {
  put_policy("theirs", "lost");
  start();
  scheduler.advance(50s);
  EXPECT_EQ(warned(), 0u) << "its daemons may be starting";
  scheduler.advance(20s);
  EXPECT_EQ(warned(), 1u) << log.all();
  ASSERT_EQ(events().size(), 1u);
  const std::string event = events().front();
  for (const char* words :
       {"\"reason\":\"PolicyNamespaceNotRead\"", "\"namespace\":\"theirs\"", "\"name\":\"lost\"",
        "\"kind\":\"SriovResourcePolicy\"",
        "no daemon reads policies of namespace theirs, so this one has no effect; the daemons of "
        "this release read namespace ours (--namespace): move the policy there"})
    EXPECT_NE(event.find(words), std::string::npos) << words << " in " << event;
  EXPECT_EQ(aggregator->unread_policies(), 1u);
  put_report("n1", {"ours"});
  put_policy("theirs", "lost");
  scheduler.advance(30min);
  EXPECT_EQ(warned(), 1u) << "what lasts is said once";
  EXPECT_EQ(events().size(), 1u);
  cluster.remove(kube::kSriovResourcePolicies, "lost", "theirs");
  scheduler.advance(10s);
  EXPECT_EQ(aggregator->unread_policies(), 0u);
}

// Red when the policies of a second release, with its own daemons and namespace, are reported as without effect.
TEST_F(UnreadPoliciesTest, TreatsANamespaceInReportsAsRead) {
  put_policy("others", "p");
  put_policy("others", "selects-no-node");
  put_report("n2", {"others"});
  start();
  scheduler.advance(10min);
  EXPECT_EQ(warned(), 0u) << log.all();
  put_report("n2", {});
  scheduler.advance(50s);
  EXPECT_EQ(warned(), 0u);
  scheduler.advance(20s);
  EXPECT_EQ(warned(), 2u) << log.all();
  put_report("n2", {"others"});
  scheduler.advance(10s);
  EXPECT_EQ(aggregator->unread_policies(), 0u);
}

// Red when it is reported before reports are known, as after an election.
TEST_F(UnreadPoliciesTest, ConcludesNothingBeforeReportsAreListed) {
  put_policy("others", "p");
  put_report("n2", {"others"});
  cluster.deny("nodedevicereports");
  start();
  scheduler.advance(10min);
  EXPECT_EQ(warned(), 0u) << log.all();
}

// Red when many policies flood the log or the API server.
TEST_F(UnreadPoliciesTest, BoundsTheReport) {
  for (int i = 0; i < 200; ++i) put_policy("theirs", "p" + std::to_string(i));
  start();
  scheduler.advance(10min);
  EXPECT_EQ(warned(), UnreadPolicies::kReportedMax);
  EXPECT_LE(events().size(), UnreadPolicies::kReportedMax);
}

}  // namespace unread_policies_test
}  // namespace sliced::aggregate
