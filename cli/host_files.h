#pragma once
// The host of --host as files: the running system's sysfs, the tree of another root, or a snapshot. Without the live sources of
// the running system (daemon/host_process.h), so that kubectl-sliced needs neither libudev nor libnl.
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
  /// Where `view` is a snapshot: the same object, with what its PFs enforced; else nullptr.
  std::shared_ptr<const snapshot::RecordedHost> recorded;
  std::vector<kube::Json> objects;  // of a snapshot
};

/// Errors: a root, or a snapshot, that cannot be opened; the text names it.
Result<HostFiles> open_host_files(const config::Options& options);

/// The ports of a HostSource that reads these files once. Configurations of VFs are those of the snapshot; of the running system
/// they are unknown. process outlives what is made of them.
hotplug::HostSource::Ports file_ports(Process& process, const HostFiles& files);

}  // namespace sliced::cli
