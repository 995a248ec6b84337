#pragma once
// The process of a one-shot command: with a live host, or with a snapshot in its place.
#include <memory>

#include "config/options.h"
#include "daemon/host_process.h"
#include "reactor/base/result.h"

namespace sliced::cli {

/// Where --host names a snapshot: with its host, and with its objects as the cluster where the options say so
/// (config::ClusterSnapshot). Otherwise HostProcess::open().
Result<std::unique_ptr<HostProcess>> open_process(const config::Options& options);
/// Without a cluster, as HostProcess::open_host_only().
Result<std::unique_ptr<HostProcess>> open_host_process(const config::Options& options);

}  // namespace sliced::cli
