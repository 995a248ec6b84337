#include "cli/recorded_process.h"

#include <utility>
#include <variant>
#include <vector>

#include "cli/host_files.h"
#include "cli/snapshot_host.h"
#include "kube/directory/recorded_cluster.h"

namespace sliced::cli {
namespace {

class RecordedProcess final : public daemon::HostProcess {
 public:
  RecordedProcess(const config::Options& options, HostFiles files)
      : daemon::HostProcess(options, files.view), files_(std::move(files)) {}
  static Result<std::unique_ptr<daemon::HostProcess>> open(const config::Options& options, bool has_cluster) {
    auto files = open_host_files(options);
    if (!files) return std::move(files.error());
    auto process = std::make_unique<RecordedProcess>(options, *std::move(files));
    if (has_cluster)
      if (auto opened = process->open_cluster(); !opened) return std::move(opened.error());
    return std::unique_ptr<daemon::HostProcess>(std::move(process));
  }
  hotplug::HostSourcePorts host_ports(bool live_events) override {
    hotplug::HostSourcePorts ports = daemon::HostProcess::host_ports(live_events);
    ports.read_vf_configs = file_ports(*this, files_).read_vf_configs;
    return ports;
  }

 private:
  Result<std::unique_ptr<kube::Cluster>> find_cluster() override {
    if (!std::holds_alternative<config::ClusterSnapshot>(options_.cluster))
      return daemon::Process::find_cluster();
    return std::unique_ptr<kube::Cluster>(
        std::make_unique<kube::RecordedCluster>(loop.scheduler(), *log, std::exchange(files_.objects, {}),
                                                options_.namespace_, "the snapshot " + options_.host_root));
  }
  HostFiles files_;  // its objects until the cluster has them
};

}  // namespace

Result<std::unique_ptr<daemon::HostProcess>> open_process(const config::Options& options) {
  if (is_snapshot(options.host_root)) return RecordedProcess::open(options, /*has_cluster=*/true);
  return daemon::HostProcess::open(options);
}

Result<std::unique_ptr<daemon::HostProcess>> open_host_process(const config::Options& options) {
  if (is_snapshot(options.host_root)) return RecordedProcess::open(options, /*has_cluster=*/false);
  return daemon::HostProcess::open_host_only(options);
}

}  // namespace sliced::cli
