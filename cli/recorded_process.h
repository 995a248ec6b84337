#pragma once
// The process of a one-shot command, with a live host or a snapshot.
#include <memory>

#include "config/options.h"
#include "daemon/host_process.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// If --host names a snapshot, opens its host, and its objects as the cluster if the options say so
/// (config::ClusterSnapshot). Otherwise HostProcess::open().
Result<std::unique_ptr<daemon::HostProcess>> open_process(const config::Options& options);
/// Opens no cluster, as HostProcess::open_host_only().
Result<std::unique_ptr<daemon::HostProcess>> open_host_process(const config::Options& options);

}  // namespace sliced::cli
