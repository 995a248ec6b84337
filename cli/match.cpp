#include "cel/parser.h"
#include "cli/caret.h"
#include "cli/commands.h"
#include "cli/host_once.h"
#include "cli/matches.h"
#include "cli/prepared_facts.h"
#include "cli/recorded_process.h"
#include "cli/show.h"
#include "cli/slice_sources.h"
#include "daemon/host_process.h"
#include "policy/exposure/selector.h"

namespace sliced::cli {
namespace {

// Prints the mistake, the expression, and a caret below its position.
void complain_of(const Error& error, const std::string& expression, const cel::Mistake& mistake) {
  daemon::print_error(error.what + "\n" + pointed_at(expression, mistake.offset));
}

Result<cel::Program> compile(const config::Options& options, cel::Mistake& mistake) {
  const std::string& expression = options.arguments[0];
  return options.published ? cel::Program::compile(expression, cel::selector_environment(), &mistake)
                           : policy::compile_selector(expression, options.exposure_driver_name, &mistake);
}

// is_whole: every device was evaluated. Otherwise "no match" would be unproven.
int tell(const Matches& matches, bool is_whole, config::OutputFormat format) {
  const bool is_table = format == config::OutputFormat::kTable;
  if (!daemon::print(is_table ? matches_table(matches) : formatted(json_of(matches), format)))
    return daemon::kExitError;
  if (!matches.left_out.empty()) daemon::print_error(matches.left_out);
  if (matches.count(cel::Answer::Is::kTrue) > 0) return daemon::kExitSame;
  return is_whole && matches.left_out.empty() ? daemon::kExitNone : daemon::kExitError;
}

int print_slice_matches(const cel::Program& program, FoundSlices found, config::OutputFormat format) {
  keep_newest(found);
  for (const std::string& line : found.lines) daemon::print_error(line);
  if (const size_t more = found.lines.more(); more > 0) daemon::print_error(and_more(more, "line"));
  if (found.slices.empty() && !found.is_whole) return daemon::kExitError;
  return tell(match_entries(program, found.slices), found.is_whole, format);
}

int match_cluster(const cel::Program& program, const config::Options& options) {
  auto opened = open_process(options);
  if (!opened) {
    daemon::print_error(opened.error().what);
    return daemon::kExitError;
  }
  daemon::HostProcess& process = **opened;
  auto found =
      slices_of_cluster({*process.cluster, process.loop.scheduler(), *process.log, reactor::system_random()},
                        [&](const auto& done, Millis longest) { process.run_until(done, longest); },
                        options.node_name, {options.sriov_driver_name, options.exposure_driver_name});
  if (!found) {
    daemon::print_error(found.error().what);
    return process.leave(daemon::kExitError);
  }
  return process.leave(print_slice_matches(program, std::move(*found), options.output));
}

int match_this_host(const cel::Program& program, const config::Options& options) {
  auto process = open_host_process(options);
  if (!process) {
    daemon::print_error(process.error().what);
    return daemon::kExitError;
  }
  const hotplug::InventoryPtr inventory =
      read_host_once(**process, (*process)->host_ports(/*live_events=*/false));
  const int status = inventory == nullptr
                         ? daemon::kExitError
                         : tell(match_host(program, *with_prepared(inventory, options).inventory,
                                           options.exposure_driver_name),
                                true, options.output);
  return (*process)->leave(status);
}

}  // namespace

int match(const config::Options& options) {
  cel::Mistake mistake;
  const auto program = compile(options, mistake);
  if (!program) {
    complain_of(program.error(), options.arguments[0], mistake);
    return daemon::kExitError;
  }
  if (!options.published) return match_this_host(*program, options);
  if (options.files.empty()) return match_cluster(*program, options);
  return print_slice_matches(*program, slices_of_files(options.files), options.output);
}

}  // namespace sliced::cli
