#pragma once
// From argv to a command, for the three programs; and their common commands.
#include <span>
#include <string>
#include <vector>

#include "config/command_table.h"
#include "config/options.h"

namespace sliced::cli {

/// The input of a command; both references outlive its work. config::load() has validated the options.
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

/// A command that only uses its options.
template <int (*kWork)(const config::Options&)>
int by_options(const Invocation& invocation) {
  return kWork(invocation.options);
}

/// version, help, man, config and completion.
std::span<const CommandWork> common_commands();

/// Loads the options and runs their command. Returns the exit code of the process. commands: those of
/// config::commands_of(program) that are not common. Configures malloc for little memory: workers allocate
/// little, so an arena each would waste memory, and large buffers are returned to the system when freed.
int run_program(config::Program program, std::span<const CommandWork> commands,
                const std::vector<std::string>& arguments);

}  // namespace sliced::cli
