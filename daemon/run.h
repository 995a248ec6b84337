#pragma once
// The node daemon: what `sliced run` does.
#include <string>
#include <vector>

#include "config/options.h"

namespace sliced::cli {

/// Until a signal ends it: offers, and publishes as soon as this node's locks are held. Returns the exit code (console.h); what it
/// cannot open is named on stderr.
/// options: loaded, of a host that is no snapshot. arguments: argv[1..], which a SIGHUP loads again.
int run(const config::Options& options, const std::vector<std::string>& arguments);

}  // namespace sliced::cli
