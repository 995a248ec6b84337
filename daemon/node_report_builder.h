#pragma once
// The running daemon's report to the cluster: its content, built on a worker from a snapshot of the daemon,
// and its schedule.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/daemon.h"
#include "daemon/plugin_state.h"
#include "daemon/reports/report_writer.h"
#include "kube/client/ports.h"
#include "reactor/executor.h"

namespace sliced::daemon {

/// Ownership: all arguments outlive this object.
/// Threads: the loop's, except building reports.
/// Pace: after each decision, and once a minute if slices or the plugin's problems have changed without one
/// (reports::ReportWriter has its own limits).
/// No report: without a decision, or before the Node's uid is known.
class NodeReportBuilder {
 public:
  struct Dependencies {
    kube::ClusterPorts ports;
    reactor::Executor& executor;
    Daemon& daemon;
    std::string node;
    /// The last change of the offer that this process knows; without a time: none.
    std::function<reports::LastChange()> last_change = {};
    std::function<PluginState()> plugin = [] { return PluginState{}; };
  };
  explicit NodeReportBuilder(Dependencies deps);

  /// Called once.
  void start();
  void permit(bool writes) { writer_.permit(writes); }
  /// Called after each decision.
  void on_decided() { writer_.mark(); }
  const reports::ReportWriter& writer() const { return writer_; }

 private:
  void make(reports::ReportWriter::OnReport on_made);
  // Checks for changes without a decision: slices, problems of the kubelet plugin, fields that the API server
  // drops.
  void poll_for_changes();
  bool is_busy() const;

  const Dependencies deps_;
  std::vector<reports::PoolReport> reported_pools_;
  std::vector<std::string> reported_unknown_macs_, reported_settings_, reported_not_returned_;
  std::string reported_connection_problem_, reported_dropped_fields_;
  reactor::Ticket tick_;
  reports::ReportWriter writer_;
  // Destroyed before the objects that it uses.
  std::unique_ptr<reactor::Job> job_;
};

/// Returns PluginState::word, or "skipped": the plugin is off, and the slices allow kubelets to start pods
/// without one (--skip-node-operations).
std::string kubelet_plugin_state(const Daemon& daemon, const PluginState& plugin);

/// Returns the parts of the report that do not depend on devices: everything except counts, policies and
/// groups. Cheap. Requires: the daemon has decided. Contains the first 64 problems, and the number of further
/// ones.
reports::NodeReport report_head_of(const Daemon& daemon, const std::string& node,
                                   const PluginState& plugin = {});

}  // namespace sliced::daemon
