#include "cli/host_files.h"

#include <map>
#include <utility>

#include "cli/snapshot_host.h"

namespace sliced::cli {

Result<HostFiles> open_host_files(const config::Options& options) {
  HostFiles out;
  if (is_snapshot(options.host_root)) {
    auto opened = open_recorded(options);
    if (!opened) return std::move(opened.error()).in("--host " + options.host_root);
    out.view = out.recorded = std::make_shared<const snapshot::RecordedHost>(std::move(opened->host));
    out.objects = std::move(opened->objects);
    return out;
  }
  auto host = hotplug::open_host_view(options.host_root);
  if (!host) return std::move(host.error()).in("--host " + options.host_root);
  out.view = std::move(*host);
  return out;
}

hotplug::HostSourcePorts file_ports(daemon::Process& process, const HostFiles& files) {
  hotplug::HostSourcePorts ports{process.loop.scheduler(), *process.executor, files.view, {}, *process.log};
  if (files.recorded != nullptr)  // of the enforced settings, only MAC addresses are recorded
    ports.read_vf_configs = [its = files.recorded](int ifindex) -> Result<std::map<int, hotplug::VfConfig>> {
      std::map<int, hotplug::VfConfig> configs;
      for (const auto& [vf, mac] : its->admin_macs(ifindex)) configs[vf].mac = mac;
      return configs;
    };
  return ports;
}

}  // namespace sliced::cli
