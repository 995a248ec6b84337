#pragma once
// The commands of sliced, the node program, and the functions that do their work. Each takes loaded options and returns the exit
// code.
#include <span>

#include "cli/program.h"
#include "cli/validate.h"
#include "config/options.h"

namespace sliced::cli {

/// The commands of config::Program::kNode.
std::span<const CommandWork> node_commands();

/// Each opens what it needs, and says on stderr why it could not (kExitError).
/// Until a signal ends it: offers, and publishes as soon as this node's locks are held.
int run(const Invocation& invocation);
/// One decision over host and cluster; nothing is written. kExitChanges: a daemon would write something.
int plan(const config::Options& options);
/// One decision likewise; of arguments[0], or of every device.
int explain(const config::Options& options);
/// The host alone, once or, with --watch, until a signal ends it or nobody reads any more.
int discover(const config::Options& options);
/// The host, the cluster's slices or slices in files. kExitNone: an answer, and nothing matches.
int match(const config::Options& options);
/// The host against the node's SriovNetworkNodeState, of the cluster or of a file. kExitDrift: a field differs.
int drift(const config::Options& options);
/// Host and cluster into a file that is read back before it is written; of the host alone where no cluster
/// can be opened.
int snapshot(const config::Options& options);
/// Deletes this node's slices of both drivers. Not while a daemon holds the node's locks. Waits a minute at most.
int withdraw(const config::Options& options);
/// Asks the daemons that run here, by their sockets. 2: one of them is not ready.
int status(const config::Options& options);
/// Asks them likewise, or reads the journal's lines from files.
int history(const config::Options& options);
/// Until the sign is seen; kExitError when it is given up, 128 and the signal's number when one ends it.
int wait_for_config(const config::Options& options);
/// Gives the sign: makes the file, lets pods go, or both. kExitError where one of them failed.
int configured(const config::Options& options);

}  // namespace sliced::cli
