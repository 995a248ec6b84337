#pragma once
// What /metrics tells: docs/metrics.md. Names, labels and their values are an interface. Pure.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/status/process_metrics.h"
#include "daemon/status/report.h"
#include "reactor/base/durations.h"

namespace sliced::status {

/// So many of a family, by one more label.
/// by: the first label's value, as a verb or a source; which label that is, the family says.
struct Count {
  std::string by, result;
  uint64_t count = 0;
};

/// What is counted, beside what the report says.
/// A copy of counters that others keep, made when /metrics is read; all of them begin at 0 with the process.
/// Whoever fills it in knows the daemon; here are only names, units and order.
struct Metrics {
  ProcessMetrics process;

  // Decisions, as daemon::Decider counts them: made; made anew since something had changed meanwhile; given
  // up; changes that went along with an earlier one.
  uint64_t decided = 0, overtaken = 0, late = 0, coalesced = 0;
  DurationHistogram decisions;

  struct Driver {
    std::string name;
    /// Answered, or not in time, by what became of them; `took` is from a request to its answer.
    /// failed_syncs: attempts to publish that left something to be written.
    std::vector<Count> writes;  // by verb
    DurationHistogram took;
    uint64_t failed_syncs = 0;
  };
  std::vector<Driver> drivers;

  std::vector<Count> watch_ends;  // by source: "closed", "failed", "expired", "silent"
  // What the host has told, and what it has cost to read: hotplug::HostSource::Counters.
  uint64_t host_events = 0, host_losses = 0, host_differences = 0, hung_reads = 0;
  uint64_t whole_scans = 0, partial_scans = 0;

  struct Claims {
    std::string driver;
    std::vector<Count> calls;        // by operation
    DurationHistogram prepare = {};  // of calls to prepare a claim, from the call to its answer
    uint64_t prepared = 0;           // claims that are prepared now
    uint64_t failing = 0;            // claims whose last call failed, lately
  };
  /// Of this node's NodeDeviceReport.
  struct Reports {
    uint64_t made = 0;                          // and held against what the API server has
    uint64_t taken = 0, failed = 0, bytes = 0;  // writes; bytes of the last one
    bool is_live = false;                       // the API server has the kind, and it is followed
  };
  /// Writes of this node's Lease.
  struct Lease {
    uint64_t renewed = 0, failed = 0;
  };
  /// What the kubelet was answered, a claim each time it is asked for (kubelet::CountedPreparer).
  std::vector<Claims> claims;  // empty without the kubelet plugin
  uint64_t not_returned = 0;   // devices that are held for claims that are gone; with the kubelet plugin
  std::string nri =
      {};  // "connected", "connecting", "not-needed", "missing"; "" without the kubelet plugin, or in mode MULTUS
  DurationHistogram attaches;  // of an interface's CNI plugins (ADD), well or not; with the kubelet plugin
  /// What is not used as it is written, without devices that are not returned and a missing NRI, which have gauges of their own; and policies that have a problem, by kind. 0
  /// before the first decision.
  struct Problems {
    uint64_t all = 0;
    uint64_t sriov = 0, exposures = 0, attributes = 0;  // objects of each kind
  } problems = {};

  std::vector<std::pair<std::string, uint64_t>> events;  // by what became of them; empty: none are told
  std::optional<Reports> reports;                        // nullopt: nothing is reported
  std::optional<Lease> lease;                            // nullopt: none is kept
};

/// Prometheus' text format, complete in itself: each family with its HELP and TYPE. What is counted by device
/// waits for a decision.
std::string exposition_of(const Report& report, const Metrics& metrics);

}  // namespace sliced::status
