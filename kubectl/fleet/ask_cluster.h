#pragma once
// A command that asks a whole cluster once: the cluster is opened, asked, and left with what was told.
#include <functional>
#include <string>
#include <vector>

#include "config/options.h"
#include "daemon/process.h"
#include "kubectl/fleet/cluster_objects.h"
#include "reactor/base/result.h"
#include "reactor/base/table.h"

namespace sliced::cli {

/// What a command says on standard output, and its exit status.
struct Told {
  std::string text;
  int exit = kExitSame;
};

/// A command that was run within this process: what it would have printed, and its exit status.
struct CommandResult {
  int exit_status = kExitSame;
  bool timed_out = false;
  std::string out, err;
};

/// Whether nobody waits for the answer any more. Asked on the thread that answers.
using IsGivenUp = std::function<bool()>;

/// Runs one command on any thread, with a loop, a log and a connection of its own. Prints nothing.
/// is_given_up: asked ten times a second while the cluster is waited for; once it is true, each read fails.
CommandResult answer_of_cluster(const config::Options& options, const IsGivenUp& is_given_up,
                                const std::function<Result<Told>(ClusterObjects& objects)>& ask);

/// Runs one command. What goes wrong is complained of, and the exit status is kExitError; nothing is printed then.
/// objects: good during the call; each of its calls turns the loop of the process.
int ask_cluster(const config::Options& options,
                const std::function<Result<Told>(ClusterObjects& objects)>& ask);

/// Where the result is for people: how a table is printed.
bool is_for_people(const config::Options& options);
TableStyle style_of(const config::Options& options);
/// A line on stderr each.
void complain_of_unread(const std::vector<std::string>& unread);

}  // namespace sliced::cli
