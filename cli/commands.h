#pragma once
// The commands, and who does their work. Each takes loaded options, does its work and returns the exit code.
#include <string>
#include <vector>

#include "config/command_table.h"
#include "config/options.h"

namespace sliced::cli {

/// What a command is started with; both outlive its work.
/// What is in options has passed config::load(): names, bounds and combinations are right.
struct Invocation {
  const config::Options& options;
  const std::vector<std::string>& arguments;  // argv[1..], which a SIGHUP loads again
};
/// Returns the exit code (process.h).
using Work = int (*)(const Invocation&);

/// Each row of config::command_table() has its own; nullptr for Command::kNone alone.
Work work_of(config::Command command);

/// Each opens what it needs, and says on stderr why it could not (kExitError).
/// Until a signal ends it: offers, and publishes as soon as this node's locks are held.
int run(const Invocation& invocation);
/// Until a signal ends it: judges. Opens neither host nor cluster.
int webhook(const Invocation& invocation);
/// Until a signal ends it: writes the status of policies while it is elected.
int aggregate(const config::Options& options);
/// One decision over host and cluster; nothing is written. kExitChanges: a daemon would write something.
int plan(const config::Options& options);
/// One decision likewise; of arguments[0], or of every device.
int explain(const config::Options& options);
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
/// The host alone, once or, with --watch, until a signal ends it or nobody reads any more.
int discover(const config::Options& options);
/// The host, the cluster's slices or slices in files. kExitNone: an answer, and nothing matches.
int match(const config::Options& options);
/// The host against the node's SriovNetworkNodeState, of the cluster or of a file. kExitDrift: a field differs.
int drift(const config::Options& options);
/// Files alone. kExitError: one of them, or of the objects in them, has an error; warnings are none.
int validate(const config::Options& options);
/// Files to objects on standard output, complaints on stderr; with --check nothing but a comparison on this host.
int migrate(const config::Options& options);
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
/// Prints the help about options.command; of kNone the general one.
int help(const config::Options& options);

}  // namespace sliced::cli
