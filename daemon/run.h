#pragma once
// The node daemon: `sliced run`.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::daemon {

/// Runs until a signal: offers devices, and publishes as soon as this node's locks are held. Returns the exit
/// code (console.h); errors of opening are on stderr. options: loaded, for a host that is not a snapshot.
/// arguments: argv[1..], which a SIGHUP loads again.
int run(const config::Options& options, const std::vector<std::string>& arguments);

}  // namespace sliced::daemon
