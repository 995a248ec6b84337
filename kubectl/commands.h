#pragma once
// The commands of kubectl-sliced. None writes to the cluster.
#include <span>

#include "cli/program.h"
#include "cli/validate.h"
#include "config/options.h"

namespace sliced::kubectl {

/// The commands of config::Program::kKubectl.
std::span<const cli::CommandWork> kubectl_commands();

/// Reads the whole cluster once. kExitNone: the pod or the claim waits. kExitUnsure: the answer is uncertain.
int why(const config::Options& options);
/// Read the cluster once, as do devices and policies.
int nodes(const config::Options& options);
int devices(const config::Options& options);
/// Watches the cluster; prints one table with --once, and if standard output is not a terminal.
int top(const config::Options& options);
/// With --diff kExitChanges: a node would change, or cannot be judged.
int policies(const config::Options& options);
/// Serves the watched cluster to browsers until a signal ends it.
int page(const config::Options& options);
/// Converts files to objects on standard output, with problems on stderr; with --check only compares them
/// with this host.
int migrate(const config::Options& options);

}  // namespace sliced::kubectl
