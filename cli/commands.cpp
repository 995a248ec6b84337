#include "cli/commands.h"

#include "cli/snapshot_host.h"
#include "cli/with_snapshot.h"
#include "daemon/console.h"
#include "daemon/run.h"

namespace sliced::cli {
namespace {

using config::Command;

constexpr CommandWork kCommands[] = {
    {Command::kRun, run},
    {Command::kPlan, of_host<plan>},
    {Command::kExplain, of_host<explain>},
    {Command::kDiscover, of_host<discover>},
    {Command::kMatch, of_host<match>},
    {Command::kDrift, of_host<drift>},
    {Command::kValidate, by_options<validate>},
    {Command::kSnapshot, by_options<snapshot>},
    {Command::kWithdraw, by_options<withdraw>},
    {Command::kStatus, by_options<status>},
    {Command::kHistory, by_options<history>},
    {Command::kWaitForConfig, by_options<wait_for_config>},
    {Command::kConfigured, by_options<configured>},
};

}  // namespace

// A daemon follows a host as it changes, which a snapshot does not.
int run(const Invocation& invocation) {
  const config::Options& options = invocation.options;
  if (!is_snapshot(options.host_root)) return daemon::run(options, invocation.arguments);
  daemon::print_error("--host " + options.host_root + ": " + open_recorded(options).error().what);
  return daemon::kExitError;
}

std::span<const CommandWork> node_commands() { return kCommands; }

}  // namespace sliced::cli
