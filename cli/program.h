#pragma once
// From argv to a command, the same for the three programs; and the commands that all of them have.
#include <span>
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
/// Returns the exit code (console.h).
using Work = int (*)(const Invocation&);

struct CommandWork {
  config::Command command;
  Work work;
};

/// A command that needs its options alone.
template <int (*kWork)(const config::Options&)>
int by_options(const Invocation& invocation) {
  return kWork(invocation.options);
}

/// version, help, man, config and completion.
std::span<const CommandWork> common_commands();

/// Loads the options and runs the command that they name. Returns the exit code of the process.
/// commands: those of config::commands_of(program) that are not common.
/// Sets the process up for little memory: workers allocate little, so an arena each would only hold memory, and large buffers
/// return to the system when freed.
int run_program(config::Program program, std::span<const CommandWork> commands,
                const std::vector<std::string>& arguments);

}  // namespace sliced::cli
