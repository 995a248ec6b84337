#include "daemon/status/service_metrics.h"

#include <algorithm>

namespace sliced::status {

std::string exposition_of(const AggregateMetrics& metrics) {
  Exposition out;
  write_process(out, metrics.version, metrics.process);
  write_ready(out, metrics.is_ready);
  out.gauge("sliced_aggregate_elected", "1 when this process sums up; 0 when another one does.");
  out.sample(metrics.is_elected ? 1 : 0);
  out.gauge("sliced_aggregate_reports", "NodeDeviceReports that are summed up.");
  out.sample(metrics.reports);
  out.gauge("sliced_aggregate_policies", "Policies whose status is written, by kind.");
  for (const auto& [kind, count] : metrics.policies) out.sample(count, {{"kind", kind}});
  out.gauge("sliced_aggregate_invalid_policies",
            "Policies that have a problem and are not used as they are written.");
  for (const auto& [kind, count] : metrics.policies) {
    const auto invalid = metrics.invalid.find(kind);
    out.sample(invalid == metrics.invalid.end() ? 0 : invalid->second, {{"kind", kind}});
  }
  out.gauge("sliced_aggregate_pending", "Statuses that are to be written.");
  out.sample(metrics.pending);
  out.gauge("sliced_aggregate_yielded", "Statuses that differ and are left to another writer for a while.");
  out.sample(metrics.yielded);
  out.gauge("sliced_aggregate_leases", "Nodes whose daemon has a Lease.");
  out.sample(metrics.leases);
  out.gauge("sliced_aggregate_silent_nodes", "Nodes whose daemon has not renewed its Lease in time.");
  out.sample(metrics.silent);
  out.gauge("sliced_aggregate_kubelet_plugin_nodes",
            "Nodes by state of their kubelet plugin; off and waiting: pods with claims do not start.");
  for (const auto& [state, count] : metrics.plugins) out.sample(count, {{"state", state}});
  out.gauge("sliced_aggregate_outdated_policies",
            "Pairs of node and policy where the node reports an older generation of the policy.");
  out.sample(metrics.outdated);
  out.counter("sliced_aggregate_sums_total", "Summaries of all reports.");
  out.sample(metrics.sums);
  out.counter("sliced_aggregate_writes_total", "Writes of a policy's status.");
  out.sample(metrics.written, {{"result", "succeeded"}});
  out.sample(metrics.failed, {{"result", "failed"}});
  return out.take();
}

std::string exposition_of(const WebhookMetrics& metrics) {
  Exposition out;
  write_process(out, metrics.version, metrics.process);
  write_ready(out, metrics.is_ready);
  out.counter("sliced_webhook_reviews_total", "Admission reviews, by result.");
  for (const auto& [result, count] : metrics.reviews) out.sample(count, {{"result", result}});
  out.histogram("sliced_webhook_review_duration_seconds", "From the head of a request to its answer.");
  out.sample(metrics.took);
  out.gauge("sliced_webhook_reviews_waiting", "Reviews in progress or waiting.");
  out.sample(metrics.waiting);
  out.gauge("sliced_webhook_body_bytes", "Bytes of requests that are here.");
  out.sample(metrics.body_bytes);
  out.gauge("sliced_webhook_certificate_end_seconds",
            "When the certificate ends, in seconds since 1970; 0 without one.");
  out.sample(static_cast<uint64_t>(std::max<int64_t>(metrics.certificate_ends, 0)));
  return out.take();
}

}  // namespace sliced::status
