#pragma once
// The running daemon's report to the cluster: what it says, made on a worker of one moment of the daemon, and when.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/daemon.h"
#include "daemon/plugin_state.h"
#include "daemon/reports/report_writer.h"
#include "kube/client/ports.h"
#include "reactor/executor.h"

namespace sliced::cli {

/// Ownership: everything that it is made from outlives it.
/// Threads:   the loop's, but for the making of reports.
/// Pace:      after each decision, and once a minute where slices have changed without one
///            (reports::ReportWriter has its own).
/// Absent:    without a decision, or before the Node's uid is known, there is no report.
class NodeReports {
 public:
  struct Surroundings {
    kube::Ports ports;
    reactor::Executor& executor;
    daemon::Daemon& daemon;
    std::string node;
    /// The last change of the offer that this process knows of; without a time: none.
    std::function<reports::LastChange()> last_change = {};
    std::function<PluginState()> plugin = [] { return PluginState{}; };
  };
  explicit NodeReports(Surroundings around);

  /// Once.
  void start();
  void permit(bool writes) { writer_.permit(writes); }
  /// After each decision.
  void on_decided() { writer_.mark(); }
  const reports::ReportWriter& writer() const { return writer_; }

 private:
  void make(reports::ReportWriter::OnMade on_made);
  // Changes without a decision: pools that others have written to, and VFs whose MAC address of before became unknown.
  void look_now_and_then();
  bool is_busy() const;

  const Surroundings around_;
  std::vector<reports::PoolReport> reported_pools_;
  std::vector<std::string> reported_unknown_macs_, reported_settings_, reported_not_returned_;
  std::string reported_connection_problem_, reported_dropped_fields_;
  reactor::Ticket tick_;
  reports::ReportWriter writer_;
  // Ends before what it reports to.
  std::unique_ptr<reactor::Job> job_;
};

/// Returns PluginState::word, or "skipped": the plugin is off, and the slices tell kubelets to start pods without one
/// (--skip-node-operations).
std::string plugin_word(const daemon::Daemon& daemon, const PluginState& plugin);

/// What is known without looking at devices: everything but counts, policies and groups. Cheap; of this
/// moment. The daemon has decided. Of problems the first 64, the others are counted.
reports::NodeReport report_head_of(const daemon::Daemon& daemon, const std::string& node,
                                   const PluginState& plugin = {});

}  // namespace sliced::cli
