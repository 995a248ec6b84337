#pragma once
// The commands of kubectl-sliced, and the functions that do their work. None writes to the cluster.
#include <span>

#include "cli/program.h"
#include "cli/validate.h"
#include "config/options.h"

namespace sliced::cli {

/// The commands of config::Program::kKubectl.
std::span<const CommandWork> kubectl_commands();

/// Reads the whole cluster once. kExitNone: the pod or the claim waits. kExitUnsure: that is not sure.
int why(const config::Options& options);
/// Asks the cluster once; so do devices and policies.
int nodes(const config::Options& options);
int devices(const config::Options& options);
/// The cluster as it changes; one table with --once, and where standard output is no terminal.
int top(const config::Options& options);
/// With --diff kExitChanges: some node would change, or cannot be judged.
int policies(const config::Options& options);
/// The cluster as it changes, for browsers, until a signal ends it.
int page(const config::Options& options);
/// Files to objects on standard output, complaints on stderr; with --check nothing but a comparison on this host.
int migrate(const config::Options& options);

}  // namespace sliced::cli
