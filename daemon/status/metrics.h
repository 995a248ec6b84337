#pragma once
// The metrics of /metrics: docs/metrics.md. Names, labels and their values are an interface. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/status/process_metrics.h"
#include "daemon/status/report.h"
#include "reactor/base/durations.h"

namespace sliced::status {

/// A counter of a family with two labels. by: the value of the first one, such as a verb or a source; the
/// family defines its name.
struct Count {
  std::string by, result;
  uint64_t count = 0;
};

/// Counters in addition to the report. Copies, made when /metrics is read; all start at 0 with the process.
/// The caller fills them in; this file only defines names, units and order.
struct Metrics {
  ProcessMetrics process;

  // Decisions, from daemon::Decider: concluded; repeated because of a newer change; abandoned; changes that
  // were combined with an earlier one.
  uint64_t decided = 0, overtaken = 0, late = 0, coalesced = 0;
  DurationHistogram decisions;

  struct Driver {
    std::string name;
    /// Writes by result, including timeouts; `took` is from a request to its answer. failed_syncs:
    /// publications that left changes unwritten.
    std::vector<Count> writes;  // by verb
    DurationHistogram took;
    uint64_t failed_syncs = 0;
  };
  std::vector<Driver> drivers;

  std::vector<Count> watch_ends;  // by source: "closed", "failed", "expired", "silent"
  // Events of the host and the cost of reading it: hotplug::HostSource::Counters.
  uint64_t host_events = 0, host_losses = 0, host_differences = 0, hung_reads = 0;
  uint64_t whole_scans = 0, partial_scans = 0;

  struct Claims {
    std::string driver;
    std::vector<Count> calls;        // by operation
    DurationHistogram prepare = {};  // prepare calls, from the call to its answer
    uint64_t prepared = 0;           // currently prepared claims
    uint64_t failing = 0;            // claims whose last prepare failed, in the last 5 minutes
  };
  /// This node's NodeDeviceReport.
  struct Reports {
    uint64_t made = 0;                              // and compared with the API server's
    uint64_t succeeded = 0, failed = 0, bytes = 0;  // writes; bytes of the last one
    bool is_live = false;                           // the API server has the kind, and it is watched
  };
  /// Writes of this node's Lease.
  struct Lease {
    uint64_t renewed = 0, failed = 0;
  };
  /// Answers to the kubelet, per claim and call (kubelet::CountedPreparer).
  std::vector<Claims> claims;  // empty without the kubelet plugin
  uint64_t not_returned = 0;   // devices that are held for deleted claims; with the kubelet plugin
  std::string nri =
      {};  // "connected", "connecting", "not-needed", "missing"; "" without the kubelet plugin, or in mode
           // MULTUS
  DurationHistogram attaches;  // of an interface's CNI plugins (ADD), successful or not; with the kubelet
                               // plugin
  /// Problems of policies, without unreturned devices and a missing NRI, which have their own gauges; and
  /// policies with a problem, by kind. 0 before the first decision.
  struct Problems {
    uint64_t all = 0;
    uint64_t sriov = 0, exposures = 0, attributes = 0;  // objects of each kind
  } problems = {};

  std::vector<std::pair<std::string, uint64_t>> events;  // by result; empty: no events are written
  std::optional<Reports> reports;                        // nullopt: off
  std::optional<Lease> lease;                            // nullopt: off
};

/// Returns the complete text: each family with its HELP and TYPE. Counts by device require a decision.
std::string exposition_of(const Report& report, const Metrics& metrics);

}  // namespace sliced::status
