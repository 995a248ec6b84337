#pragma once
// The commands of sliced, the node program. Each gets loaded options and returns the exit code.
#include <span>

#include "cli/program.h"
#include "cli/validate.h"
#include "config/options.h"

namespace sliced::cli {

/// The commands of config::Program::kNode.
std::span<const CommandWork> node_commands();

/// Each opens its resources, and reports failures on stderr (kExitError). run: offers until a signal ends it,
/// and publishes as soon as this node's locks are held.
int run(const Invocation& invocation);
/// Makes one decision over host and cluster; writes nothing. kExitChanges: a daemon would write changes.
int plan(const config::Options& options);
/// Makes one decision and explains arguments[0], or every device.
int explain(const config::Options& options);
/// Shows the host, once or, with --watch, until a signal ends it or the output is closed.
int discover(const config::Options& options);
/// Evaluates an expression on the host, the cluster's slices or slices in files. kExitNone: valid, without a
/// match.
int match(const config::Options& options);
/// Compares the host with the node's SriovNetworkNodeState, from the cluster or a file. kExitDrift: a field
/// differs.
int drift(const config::Options& options);
/// Writes host and cluster to a file, which it decodes before writing; only the host if no cluster can be
/// opened.
int snapshot(const config::Options& options);
/// Deletes this node's slices of both drivers, unless a daemon holds the node's locks. Waits at most a
/// minute.
int withdraw(const config::Options& options);
/// Queries the daemons of this node through their sockets. 2: one of them is not ready.
int status(const config::Options& options);
/// Queries them likewise, or reads lines of the journal from files.
int history(const config::Options& options);
/// Waits for the signal; kExitError if the wait ends without it, 128 and the number of a terminating signal.
int wait_for_config(const config::Options& options);
/// Sets the signal: creates the file, releases pods, or both. kExitError if one of them failed.
int configured(const config::Options& options);

}  // namespace sliced::cli
