#include "daemon/reports/event_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reports {
namespace event_writer_test {

using namespace std::chrono_literals;

const PolicyRef kPolicy{"SriovResourcePolicy", "ns", "p"};

struct EventWriterTest : testing::Test {
  EventWriterTest() {
    cluster.install(kube::kEvents);
    make();
  }
  void make(std::optional<EventWriter>& made, const std::string& node) {
    made.emplace(kube::ClusterPorts{cluster, scheduler, log, [] { return 0.5; }},
                 EventWriter::Settings{
                     node, [] { return "uid-a"; }, [this](const PolicyRef&) { return policy_uid; },
                     [this] { return "t" + std::to_string(scheduler.now().time_since_epoch().count()); }});
    made->permit(true);
  }
  void make() { make(writer, "a"); }
  void look(const ReportedEvents& now, Millis after = 1s) {
    writer->look(now);
    scheduler.advance(after);
  }
  static ReportedEvent bad(const std::string& note = "spec.x: bad") {
    return {"PolicyNotUsedAsWritten", kPolicy, "", note};
  }
  static ReportedEvent held(const std::string& what) { return {"DevicesHeldBack", kPolicy, what, what}; }
  size_t creates() const { return cluster.count("create", "events"); }

  std::string policy_uid = "uid-p";
  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<EventWriter> writer;
};

TEST_F(EventWriterTest, BelongsToThePolicyAndItsNamespace) {
  look({bad()});
  const auto all = cluster.objects(kube::kEvents);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].find("metadata")->text("namespace"), "ns");
  EXPECT_EQ(all[0].find("regarding")->text("uid"), "uid-p");
  EXPECT_EQ(all[0].text("note"), "a: spec.x: bad");
  look({bad(), {"DeviceWithdrawnInUse", {}, "0000:3b:02.0", "it"}});
  const auto more = cluster.objects(kube::kEvents);
  ASSERT_EQ(more.size(), 2u);
  EXPECT_EQ(more[0].find("metadata")->text("namespace"), "default") << "of a Node";
  EXPECT_EQ(more[0].find("regarding")->text("kind"), "Node");
  EXPECT_EQ(more[0].text("note"), "it") << "the Node's own name is not repeated";
}

// Red when the Event of a pod is not found by `kubectl describe pod`, or takes the room of policies.
TEST_F(EventWriterTest, PodEventsHaveTheirNamespaceAndLimit) {
  ReportedEvents all;
  for (int i = 0; i < 30; ++i)
    all.push_back({"ConfigurationIgnored", {kPodKind, "apps", "pod-" + std::to_string(i)}, "", "it"});
  look(all);
  EXPECT_EQ(creates(), 10u);
  const auto made = cluster.objects(kube::kEvents);
  EXPECT_EQ(made[0].find("metadata")->text("namespace"), "apps");
  EXPECT_EQ(made[0].find("regarding")->text("kind"), "Pod");
  EXPECT_EQ(made[0].find("regarding")->text("apiVersion"), "v1");
  EXPECT_EQ(made[0].find("regarding")->text("uid"), "uid-p");
  EXPECT_EQ(made[0].text("action"), "Prepare");
  EXPECT_EQ(made[0].text("note"), "a: it");
  all.push_back(bad());
  look(all);
  EXPECT_EQ(creates(), 11u);
}

// Red when a lasting condition is reported at each round.
TEST_F(EventWriterTest, WritesOneEventForALastingCondition) {
  for (int i = 0; i < 100; ++i) look({bad("reason " + std::to_string(i))}, 1min);
  EXPECT_EQ(cluster.writes().size(), 1u);
}

TEST_F(EventWriterTest, WritesASeriesForAReturningCondition) {
  for (int i = 0; i < 5; ++i) {
    look({bad()}, 1min);
    look({}, 1min);
  }
  scheduler.advance(10min);
  EXPECT_EQ(creates(), 1u);
  const auto all = cluster.objects(kube::kEvents);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_NE(all[0].find({"series", "count"}), nullptr);
  EXPECT_EQ(*all[0].find({"series", "count"})->integer(), 5);
  EXPECT_LE(cluster.count("patch", "events"), 3u) << "at most one in six minutes";
}

// Red when each start reports an old condition as new.
TEST_F(EventWriterTest, ContinuesTheSeriesAfterARestart) {
  look({bad()});
  make();
  look({bad()}, 1min);
  EXPECT_EQ(cluster.objects(kube::kEvents).size(), 1u);
  EXPECT_EQ(*cluster.objects(kube::kEvents)[0].find({"series", "count"})->integer(), 2);
}

TEST_F(EventWriterTest, BoundsEventsPerHour) {
  for (int i = 0; i < 600; ++i)
    look({held("w" + std::to_string(i % 200)), held("v" + std::to_string(i % 177))}, 12s);
  EXPECT_LE(cluster.writes().size(), 10u + 60u + 1u) << "in two hours";
  EXPECT_GT(writer->counters().left_out, 100u);
}

// Red when whoever writes policies that are wrong, each minute another one, keeps the Node from being told of.
TEST_F(EventWriterTest, PolicyEventsDoNotUseTheNodesLimit) {
  for (int i = 0; i < 600; ++i) {
    ReportedEvents now;
    for (int j = 0; j < 25; ++j)
      now.push_back({"PolicyNotUsedAsWritten", kPolicy, std::to_string(i * 25 + j), "bad"});
    look(now, 12s);
  }
  const size_t before = creates();
  look({{"DeviceWithdrawnInUse", {}, "0000:3b:02.0", "it"}});
  EXPECT_EQ(creates(), before + 1);
  const auto all = cluster.objects(kube::kEvents);
  EXPECT_TRUE(std::ranges::any_of(all, [](const kube::Json& one) { return one.text("note") == "it"; }));
}

// Red when 5,000 nodes that find the same problem of a policy make 5,000 Events of it.
TEST_F(EventWriterTest, TheFirstNodeWritesAnEventOfTheFleet) {
  ReportedEvent everywhere = bad();
  everywhere.is_of_fleet = true;
  std::vector<std::optional<EventWriter>> nodes(50);
  for (size_t i = 0; i < nodes.size(); ++i) make(nodes[i], "n" + std::to_string(i));
  for (auto& node : nodes) node->look({everywhere});  // all at the same time
  scheduler.advance(1min);
  const auto all = cluster.objects(kube::kEvents);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].find("series"), nullptr) << "it is not a series, but for who has told it";
  cluster.log.clear();
  make(writer, "late");
  look({everywhere}, 10min);
  EXPECT_EQ(cluster.writes().size(), 0u) << "it reads that it is there";
  EXPECT_EQ(cluster.count("get", "events"), 1u);
  for (auto& node : nodes) node->look({});
  scheduler.advance(1min);
  for (auto& node : nodes) node->look({everywhere});
  scheduler.advance(10min);
  EXPECT_EQ(cluster.writes().size(), 1u) << "again, by the first";
  EXPECT_EQ(*cluster.objects(kube::kEvents).at(0).find({"series", "count"})->integer(), 2);
}

// Red when the Event of a deleted policy counts for its successor, whose generations restart.
TEST_F(EventWriterTest, ARecreatedPolicyIsAnother) {
  ReportedEvent everywhere = bad();
  everywhere.is_of_fleet = true;
  look({everywhere});
  policy_uid = "uid-of-the-next";
  std::optional<EventWriter> other;
  make(other, "b");
  other->look({everywhere});
  scheduler.advance(1s);
  EXPECT_EQ(cluster.objects(kube::kEvents).size(), 2u);
}

// Red when reading the Events of others uses up the limit for this node's Events.
TEST_F(EventWriterTest, EventsOfOthersDoNotUseTheLimit) {
  ReportedEvents all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(
        {"PolicyNotUsedAsWritten", {"SriovResourcePolicy", "ns", std::to_string(i)}, "", "bad", true});
  }
  std::optional<EventWriter> other;
  make(other, "b");
  other->look(all);
  scheduler.advance(1s);
  all.push_back(held("it"));
  look(all);
  EXPECT_EQ(cluster.objects(kube::kEvents).size(), 11u);
  EXPECT_EQ(writer->counters().left_out, 0u);
}

TEST_F(EventWriterTest, AFleetEventBelongsToItsNodeAfterARestart) {
  ReportedEvent everywhere = bad();
  everywhere.is_of_fleet = true;
  look({everywhere});
  make();
  look({everywhere}, 1min);
  EXPECT_EQ(cluster.objects(kube::kEvents).size(), 1u);
  EXPECT_EQ(*cluster.objects(kube::kEvents)[0].find({"series", "count"})->integer(), 2);
}

TEST_F(EventWriterTest, ContinuesASeriesWithAnExcessiveCount) {
  look({bad()});
  kube::Json event = cluster.objects(kube::kEvents).at(0);
  event.set("series", *kube::decode_json(R"({"count":9223372036854775807,"lastObservedTime":"t"})"));
  cluster.put(kube::kEvents, event);
  make();
  look({bad()}, 1min);
  EXPECT_EQ(*cluster.objects(kube::kEvents)[0].find({"series", "count"})->integer(), INT32_MAX);
}

// Red when a long name is cut where no name may end: the server would refuse the Event.
TEST_F(EventWriterTest, ShortensALongName) {
  for (const char* end : {".", "-"}) {
    ReportedEvent one = bad();
    one.policy.name = std::string(199, 'x') + end + "rest";
    look({one});
  }
  const auto all = cluster.objects(kube::kEvents);
  ASSERT_EQ(all.size(), 2u);
  for (const kube::Json& event : all) {
    const std::string_view name = event.find("metadata")->text("name");
    EXPECT_EQ(name.find("-."), std::string_view::npos) << name;
    EXPECT_EQ(name.find(".."), std::string_view::npos) << name;
  }
}

TEST_F(EventWriterTest, StopsWithoutPermission) {
  for (int i = 0; i < 2; ++i) {
    look({bad()}, 1min);
    look({}, 1min);
  }
  writer->permit(false);
  cluster.log.clear();
  scheduler.advance(1h);
  EXPECT_EQ(cluster.writes().size(), 0u);
}

TEST_F(EventWriterTest, CountsAndLogsFailures) {
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.plural != "events") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "create: forbidden"};
  };
  for (int i = 0; i < 100; ++i) look({held(std::to_string(i))}, 1min);
  EXPECT_EQ(log.count("Kubernetes Event not written"), 1u);
  EXPECT_EQ(writer->counters().failed, cluster.count("create", "events"));
  EXPECT_LE(cluster.count("create", "events"), 61u);
}

TEST_F(EventWriterTest, WritesNothingWithoutPermission) {
  writer->permit(false);
  look({bad()}, 1min);
  EXPECT_EQ(cluster.writes().size(), 0u);
  writer->permit(true);
  look({bad()}, 1min);
  EXPECT_EQ(creates(), 1u);
}

}  // namespace event_writer_test
}  // namespace sliced::reports
