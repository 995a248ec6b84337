#pragma once
// A process of the node program: Process with the host and its event sources.
#include <memory>

#include "config/options.h"
#include "daemon/daemon.h"
#include "daemon/process.h"
#include "hotplug/host_view.h"

namespace sliced::daemon {

class HostProcess : public Process {
 public:
  /// Errors: a host root or cluster that cannot be opened; the text names it. Otherwise as Process::open.
  static Result<std::unique_ptr<HostProcess>> open(const config::Options& options);
  /// Opens no cluster: for commands that only read the host. `cluster` stays null.
  static Result<std::unique_ptr<HostProcess>> open_host_only(const config::Options& options);

  /// Returns the real dependencies of a Daemon. Without live events (one-shot commands) the host is read
  /// once. Each call creates new event sources; their user opens them.
  DaemonPorts daemon_ports(bool live_events);
  virtual hotplug::HostSourcePorts host_ports(bool live_events);

  const std::shared_ptr<const hotplug::HostView> host;

 protected:
  HostProcess(const config::Options& options, std::shared_ptr<const hotplug::HostView> view);
};

}  // namespace sliced::daemon
