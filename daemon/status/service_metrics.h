#pragma once
// The metrics of `sliced-controller aggregate` and of `sliced-controller webhook`: docs/metrics.md. Names,
// labels and their values are an interface. Pure; the caller fills them in.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/status/process_metrics.h"
#include "reactor/base/durations.h"

namespace sliced::status {

/// Counters start with the process, including times before this one was elected.
struct AggregateMetrics {
  std::string version;
  ProcessMetrics process;
  /// Current values when /metrics is read; sums, written and failed only grow.
  bool is_ready = false, is_elected = false;
  // Only of the elected process.
  uint64_t reports = 0;                      // nodes with a report
  std::map<std::string, uint64_t> policies;  // by kind
  std::map<std::string, uint64_t> invalid;   // those with a problem
  uint64_t pending = 0, yielded = 0;         // statuses: to be written; left to another writer
  uint64_t leases = 0, silent = 0;           // nodes: with a Lease; whose daemon does not renew it
  std::map<std::string, uint64_t> plugins;   // nodes by the state of their kubelet plugin
  uint64_t outdated = 0;                     // nodes that have not decided by the generation of a policy,
                                             // summed over policies
  /// Sums of all reports, and writes of statuses by result (reports::Aggregator::Counters).
  uint64_t sums = 0, written = 0, failed = 0;
};
std::string exposition_of(const AggregateMetrics& metrics);

struct WebhookMetrics {
  std::string version;
  ProcessMetrics process;
  bool is_ready = false;
  /// Current values, as are waiting and body_bytes; the others only grow.
  int64_t certificate_ends = 0;                           // seconds since 1970; 0: there is none
  std::vector<std::pair<std::string, uint64_t>> reviews;  // by result
  DurationHistogram took;                                 // from the head of a request to its answer
  uint64_t waiting = 0, body_bytes = 0;                   // reviews in progress, and the bytes of their
                                                          // bodies
};
std::string exposition_of(const WebhookMetrics& metrics);

}  // namespace sliced::status
