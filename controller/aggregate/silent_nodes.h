#pragma once
// Finds nodes whose daemon no longer renews its Lease (daemon/reports/node_lease.h), and marks their
// NodeDeviceReports, in the elected process:
//
//   Leases of nodes ─▶ expired ─▶ status.silentSince of the report is set; removed after a renewal
//
// Clocks:    a renewal gets the time of this process' clock at its arrival. A listed Lease gets its age by
// the API server's clock (kube::Cluster::server_time(), renewed_at()). Clocks of nodes have no effect.
// Outages:   while Leases cannot be watched, and for kGrace after, no node becomes silent: daemons could not
// renew either.
// Pace:      checked every kLookEvery, one write at a time. A failed write is retried after 10 s to 5 min.
// Permissions: list and watch on leases in the namespace; patch on nodedevicereports. Without the first no
// node becomes silent.
// Threads:   the loop thread.
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "daemon/reports/node_lease.h"
#include "kube/client/ports.h"
#include "reactor/backoff.h"
#include "reactor/base/rate_limited_log.h"
#include "watchers/watched_source.h"

namespace sliced::aggregate {

class SilentNodes {
 public:
  static constexpr Millis kLookEvery{5'000}, kGrace{60'000};
  struct Counters {
    uint64_t written = 0, failed = 0;  // marks set or removed
  };

  /// Requires: ports outlive this object.
  SilentNodes(kube::ClusterPorts ports, std::string namespace_);
  /// Called once.
  void start();
  /// Records a read report. Nothing is written for a node without a report.
  void on_report(const std::string& node, bool is_marked) { reports_[node] = is_marked; }
  void on_report_gone(const std::string& node) { reports_.erase(node); }
  void clear_reports() { reports_.clear(); }
  size_t leases() const { return leases_.size(); }
  size_t silent() const { return silent_.size(); }
  const Counters& counters() const { return counters_; }

 private:
  struct ObservedLease {
    reports::NodeLease lease;
    TimePoint at{};  // time of the renewal, by this process' clock
  };
  using Watcher = watchers::WatchedSource<reports::NodeLease>;

  void on_leases(const SourceEvent<Watcher::Item>& event);
  void put(const Watcher::Item& item, std::map<std::string, ObservedLease>& into) const;
  void on_sync_state(const watchers::SyncState& sync);
  void look();
  void find_silent();
  void write_next();
  void write(const std::string& node, bool is_silent);

  kube::ClusterPorts ports_;
  std::map<std::string, ObservedLease> leases_;  // by node
  std::set<std::string> silent_;
  std::map<std::string, bool> reports_;  // by node: is marked
  bool is_live_ = false, was_live_ = false;
  TimePoint judged_from_{}, not_before_{};
  reactor::Backoff backoff_;
  LastMessage failure_;
  Counters counters_;
  kube::CallPtr call_;
  reactor::Ticket timer_;
  Watcher watcher_;
};

}  // namespace sliced::aggregate
