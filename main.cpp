// sliced: keeps what the API server offers of this node's network devices equal to what the policies allow.
// Here the command line becomes a command; cli/run.cpp joins ports and daemon, daemon/daemon.h is the picture of
// what it does.
#include <malloc.h>

#include <string>
#include <vector>

#include "cli/bind_helper.h"
#include "cli/commands.h"
#include "cli/process.h"
#include "config/load.h"

using namespace sliced;

int main(int argc, char** argv) {
  // Workers allocate little, so an arena each would only hold memory; large buffers go back to the system
  // when freed.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  cli::open_standard_files();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == cli::kBindHelper)
    return cli::bind_helper({arguments.begin() + 1, arguments.end()});
  const config::Loaded loaded = config::load(arguments, config::process_ports());
  for (const std::string& problem : loaded.problems) cli::complain(problem);
  if (!loaded.problems.empty()) return cli::kExitError;
  if (loaded.wants_help) return cli::help(loaded.options);
  return cli::work_of(loaded.options.command)({loaded.options, arguments});
}
