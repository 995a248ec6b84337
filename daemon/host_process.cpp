#include "daemon/host_process.h"

#include <utility>
#include <variant>

#include "hotplug/netlink_monitor.h"
#include "hotplug/udev_monitor.h"
#include "hotplug/uevent_socket.h"
#include "kube/directory/recorded_cluster.h"
#include "kubelet/missing_mac.h"
#include "reactor/backoff.h"

namespace sliced::cli {

HostProcess::HostProcess(const config::Options& options, HostFiles files)
    : Process(options),
      host(std::move(files.view)),
      recorded(std::move(files.recorded)),
      recorded_objects_(std::move(files.objects)) {}

Result<std::unique_ptr<HostProcess>> HostProcess::open_host_only(const config::Options& options) {
  auto files = open_host_files(options);
  if (!files) return std::move(files.error());
  return std::unique_ptr<HostProcess>(new HostProcess(options, *std::move(files)));
}

Result<std::unique_ptr<HostProcess>> HostProcess::open(const config::Options& options) {
  auto process = open_host_only(options);
  if (!process) return process;
  if (auto opened = (*process)->open_cluster(); !opened) return std::move(opened.error());
  return process;
}

Result<std::unique_ptr<kube::Cluster>> HostProcess::find_cluster() {
  if (!std::holds_alternative<config::ClusterSnapshot>(options_.cluster)) return Process::find_cluster();
  return std::unique_ptr<kube::Cluster>(
      std::make_unique<kube::RecordedCluster>(loop.scheduler(), *log, std::exchange(recorded_objects_, {}),
                                              options_.namespace_, "the snapshot " + options_.host_root));
}

hotplug::HostSource::Ports HostProcess::host_ports(bool live_events) {
  hotplug::HostSource::Ports ports = file_ports(*this, {.view = host, .recorded = recorded, .objects = {}});
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

daemon::Ports HostProcess::daemon_ports(bool live_events) {
  daemon::Ports ports{host_ports(live_events), *cluster, reactor::system_random()};
  if (host->is_live())
    ports.set_missing_mac = [its = host](const policy::MissingMac& what) {
      return kubelet::set_missing_mac(*its, kubelet::write_missing_vf_mac, what);
    };
  return ports;
}

}  // namespace sliced::cli
