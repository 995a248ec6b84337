#pragma once
// The running daemon's reports to the cluster: its NodeDeviceReport, its Lease, and Events, as the options
// select; none in a directory cluster.
#include <memory>

#include "daemon/daemon.h"
#include "daemon/kubelet_plugin.h"
#include "daemon/node_events.h"
#include "daemon/node_report_builder.h"
#include "daemon/observer.h"
#include "daemon/process.h"
#include "daemon/reports/node_lease.h"
#include "daemon/status/history.h"
#include "daemon/status/metrics.h"

namespace sliced::daemon {

/// Ownership: all arguments outlive this object. Nothing waits for reports; failures are counted. Pace: that
/// of reports::ReportWriter and reports::EventWriter; nothing is written before permit(). Threads: the
/// loop's; long work runs on the process' executor.
class ClusterReporter final : public Observer {
 public:
  /// plugin: null if it is off.
  ClusterReporter(Process& process, const config::Options& options, Daemon& daemon,
                  const status::History& history, const KubeletPlugin* plugin);

  /// Called once.
  void start();
  /// true: the interlock is held.
  void permit(bool writes);
  /// The result of KubeletPlugin::is_known() or other_programs() has changed: the report and the Events are
  /// brought up to date.
  void on_plugin_changed();
  void on_decided(const policy::Decision&) override;
  /// Adds nothing for reports that are off, so that their metric families are omitted.
  void add_to(status::Metrics& metrics) const;

 private:
  std::unique_ptr<NodeReportBuilder> reports_;       // nullptr: off
  std::unique_ptr<reports::NodeLeaseWriter> lease_;  // nullptr: off; on with reports
  std::unique_ptr<NodeEvents> events_;               // nullptr: off
  Subscription subscription_;
};

}  // namespace sliced::daemon
