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

/// Each opens what it needs, and says on stderr why it could not (kExitError). `run`, `webhook`, and `discover`
/// that watches, go on until a signal ends them.
int run(const Invocation& invocation);
int webhook(const Invocation& invocation);
int aggregate(const config::Options& options);
int plan(const config::Options& options);
int explain(const config::Options& options);
int why(const config::Options& options);
int nodes(const config::Options& options);
int devices(const config::Options& options);
int top(const config::Options& options);
int policies(const config::Options& options);
int page(const config::Options& options);
int discover(const config::Options& options);
int match(const config::Options& options);
int drift(const config::Options& options);
int validate(const config::Options& options);
int migrate(const config::Options& options);
int snapshot(const config::Options& options);
int withdraw(const config::Options& options);
int status(const config::Options& options);
int history(const config::Options& options);
int wait_for_config(const config::Options& options);
int configured(const config::Options& options);
/// Prints the help about options.command; of kNone the general one.
int help(const config::Options& options);

}  // namespace sliced::cli
