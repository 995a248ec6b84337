#include "daemon/status/report.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sliced::status {
namespace {

Report ready_report() {
  Report out{.version = "1.2.3", .node = "a", .cluster = "https://k:6443", .pid = 12};
  out.sources = {{.name = "host", .state = "live", .has_synced = true, .is_of_cluster = false},
                 {.name = "node a", .state = "live", .has_synced = true},
                 {.name = "own slices", .state = "live", .has_synced = true}};
  out.summary = policy::Summary{.devices = 4, .offered = 3, .held_back = 1};
  out.is_serving = true;
  return out;
}

// Names and problems of the checks that fail.
std::string failed(const Report& report) {
  std::string out;
  for (const Check& check : readiness(report))
    if (!check.problem.empty()) out += check.name + ": " + check.problem + "\n";
  return out;
}

TEST(Report, IsReadyWhenEverySourceHasSyncedAndTheServerAnswers) {
  const struct {
    const char* why;
    void (*change)(Report&);
    const char* failed;
  } rows[] = {
      {"all is well", [](Report&) {}, ""},
      {"nothing is waited for, and nothing is decided yet", [](Report& r) { r.summary.reset(); },
       "decision: no decision yet\n"},
      {"the host is being read",
       [](Report& r) { r.sources[0] = {.name = "host", .state = "starting", .is_of_cluster = false}; },
       "host: starting\n"},
      {"a source is denied",
       [](Report& r) { r.sources[2] = {.name = "own slices", .state = "denied", .why = "list: 403"}; },
       "own-slices: denied: list: 403\n"},
      {"one kind is unreachable after it has synced", [](Report& r) { r.sources[2].state = "unreachable"; },
       ""},
      {"a kind is not installed",
       [](Report& r) {
         r.sources[1].state = "unreachable";
         r.sources[2].state = "absent";
       },
       ""},
      {"an outage after all have synced",
       [](Report& r) {
         r.sources[1].state = r.sources[2].state = "unreachable";
         r.sources[2].why = "connect: refused";
         r.sources[1].why = "watch: no answer";
       },
       "api: unreachable: watch: no answer\n"},
      {"nobody has answered yet",
       [](Report& r) {
         r.sources[1] = {.name = "node a", .state = "starting"};
         r.sources[2] = {.name = "own slices", .state = "unreachable", .why = "refused"};
         r.summary.reset();
         r.waiting_for = {"node a: starting", "own slices: unreachable"};
       },
       "node: starting\nown-slices: unreachable: refused\napi: unreachable: refused\n"
       "decision: waits for node a: starting; own slices: unreachable\n"},
      {"there is no such Node",
       [](Report& r) {
         r.summary.reset();
         r.waiting_for = {"node a: there is no such Node object"};
       },
       "decision: waits for node a: there is no such Node object\n"},
  };
  for (const auto& row : rows) {
    Report report = ready_report();
    row.change(report);
    EXPECT_EQ(failed(report), row.failed) << row.why;
  }
}

// Red when it is not ready: a rollout with surge would wait for it, and its predecessor for the rollout.
TEST(Report, StandingByIsReadyWithItsReason) {
  Report report = ready_report();
  report.is_serving = false;
  report.stands_by_for = "another instance is active (pid 7 on a)";
  EXPECT_TRUE(are_passed(readiness(report)));
  const auto pages = status_pages([&] { return report; }, [] { return std::string(); });
  const Answer answer = pages.at("/readyz")("");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok\nstands by: another instance is active (pid 7 on a)\n");
}

// Red when it is not ready: a node that nobody has configured would hold up the rollout to all others.
TEST(Report, WaitingForTheConfigurationIsReadyWithItsReason) {
  Report report = ready_report();
  report.awaits_configuration = "f: there is no such file";
  EXPECT_TRUE(are_passed(readiness(report)));
  EXPECT_EQ(json_of(report).text("awaitsConfiguration"), "f: there is no such file");
  const auto pages = status_pages([&] { return report; }, [] { return std::string(); });
  EXPECT_EQ(pages.at("/readyz")("").body,
            "ok\nthis node is not configured yet, so no device is added and no new claim is prepared: f: "
            "there is no such file\n");
}

// Red when a source that nothing waits for makes the daemon unready, or is not shown.
TEST(Report, AForbiddenNodeStateIsShownAndTheDaemonIsReady) {
  Report report = ready_report();
  report.sources.push_back({.name = "node state", .state = "denied", .why = "403", .is_waited_for = false});
  report.waits = {"4 devices wait for adminMac"};
  EXPECT_TRUE(are_passed(readiness(report)));
  const std::string text = kube::encode_json(json_of(report));
  EXPECT_NE(text.find("node state"), std::string::npos) << text;
  EXPECT_NE(text.find("\"waitsFor\":[\"4 devices wait for adminMac\"]"), std::string::npos) << text;
}

TEST(Report, ShowsWhetherItServesTheKubelet) {
  Report report = ready_report();
  EXPECT_EQ(json_of(report).find("kubeletPlugin"), nullptr) << "not known";
  report.kubelet_plugin = "off";
  EXPECT_EQ(json_of(report).text("kubeletPlugin"), "off");
  EXPECT_TRUE(are_passed(readiness(report))) << "publishing only is a choice";
}

TEST(Report, JsonMatchesTheText) {
  Report report = ready_report();
  report.drivers = {{.name = "d.example",
                     .entries = 3,
                     .slices = 1,
                     .writes = 2,
                     .failure = "update: 409",
                     .since_taken = Millis{61'500}}};
  const kube::Json json = json_of(report);
  EXPECT_EQ(json.text("version"), "1.2.3");
  EXPECT_TRUE(*json.find("ready")->boolean());
  EXPECT_EQ(json.find("summary")->text("text"), "3 devices offered, 0 hidden, 1 held back");
  EXPECT_EQ(json.find("drivers")->array()->at(0).text("failure"), "update: 409");
  EXPECT_EQ(*json.find("drivers")->array()->at(0).find("lastWriteSecondsAgo")->integer(), 61);
  EXPECT_EQ(json.find("sources")->array()->size(), 3u);
  EXPECT_EQ(json.find("standsByFor"), nullptr);
  const auto again = kube::decode_json(
      status_pages([&] { return report; }, [] { return std::string(); }).at("/status")("").body);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, json);
}

// Red when a page that tells names may be read by a page of another origin, or a probe is kept from its own.
TEST(Report, ProbesAndMetricsContainNoNames) {
  const std::set<std::string> nameless = nameless_pages();
  EXPECT_EQ(nameless, (std::set<std::string>{"/livez", "/readyz", "/metrics"}));
  const auto pages = status_pages([] { return Report{}; }, [] { return std::string(); });
  EXPECT_EQ(pages.size(), nameless.size() + 1) << "and /status";
  for (const std::string& path : nameless) EXPECT_TRUE(pages.contains(path)) << path;
}

TEST(Report, LivenessDependsOnNothing) {
  const auto pages = status_pages(
      []() -> Report {
        ADD_FAILURE() << "asked";
        return {};
      },
      [] { return std::string(); });
  EXPECT_EQ(pages.at("/livez")("").body, "ok\n");
  EXPECT_EQ(pages.at("/livez")("verbose").body, "[+]loop ok\nlivez check passed\n");
}

}  // namespace
}  // namespace sliced::status
