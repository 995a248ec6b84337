#include "cli/program.h"

#include <malloc.h>

#include "cli/completion.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "config/load.h"
#include "daemon/console.h"

namespace sliced::cli {
namespace {

using config::Command;
using config::Options;

int printed(const std::string& text) { return daemon::print(text) ? daemon::kExitSame : daemon::kExitError; }

int version(const Options& options) {
  return printed(std::string(config::info_of(options.program).name) + " " SLICED_VERSION "\n");
}
int help(const Options& options) {
  return printed(help_text(options.program, options.command, SLICED_VERSION));
}
int man(const Options& options) { return printed(man_page(options.program, SLICED_VERSION)); }
int config_text(const Options& options) { return printed(config_file(options.program, SLICED_VERSION)); }
int completion(const Options& options) {
  return printed(completion_script(options.program, options.arguments[0]));
}

constexpr CommandWork kCommon[] = {
    {Command::kVersion, by_options<version>},
    {Command::kHelp, by_options<help>},
    {Command::kMan, by_options<man>},
    {Command::kConfig, by_options<config_text>},
    {Command::kCompletion, by_options<completion>},
};

}  // namespace

std::span<const CommandWork> common_commands() { return kCommon; }

int run_program(config::Program program, std::span<const CommandWork> commands,
                const std::vector<std::string>& arguments) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  daemon::set_program_name(program);
  daemon::open_standard_files();
  const config::Loaded loaded = config::load(program, arguments, config::process_inputs());
  for (const std::string& problem : loaded.problems) daemon::print_error(problem);
  if (!loaded.problems.empty()) return daemon::kExitError;
  if (loaded.wants_help) return help(loaded.options);
  for (const std::span<const CommandWork> some : {commands, common_commands()})
    for (const CommandWork& one : some)
      if (one.command == loaded.options.command) return one.work({loaded.options, arguments});
  daemon::print_error("the command has no work: a defect of this program");
  return daemon::kExitError;
}

}  // namespace sliced::cli
