#include "daemon/status/metrics.h"

#include <gtest/gtest.h>

#include "t/unit/daemon/status/metrics_text.h"

namespace sliced::status {
namespace {

Report whole_report() {
  Report out{.version = "1.2.3", .node = "a", .cluster = "k"};
  out.kubelet_plugin = "waiting";
  out.sources = {{.name = "node a", .state = "live", .has_synced = true}};
  out.summary = policy::Summary{.devices = 5,
                                .offered = 3,
                                .held_back = 1,
                                .hidden = 1,
                                .sriov = {{policy::Outcome::kOffered, 3}, {policy::Outcome::kHostUse, 1}},
                                .exposure = {{policy::Outcome::kConflict, 2}}};
  out.is_node_state_in_sync = true;
  out.drivers = {{.name = "sriov.example", .entries = 3}, {.name = "net.example"}};
  return out;
}

Metrics whole_metrics() {
  Metrics out{
      .process = {
          .started = 1'700'000'000, .cpu = 1.25, .resident_bytes = 4096, .long_turns = 7, .lost_lines = 8}};
  out.drivers = {{.name = "sriov.example", .writes = {{"create", "succeeded", 2}}}, {.name = "net.example"}};
  out.watch_ends = {{"policies", "expired", 1}};
  out.claims = {{"sriov.example", {{"prepare", "succeeded", 4}}, {}, 2, 1}};
  out.claims[0].prepare.add(Millis{40});
  out.not_returned = 3;
  out.nri = "missing";
  out.attaches.add(Millis{400});
  out.problems = {.all = 5, .sriov = 1, .exposures = 2, .attributes = 3};
  out.events = {{"succeeded", 3}};
  out.lease = {.renewed = 15, .failed = 16};
  out.reports = {.made = 9, .succeeded = 5, .failed = 6, .bytes = 7'000, .is_live = true};
  return out;
}

TEST(Metrics, FollowThePrometheusFormat) {
  EXPECT_EQ(wrong_with_metrics(exposition_of(whole_report(), whole_metrics())), "");
  EXPECT_EQ(wrong_with_metrics(exposition_of({}, {})), "") << "before anything is known";
  EXPECT_NE(wrong_with_metrics("a 1\n"), "") << "the judge judges";
  EXPECT_NE(wrong_with_metrics("# HELP a A.\n# TYPE a gauge\na 1\na 2\n"), "");
  EXPECT_NE(wrong_with_metrics("# HELP a A.\n# TYPE a counter\na 1\n"), "");
}

TEST(Metrics, MatchTheReport) {
  const std::string text = exposition_of(whole_report(), whole_metrics());
  for (const char* line :
       {"sliced_build_info{version=\"1.2.3\"} 1\n", "process_start_time_seconds 1700000000.000\n",
        "process_resident_memory_bytes 4096\n", "process_cpu_seconds_total 1.250\n",
        "sliced_loop_long_turns_total 7\n", "sliced_log_lines_lost_total 8\n", "sliced_ready 1\n",
        "sliced_serving 0\n", "sliced_kubelet_plugin{state=\"on\"} 0\n",
        "sliced_kubelet_plugin{state=\"waiting\"} 1\n", "sliced_source_live{source=\"node\"} 1\n",
        "sliced_host_devices{disposition=\"unmatched\"} 0\n",
        "sliced_host_devices{disposition=\"held-back\"} 1\n",
        "sliced_devices{driver=\"sriov.example\",verdict=\"in-use-by-host\"} 1\n",
        "sliced_devices{driver=\"net.example\",verdict=\"conflict\"} 2\n",
        "sliced_writes_total{driver=\"sriov.example\",verb=\"create\",result=\"succeeded\"} 2\n",
        "sliced_sync_failures_total{driver=\"net.example\"} 0\n",
        "sliced_lease_renewals_total{result=\"succeeded\"} 15\n",
        "sliced_lease_renewals_total{result=\"failed\"} 16\n",
        "sliced_watch_restarts_total{source=\"policies\",reason=\"expired\"} 1\n", "sliced_report_live 1\n",
        "sliced_report_builds_total 9\n", "sliced_report_writes_total{result=\"succeeded\"} 5\n",
        "sliced_report_writes_total{result=\"failed\"} 6\n", "sliced_report_bytes 7000\n",
        "sliced_claims_total{driver=\"sriov.example\",operation=\"prepare\",result=\"succeeded\"} 4\n",
        "sliced_prepared_claims{driver=\"sriov.example\"} 2\n",
        "sliced_failing_claims{driver=\"sriov.example\"} 1\n", "sliced_devices_not_returned 3\n",
        "sliced_nri{state=\"missing\"} 1\n", "sliced_nri{state=\"not-needed\"} 0\n",
        "sliced_prepare_duration_seconds_bucket{driver=\"sriov.example\",le=\"0.025\"} 0\n",
        "sliced_prepare_duration_seconds_bucket{driver=\"sriov.example\",le=\"0.050\"} 1\n",
        "sliced_attach_duration_seconds_bucket{le=\"1.000\"} 1\n",
        "sliced_attach_duration_seconds_sum 0.400\n", "sliced_problems 5\n",
        "sliced_invalid_policies{kind=\"SriovResourcePolicy\"} 1\n",
        "sliced_invalid_policies{kind=\"DeviceExposurePolicy\"} 2\n",
        "sliced_invalid_policies{kind=\"DeviceAttributes\"} 3\n",
        // What is alerted on is there before it is above 0.
        "sliced_devices{driver=\"sriov.example\",verdict=\"refused\"} 0\n",
        "sliced_devices{driver=\"net.example\",verdict=\"unreadable\"} 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

// The documentation is the interface: each metric is documented, and each documented one exists.
TEST(Metrics, AreDocumented) {
  EXPECT_EQ(names_of_metrics(exposition_of(whole_report(), whole_metrics())),
            documented_metrics("`/metrics` of a running daemon"));
}

}  // namespace
}  // namespace sliced::status
