#pragma once
// What the running daemon reports to the cluster beside its slices: its report, its Lease, and events. As the options have it; in
// a directory cluster nothing.
#include <memory>

#include "daemon/daemon.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/node_events.h"
#include "daemon/node_reports.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "daemon/reports/node_lease.h"
#include "daemon/status/history.h"
#include "daemon/status/metrics.h"

namespace sliced::cli {

/// Everything that it is made from outlives it. Nothing else waits for it, and what fails in it is counted.
/// Pace:    reports::ReportWriter's and reports::EventWriter's; nothing is written before permit().
/// Threads: the loop's; what is long is made on the process' executor.
class NodeReporter final : public daemon::Observer {
 public:
  /// plugin: null where it is off.
  NodeReporter(Process& process, const config::Options& options, daemon::Daemon& daemon,
               const status::History& history, const KubeletPlugin* plugin);

  /// Once.
  void start();
  /// true: the interlock is held.
  void permit(bool writes);
  /// The answer of KubeletPlugin::is_known() or other_programs() changed.
  void on_plugin_changed();
  void on_decided(const policy::Decision&) override;
  /// What is off adds nothing, so that its families are not told.
  void add_to(status::Metrics& metrics) const;

 private:
  std::unique_ptr<NodeReports> reports_;             // nullptr: it is off
  std::unique_ptr<reports::NodeLeaseWriter> lease_;  // likewise, with reports
  std::unique_ptr<NodeEvents> events_;               // likewise
  daemon::Subscription subscription_;
};

}  // namespace sliced::cli
