#pragma once
// The host of --host as files: the running system's sysfs, the tree of another root, or a snapshot. Uses no
// event sources of the running system (daemon/host_process.h), so that kubectl-sliced requires neither
// libudev nor libnl.
#include <memory>
#include <vector>

#include "cli/snapshot/recording.h"
#include "config/options.h"
#include "daemon/process.h"
#include "hotplug/host_source.h"
#include "hotplug/host_view.h"
#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::cli {

struct HostFiles {
  std::shared_ptr<const hotplug::HostView> view;
  /// If `view` is a snapshot: the same object, with the settings that its PFs enforced; otherwise nullptr.
  std::shared_ptr<const snapshot::RecordedHost> recorded;
  std::vector<kube::Json> objects;  // of a snapshot
};

/// Errors: a root, or a snapshot, that cannot be opened; the text names it.
Result<HostFiles> open_host_files(const config::Options& options);

/// Returns the ports of a HostSource that reads these files once. VF settings are those of the snapshot;
/// those of the running system are unknown. process outlives the ports.
hotplug::HostSourcePorts file_ports(daemon::Process& process, const HostFiles& files);

}  // namespace sliced::cli
