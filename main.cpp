// sliced: keeps what the API server offers of this node's network devices equal to what the policies allow.
// This file chooses the command; daemon/daemon.h is the picture of what `run` does.
#include <malloc.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/process.h"
#include "config/load.h"

using namespace sliced;

int main(int argc, char** argv) {
  // Workers allocate little, so an arena each would only hold memory; large buffers go back to the system
  // when freed.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const config::Loaded loaded = config::load(arguments, config::process_surroundings());
  for (const std::string& problem : loaded.problems) cli::complain(problem);
  if (!loaded.problems.empty()) return cli::kExitError;
  const config::Options& options = loaded.options;
  if (loaded.wants_help)
    return cli::print(cli::help_text(options.command, SLICED_VERSION)) ? 0 : cli::kExitError;

  switch (options.command) {
    case config::Command::kRun:
      return cli::run(options, arguments);
    case config::Command::kPlan:
      return cli::plan(options);
    case config::Command::kExplain:
      return cli::explain(options);
    case config::Command::kDiscover:
      return cli::discover(options);
    case config::Command::kMatch:
      return cli::match(options);
    case config::Command::kValidate:
      return cli::validate(options);
    case config::Command::kWithdraw:
      return cli::withdraw(options);
    case config::Command::kVersion:
      return cli::print("sliced " SLICED_VERSION "\n") ? 0 : cli::kExitError;
    case config::Command::kMan:
      return cli::print(cli::man_page(SLICED_VERSION)) ? 0 : cli::kExitError;
    case config::Command::kCompletion:
      return cli::print(cli::completion_script(options.arguments[0])) ? 0 : cli::kExitError;
    case config::Command::kHelp:
    case config::Command::kNone:
      break;
  }
  return cli::print(cli::help_text(config::Command::kNone, SLICED_VERSION)) ? 0 : cli::kExitError;
}
