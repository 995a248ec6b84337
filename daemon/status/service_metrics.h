#pragma once
// What /metrics of `sliced-controller aggregate` and of `sliced-controller webhook` tells: docs/metrics.md. Names, labels and their values
// are an interface. Pure; whoever fills it in knows those programs.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/status/process_metrics.h"
#include "reactor/base/durations.h"

namespace sliced::status {

/// Counters begin with the process: of times before this one was elected, too.
struct AggregateMetrics {
  std::string version;
  ProcessMetrics process;
  /// Of the moment at which /metrics is read; sums, written and failed only grow.
  bool is_ready = false, is_elected = false;
  // Of the one that is elected, else nothing.
  uint64_t reports = 0;                      // nodes of which one has been read
  std::map<std::string, uint64_t> policies;  // by kind
  std::map<std::string, uint64_t> invalid;   // of those: that have a problem
  uint64_t pending = 0, yielded = 0;         // statuses: to be written; left to another writer
  uint64_t leases = 0, silent = 0;           // nodes: with a Lease; whose daemon does not renew it
  std::map<std::string, uint64_t> plugins;   // nodes by the state of their kubelet plugin
  uint64_t outdated = 0;                     // of each policy, nodes that have not decided by its generation
  /// Sums of all reports, and writes of statuses by what became of them (reports::Aggregator::Counters).
  uint64_t sums = 0, written = 0, failed = 0;
};
std::string exposition_of(const AggregateMetrics& metrics);

struct WebhookMetrics {
  std::string version;
  ProcessMetrics process;
  bool is_ready = false;
  /// Of the moment, as waiting and body_bytes are; the others only grow.
  int64_t certificate_ends = 0;                           // seconds since 1970; 0: there is none
  std::vector<std::pair<std::string, uint64_t>> reviews;  // by what became of them
  DurationHistogram took;                                 // from the head of a request to its answer
  uint64_t waiting = 0, body_bytes = 0;                   // reviews that are here, and all bodies together
};
std::string exposition_of(const WebhookMetrics& metrics);

}  // namespace sliced::status
