#include "reports/event_writer.h"

#include <gtest/gtest.h>

#include "kube/kinds.h"
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
  void make() {
    writer.emplace(kube::Ports{cluster, scheduler, log, [] { return 0.5; }},
                   EventWriter::Settings{
                       "a", [] { return "uid-a"; }, [](const PolicyRef&) { return "uid-p"; },
                       [this] { return "t" + std::to_string(scheduler.now().time_since_epoch().count()); }});
    writer->permit(true);
  }
  void look(const Happenings& now, Millis after = 1s) {
    writer->look(now);
    scheduler.advance(after);
  }
  static Happening bad(const std::string& note = "spec.x: bad") {
    return {"PolicyNotUsedAsWritten", kPolicy, "", note};
  }
  static Happening held(const std::string& what) { return {"DevicesHeldBack", kPolicy, what, what}; }
  size_t creates() const { return cluster.count("create", "events"); }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  std::optional<EventWriter> writer;
};

TEST_F(EventWriterTest, IsOfThePolicyAndInItsNamespace) {
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
}

// Red when what lasts is told again with each look.
TEST_F(EventWriterTest, WhatLastsIsToldOnce) {
  for (int i = 0; i < 100; ++i) look({bad("reason " + std::to_string(i))}, 1min);
  EXPECT_EQ(cluster.writes().size(), 1u);
}

TEST_F(EventWriterTest, WhatComesAgainIsASeries) {
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

// Red when each start tells of the same as if it were new.
TEST_F(EventWriterTest, ARestartGoesOnWithTheSeries) {
  look({bad()});
  make();
  look({bad()}, 1min);
  EXPECT_EQ(cluster.objects(kube::kEvents).size(), 1u);
  EXPECT_EQ(*cluster.objects(kube::kEvents)[0].find({"series", "count"})->integer(), 2);
}

TEST_F(EventWriterTest, AtMostSixtyAnHourBesideTheFirstTwenty) {
  for (int i = 0; i < 600; ++i)
    look({held("w" + std::to_string(i % 200)), held("v" + std::to_string(i % 177))}, 12s);
  EXPECT_LE(cluster.writes().size(), 20u + 120u + 1u) << "in two hours";
  EXPECT_GT(writer->counters().left_out, 100u);
}

TEST_F(EventWriterTest, FailureIsACountAndALine) {
  cluster.on_request = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.plural != "events") return std::nullopt;
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "create: forbidden"};
  };
  for (int i = 0; i < 100; ++i) look({held(std::to_string(i))}, 1min);
  EXPECT_EQ(log.count("an event was not written"), 1u);
  EXPECT_EQ(writer->counters().failed, cluster.count("create", "events"));
  EXPECT_LE(cluster.count("create", "events"), 121u);
}

TEST_F(EventWriterTest, NothingIsToldWithoutPermission) {
  writer->permit(false);
  look({bad()}, 1min);
  EXPECT_EQ(cluster.writes().size(), 0u);
  writer->permit(true);
  look({bad()}, 1min);
  EXPECT_EQ(creates(), 1u);
}

}  // namespace event_writer_test
}  // namespace sliced::reports
