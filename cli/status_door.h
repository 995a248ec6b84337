#pragma once
// The running daemon as a report, and the door at which it is read.
#include <string>

#include "cli/kubelet_plugin.h"
#include "cli/node_locks.h"
#include "cli/process.h"
#include "daemon/daemon.h"
#include "status/door.h"
#include "status/metrics.h"
#include "status/report.h"

namespace sliced::cli {

/// Everything that it is made from outlives it.
class StatusDoor {
 public:
  StatusDoor(Process& process, const config::Options& options, const std::string& directory,
             const daemon::Daemon& daemon, const NodeLocks& locks, const KubeletPlugin* plugin);

 private:
  status::Report report() const;
  std::string exposition() const;

  Process& process_;
  const config::Options& options_;
  const daemon::Daemon& daemon_;
  const NodeLocks& locks_;
  const KubeletPlugin* const plugin_;  // null: off
  const TimePoint began_;
  status::Door door_;
};

/// What the daemon itself knows of the report: sources, verdicts, drivers, whether it writes.
status::Report report_of(const daemon::Daemon& daemon);

/// What it has counted.
status::Metrics metrics_of(const daemon::Daemon& daemon);

}  // namespace sliced::cli
