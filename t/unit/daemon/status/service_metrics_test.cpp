#include "daemon/status/service_metrics.h"

#include <gtest/gtest.h>

#include "t/unit/daemon/status/metrics_text.h"

namespace sliced::status {
namespace service_metrics_test {

AggregateMetrics whole_aggregate() {
  return {.version = "1.2.3",
          .process = {.started = 1'700'000'000, .resident_bytes = 4'096},
          .is_ready = true,
          .is_elected = true,
          .reports = 5'000,
          .policies = {{"DeviceExposurePolicy", 2}, {"SriovResourcePolicy", 3}},
          .invalid = {{"SriovResourcePolicy", 2}},
          .pending = 4,
          .yielded = 5,
          .leases = 4'999,
          .silent = 9,
          .plugins = {{"off", 2}, {"on", 3}},
          .outdated = 10,
          .sums = 6,
          .written = 7,
          .failed = 8};
}
WebhookMetrics whole_webhook() {
  WebhookMetrics out{.version = "1.2.3", .is_ready = true, .certificate_ends = 1'800'000'000};
  out.reviews = {{"admitted", 1}, {"refused", 2}};
  out.took.add(Millis{7});
  out.waiting = 3, out.body_bytes = 4;
  return out;
}
void expect_lines(const std::string& text, const std::vector<const char*>& lines) {
  EXPECT_EQ(wrong_with_metrics(text), "");
  for (const char* line : lines) EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(ServiceMetrics, OfAggregateFollowThePrometheusFormat) {
  expect_lines(
      exposition_of(whole_aggregate()),
      {"sliced_build_info{version=\"1.2.3\"} 1\n", "process_resident_memory_bytes 4096\n", "sliced_ready 1\n",
       "sliced_aggregate_elected 1\n", "sliced_aggregate_reports 5000\n",
       "sliced_aggregate_policies{kind=\"SriovResourcePolicy\"} 3\n",
       "sliced_aggregate_invalid_policies{kind=\"SriovResourcePolicy\"} 2\n",
       "sliced_aggregate_invalid_policies{kind=\"DeviceExposurePolicy\"} 0\n", "sliced_aggregate_pending 4\n",
       "sliced_aggregate_leases 4999\n", "sliced_aggregate_silent_nodes 9\n",
       "sliced_aggregate_kubelet_plugin_nodes{state=\"off\"} 2\n", "sliced_aggregate_outdated_policies 10\n",
       "sliced_aggregate_yielded 5\n", "sliced_aggregate_sums_total 6\n",
       "sliced_aggregate_writes_total{result=\"succeeded\"} 7\n",
       "sliced_aggregate_writes_total{result=\"failed\"} 8\n"});
  EXPECT_EQ(wrong_with_metrics(exposition_of(AggregateMetrics{})), "") << "of one that is not elected";
}

TEST(ServiceMetrics, OfTheWebhookFollowThePrometheusFormat) {
  expect_lines(exposition_of(whole_webhook()),
               {"sliced_build_info{version=\"1.2.3\"} 1\n", "sliced_ready 1\n",
                "sliced_webhook_reviews_total{result=\"refused\"} 2\n",
                "sliced_webhook_review_duration_seconds_bucket{le=\"0.010\"} 1\n",
                "sliced_webhook_review_duration_seconds_count 1\n", "sliced_webhook_reviews_waiting 3\n",
                "sliced_webhook_body_bytes 4\n", "sliced_webhook_certificate_end_seconds 1800000000\n"});
  EXPECT_EQ(wrong_with_metrics(exposition_of(WebhookMetrics{})), "") << "before there is a certificate";
}

// The documentation is the interface: each metric is documented, and each documented one exists.
TEST(ServiceMetrics, AreDocumented) {
  EXPECT_EQ(names_of_metrics(exposition_of(whole_aggregate())),
            documented_metrics("`/metrics` of `sliced-controller aggregate`"));
  EXPECT_EQ(names_of_metrics(exposition_of(whole_webhook())),
            documented_metrics("`/metrics` of `sliced-controller webhook`"));
}

}  // namespace service_metrics_test
}  // namespace sliced::status
