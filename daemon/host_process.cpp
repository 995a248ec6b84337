#include "daemon/host_process.h"

#include <utility>

#include "hotplug/netlink_monitor.h"
#include "hotplug/udev_monitor.h"
#include "hotplug/uevent_socket.h"
#include "kubelet/missing_mac.h"
#include "reactor/backoff.h"

namespace sliced::daemon {

HostProcess::HostProcess(const config::Options& options, std::shared_ptr<const hotplug::HostView> view)
    : Process(options), host(std::move(view)) {}

Result<std::unique_ptr<HostProcess>> HostProcess::open_host_only(const config::Options& options) {
  auto view = hotplug::open_host_view(options.host_root);
  if (!view) return std::move(view.error()).in("--host " + options.host_root);
  return std::unique_ptr<HostProcess>(new HostProcess(options, std::move(*view)));
}

Result<std::unique_ptr<HostProcess>> HostProcess::open(const config::Options& options) {
  auto process = open_host_only(options);
  if (!process) return process;
  if (auto opened = (*process)->open_cluster(); !opened) return std::move(opened.error());
  return process;
}

hotplug::HostSourcePorts HostProcess::host_ports(bool live_events) {
  hotplug::HostSourcePorts ports{loop.scheduler(), *executor, host, {}, *log};
  if (host->is_live()) ports.read_vf_configs = hotplug::read_vf_configs;
  if (!live_events) return ports;
  if (host->is_live()) {
    ports.events.push_back(hotplug::make_udev_monitor(loop, hotplug::udev_kind_here()));
    ports.events.push_back(hotplug::make_netlink_monitor(loop));
  } else {
    ports.events.push_back(hotplug::make_uevent_socket(loop, options_.host_root));
  }
  return ports;
}

DaemonPorts HostProcess::daemon_ports(bool live_events) {
  DaemonPorts ports{host_ports(live_events), *cluster, reactor::system_random()};
  if (host->is_live())
    ports.set_missing_mac = [its = host](const policy::MissingMac& what) {
      return kubelet::set_missing_mac(*its, kubelet::write_missing_vf_mac, what);
    };
  return ports;
}

}  // namespace sliced::daemon
