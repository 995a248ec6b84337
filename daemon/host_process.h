#pragma once
// A process of the node program: with the host and its live sources.
#include <memory>

#include "config/options.h"
#include "daemon/daemon.h"
#include "daemon/process.h"
#include "hotplug/host_view.h"

namespace sliced::cli {

class HostProcess : public Process {
 public:
  /// Errors: a host root or cluster that cannot be opened; the text names it. Otherwise as Process::open.
  static Result<std::unique_ptr<HostProcess>> open(const config::Options& options);
  /// Without a cluster: for commands that look at the host alone. `cluster` stays null.
  static Result<std::unique_ptr<HostProcess>> open_host_only(const config::Options& options);

  /// Without live events (one-shot commands) the host is read once and not followed.
  /// Each call makes sources of its own; the receiver opens them.
  daemon::Ports daemon_ports(bool live_events);
  virtual hotplug::HostSource::Ports host_ports(bool live_events);

  const std::shared_ptr<const hotplug::HostView> host;

 protected:
  HostProcess(const config::Options& options, std::shared_ptr<const hotplug::HostView> view);
};

}  // namespace sliced::cli
