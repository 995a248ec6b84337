#include "daemon/reports/report_writer.h"

#include <gtest/gtest.h>

#include <utility>

#include "kube/objects/kinds.h"
#include "t/fake/fake_cluster.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/memory_log.h"

namespace sliced::reports {
namespace report_writer_test {

using namespace std::chrono_literals;
using kube::kNodeDeviceReports;

struct ReportWriterTest : testing::Test {
  ReportWriterTest() { report.offered = 4; }
  void install() { cluster.install(kNodeDeviceReports); }
  void start() {
    writer.emplace(kube::ClusterPorts{cluster, scheduler, log, [this] { return random; }}, "a",
                   ReportWriter::Node{.make =
                                          [this](auto on_made) {
                                            ++made;
                                            on_made(is_there ? std::optional(report) : std::nullopt);
                                          },
                                      .is_busy = [this] { return is_busy; }});
    writer->start();
    writer->permit(true);
    writer->mark();
  }
  void install_and_start() {
    install();
    start();
    scheduler.advance(30s);
  }
  size_t writes() const {
    size_t out = 0;
    for (const auto& write : cluster.writes()) out += write.plural == "nodedevicereports" ? 1 : 0;
    return out;
  }
  NodeReport held() const {
    const auto object = cluster.object(kNodeDeviceReports, "a");
    return object ? *decode_node_report(*object) : NodeReport{};
  }
  void change(int64_t offered) {
    report.offered = offered;
    writer->mark();
  }

  fake::FakeScheduler scheduler;
  fake::FakeCluster cluster{scheduler};
  fake::MemoryLog log;
  double random = 0.5;
  bool is_busy = false, is_there = true;
  size_t made = 0;
  NodeReport report{.node = "a", .node_uid = "uid-a", .daemon_version = "1"};
  std::optional<ReportWriter> writer;
};

TEST_F(ReportWriterTest, WritesTheReportOwnedByTheNode) {
  install_and_start();
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(held(), report);
  const auto object = cluster.object(kNodeDeviceReports, "a");
  const kube::Json* owners = object->find({"metadata", "ownerReferences"});
  ASSERT_NE(owners, nullptr);
  EXPECT_EQ(owners->array()->at(0).text("uid"), "uid-a");
  EXPECT_EQ(writer->counters().succeeded, 1u);
  EXPECT_TRUE(writer->is_settled());
}

// Red when a node stays marked as silent by an aggregate that is not there any more, or when it and the node overwrite each other.
TEST_F(ReportWriterTest, RemovesAMarkOfSilenceOnce) {
  install_and_start();
  const auto mark = [&] {
    NodeReport marked = held();
    marked.silent_since = "2026-11-21T00:10:10Z";
    cluster.put(kNodeDeviceReports,
                json_of(marked, *kube::decode_object_meta(*cluster.object(kNodeDeviceReports, "a"))));
    scheduler.advance(1min);
  };
  const size_t before = writes();
  mark();
  EXPECT_EQ(held().silent_since, "");
  EXPECT_EQ(writes(), before + 1);
  mark();
  EXPECT_NE(held().silent_since, "") << "whoever marks it, takes it back";
  EXPECT_EQ(writes(), before + 1);
  change(9);
  scheduler.advance(1min);
  EXPECT_EQ(held().silent_since, "") << "it is alive after all";
}

TEST_F(ReportWriterTest, KeepsForeignMetadata) {
  install_and_start();
  kube::Json object = *cluster.object(kNodeDeviceReports, "a");
  auto meta = *kube::decode_object_meta(object);
  meta.labels["backup"] = "yes";
  meta.annotations["note"] = "theirs";
  meta.finalizers = {"example.com/theirs"};
  meta.owner_references.push_back({.api_version = "v1", .kind = "ConfigMap", .name = "theirs", .uid = "u"});
  object.set("metadata", kube::encode_object_meta(meta));
  cluster.put(kNodeDeviceReports, object);
  change(7);
  scheduler.advance(60s);
  EXPECT_EQ(held().offered, 7);
  const auto now = *kube::decode_object_meta(*cluster.object(kNodeDeviceReports, "a"));
  EXPECT_EQ(now.labels, meta.labels);
  EXPECT_EQ(now.annotations, meta.annotations);
  EXPECT_EQ(now.finalizers, meta.finalizers);
  EXPECT_EQ(now.owner_references, meta.owner_references);
}

// Red when the report is sent without reading the stored one.
TEST_F(ReportWriterTest, AnUnchangedRestartWritesNothing) {
  report.last_change = {.time = "2026-11-21T00:17:41.296Z", .change = "offered"};
  install_and_start();
  report.last_change = {};  // the new process has seen none
  start();
  scheduler.advance(10min);
  EXPECT_GE(writer->counters().made, 1u) << "it was looked at";
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(held().last_change.change, "offered");
}

TEST_F(ReportWriterTest, DoesNotWriteAnEqualReportDuringARequest) {
  install_and_start();
  for (int i = 0; i < 100; ++i) {
    writer->mark();
    scheduler.advance(3s);
  }
  EXPECT_EQ(writes(), 1u);
}

TEST_F(ReportWriterTest, WritesAtMostOnceInTenSeconds) {
  random = 0;
  install_and_start();
  cluster.log.clear();
  for (int i = 0; i < 600; ++i) {
    change(100 + i);
    scheduler.advance(100ms);
  }
  const auto all = cluster.writes();
  EXPECT_GE(all.size(), 5u);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].at - all[i - 1].at, 10s);
  scheduler.advance(30s);
  EXPECT_EQ(held().offered, 699) << "and the last one stands in the end";
}

// So that a fleet that heard of one edit does not write within one second.
TEST_F(ReportWriterTest, SpreadsWritesOfAFleetOverTenSeconds) {
  install_and_start();
  random = 0.99;
  scheduler.advance(1min);
  change(9);
  scheduler.advance(9s);
  EXPECT_EQ(writes(), 1u);
  scheduler.advance(2s);
  EXPECT_EQ(writes(), 2u);
}

TEST_F(ReportWriterTest, WritesSlicesFirst) {
  install_and_start();
  scheduler.advance(30s);
  is_busy = true;
  const size_t made_before = made;
  change(9);
  scheduler.advance(25s);
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(made, made_before) << "not even looked at";
  is_busy = false;
  scheduler.advance(2s);
  EXPECT_EQ(writes(), 2u);
  is_busy = true;
  change(10);
  scheduler.advance(60s);
  EXPECT_EQ(writes(), 3u) << "slices that nobody takes do not hold it up for ever";
}

TEST_F(ReportWriterTest, WritesNothingWithoutPermission) {
  install();
  start();
  writer->permit(false);
  scheduler.advance(10min);
  EXPECT_EQ(writes(), 0u);
  writer->permit(true);
  scheduler.advance(30s);
  EXPECT_EQ(writes(), 1u);
}

// Red when an absent kind ends the writer, or makes it try.
TEST_F(ReportWriterTest, WritesALateKind) {
  start();
  scheduler.advance(10min);
  EXPECT_EQ(made, 0u);
  EXPECT_EQ(cluster.count("create", "nodedevicereports"), 0u);
  install();
  scheduler.advance(2min);
  EXPECT_EQ(held(), report);
  cluster.uninstall(kNodeDeviceReports);
  scheduler.advance(10min);
  EXPECT_LE(writes(), 4u) << "until it is known to be gone";
  install();
  scheduler.advance(2min);
  EXPECT_EQ(held(), report);
}

TEST_F(ReportWriterTest, RepairsForeignDeletesAndEdits) {
  install_and_start();
  cluster.remove(kNodeDeviceReports, "a");
  scheduler.advance(30s);
  EXPECT_EQ(held(), report);
  NodeReport other = report;
  other.offered = 99;
  cluster.put(kNodeDeviceReports, json_of(other));
  scheduler.advance(30s);
  EXPECT_EQ(held(), report);
  cluster.put(kNodeDeviceReports, *kube::decode_json(R"({"metadata":{"name":"a"},"status":7})"));
  scheduler.advance(30s);
  EXPECT_EQ(held(), report);
  scheduler.advance(10min);
  EXPECT_EQ(writes(), 4u);
}

// Failure is a count and a line: no more, and fewer with time.
TEST_F(ReportWriterTest, BacksOffAndReportsARefusalOnce) {
  install();
  cluster.on_admit = [](const fake::Request&, kube::Json&) -> std::optional<kube::Failure> {
    return kube::Failure{.code = Errc::kDenied, .http_status = 403, .what = "create: forbidden"};
  };
  start();
  scheduler.advance(1h);
  EXPECT_LE(cluster.count("create", "nodedevicereports"), 20u);
  EXPECT_GE(cluster.count("create", "nodedevicereports"), 8u);
  EXPECT_EQ(log.count("NodeDeviceReport not written"), 1u) << log.all();
  EXPECT_EQ(log.count("--report=off"), 1u);
  EXPECT_EQ(writer->counters().failed, cluster.count("create", "nodedevicereports"));
  EXPECT_FALSE(writer->last_failure().empty());
  cluster.on_admit = {};
  scheduler.advance(10min);
  EXPECT_EQ(held(), report);
  EXPECT_EQ(writer->last_failure(), "");
}

// Red when two that write one report set each other's pace.
TEST_F(ReportWriterTest, AnswersAConstantForeignWriterEveryTenSeconds) {
  install_and_start();
  cluster.log.clear();
  NodeReport other = report;
  for (int i = 0; i < 600; ++i) {
    other.offered = 100 + i;
    cluster.put(kNodeDeviceReports, json_of(other));
    scheduler.advance(1s);
  }
  EXPECT_LE(writes(), 60u);
  EXPECT_GE(writes(), 20u);
  scheduler.advance(30s);
  EXPECT_EQ(held(), report);
}

TEST_F(ReportWriterTest, AWatchThatEndsDuringAWriteLosesNothing) {
  install_and_start();
  change(9);
  while (cluster.count("update", "nodedevicereports") == 0) scheduler.advance(1ms);
  cluster.compact();
  cluster.expire_watches("nodedevicereports");
  scheduler.advance(10min);
  EXPECT_EQ(held(), report);
  EXPECT_EQ(writes(), 2u);
  change(10);
  scheduler.advance(30s);
  EXPECT_EQ(held(), report);
  EXPECT_EQ(cluster.open_watches("nodedevicereports"), 1u);
}

// The watch tells of both before our answer comes. Red when the answer counts for more: what somebody has done would stand until
// something else changes.
TEST_F(ReportWriterTest, RepairsAForeignChangeBehindAWrite) {
  install();
  for (const bool is_deleted : {true, false}) {
    bool is_first = true;
    cluster.on_answer = [&](const fake::Request& request) -> std::optional<kube::Failure> {
      if (request.plural != "nodedevicereports" || !std::exchange(is_first, false)) return std::nullopt;
      if (is_deleted) {
        cluster.remove(kNodeDeviceReports, "a");
      } else {
        kube::Json edited = *cluster.object(kNodeDeviceReports, "a");
        edited.set("status", kube::Json::Object{});
        cluster.put(kNodeDeviceReports, edited);
      }
      return std::nullopt;
    };
    start();
    change(is_deleted ? 5 : 6);
    scheduler.advance(60s);
    ASSERT_FALSE(is_first);
    EXPECT_EQ(held().offered, is_deleted ? 5 : 6);
  }
}

TEST_F(ReportWriterTest, TheWatchShowsAWriteWithALostAnswer) {
  install();
  cluster.on_answer = [](const fake::Request& request) -> std::optional<kube::Failure> {
    if (request.verb != "create") return std::nullopt;
    return kube::Failure{.code = Errc::kTimeout, .what = "no answer"};
  };
  start();
  scheduler.advance(10min);
  EXPECT_EQ(held(), report);
  EXPECT_EQ(writes(), 1u) << "it is there already";
}

TEST_F(ReportWriterTest, ReadsOnlyTheOwnReport) {
  install_and_start();
  for (const fake::Request& request : cluster.log)
    if (request.verb == "watch" || request.verb == "list") {
      EXPECT_EQ(request.field_selector, "metadata.name=a");
    }
}

TEST_F(ReportWriterTest, WritesNothingBeforeTheFirstReport) {
  install();
  is_there = false;
  start();
  scheduler.advance(5min);
  EXPECT_EQ(writes(), 0u);
  EXPECT_LE(made, 40u) << "asked for now and then";
  is_there = true;
  writer->mark();
  scheduler.advance(30s);
  EXPECT_EQ(writes(), 1u);
}

// Red when what could not be made, because a worker took too long, is forgotten until something else changes.
TEST_F(ReportWriterTest, RetriesAReportThatCouldNotBeBuilt) {
  install_and_start();
  is_there = false;
  change(9);
  scheduler.advance(1min);
  EXPECT_EQ(held().offered, 4);
  is_there = true;
  scheduler.advance(30s);
  EXPECT_EQ(held().offered, 9);
  EXPECT_EQ(writes(), 2u);
}

}  // namespace report_writer_test
}  // namespace sliced::reports
