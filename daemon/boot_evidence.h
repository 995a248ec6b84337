#pragma once
// Stores evidence that a SriovNetworkNodeState's status is of this boot, in the runtime directory.
#include "config/options.h"
#include "daemon/host_process.h"
#include "daemon/node_state.h"

namespace sliced::daemon {

/// The evidence is a file that names the boot and the object's UID. Only `run` writes it; other commands read
/// it. Requires: the process outlives the result.
NodeStateSource::Boot boot_of(HostProcess& process, const config::Options& options);

}  // namespace sliced::daemon
