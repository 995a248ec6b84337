#pragma once
// Evidence that a SriovNetworkNodeState's status is of this boot, over the real host and the runtime directory.
#include "config/options.h"
#include "daemon/host_process.h"
#include "daemon/node_state.h"

namespace sliced::cli {

/// The evidence is kept in a file of the runtime directory that names the boot and the object's UID. Only `run` writes it;
/// the others read it. The process outlives what is returned.
daemon::NodeStateSource::Boot boot_of(HostProcess& process, const config::Options& options);

}  // namespace sliced::cli
