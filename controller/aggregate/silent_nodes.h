#pragma once
// Which nodes' daemons do not renew their Lease any more (daemon/reports/node_lease.h), and that noted in their NodeDeviceReports, by the one
// process that is elected:
//
//   Leases of nodes ─▶ expired? ─▶ status.silentSince of the node's report is set, and taken away once the daemon renews again
//
// Clocks:    a renewal is dated by this process' own clock when it is heard of. What is listed is as old as the API server's clock says
//            (kube::Cluster::server_time(), renewed_at()). So clocks of nodes do not matter.
// Outages:   while Leases cannot be watched nobody becomes silent, and for kGrace after they can be again: daemons could not renew
//            either.
// Pace:      looked at every kLookEvery; one report is written at a time. A write that fails is tried again after 10 s to 5 min.
// Permissions: list and watch on leases in the namespace; patch on nodedevicereports. Without the first nobody is silent.
// Threads:   the loop's.
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
    uint64_t written = 0, failed = 0;  // marks set or taken away
  };

  /// Ownership: ports outlive this.
  SilentNodes(kube::Ports ports, std::string namespace_);
  /// Once.
  void start();
  /// A report was read: whether it is marked. Of one that is gone nothing is written.
  void on_report(const std::string& node, bool is_marked) { reports_[node] = is_marked; }
  void on_report_gone(const std::string& node) { reports_.erase(node); }
  void clear_reports() { reports_.clear(); }
  size_t leases() const { return leases_.size(); }
  size_t silent() const { return silent_.size(); }
  const Counters& counters() const { return counters_; }

 private:
  struct Heard {
    reports::NodeLease lease;
    TimePoint at{};  // when it was renewed, by our clock
  };
  using Watcher = watchers::WatchedSource<reports::NodeLease>;

  void on_leases(const SourceEvent<Watcher::Item>& event);
  void put(const Watcher::Item& item, std::map<std::string, Heard>& into) const;
  void on_sync_state(const watchers::SyncState& sync);
  void look();
  void find_silent();
  void write_next();
  void write(const std::string& node, bool is_silent);

  kube::Ports ports_;
  std::map<std::string, Heard> leases_;  // by node
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
