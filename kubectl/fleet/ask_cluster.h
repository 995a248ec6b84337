#pragma once
// Runs a command that reads a whole cluster once.
#include <functional>
#include <string>
#include <vector>

#include "config/options.h"
#include "daemon/process.h"
#include "kubectl/fleet/cluster_objects.h"
#include "reactor/base/result.h"
#include "reactor/base/table.h"

namespace sliced::kubectl {

/// A command's standard output, and its exit status.
struct CommandOutput {
  std::string text;
  int exit = daemon::kExitSame;
};

/// A command that ran within this process: its output, and its exit status.
struct CommandResult {
  int exit_status = daemon::kExitSame;
  bool timed_out = false;
  std::string out, err;
};

/// Returns whether the answer is no longer required. Called on the thread of the command.
using IsCancelled = std::function<bool()>;

/// Runs one command on any thread, with a loop, a log and a connection of its own. Prints nothing.
/// is_cancelled: called ten times a second while the cluster is read; after it returns true, each read fails.
CommandResult run_with_cluster(const config::Options& options, const IsCancelled& is_cancelled,
                               const std::function<Result<CommandOutput>(ClusterObjects& objects)>& ask);

/// Runs one command. A failure is reported on stderr with kExitError; nothing else is printed then. objects:
/// valid during the call; each of its calls runs the loop of the process.
int ask_cluster(const config::Options& options,
                const std::function<Result<CommandOutput>(ClusterObjects& objects)>& ask);

/// Returns whether the output is a table for people, and its style.
bool is_for_people(const config::Options& options);
TableStyle style_of(const config::Options& options);
/// Prints one line on stderr for each.
void print_unread(const std::vector<std::string>& unread);

}  // namespace sliced::kubectl
