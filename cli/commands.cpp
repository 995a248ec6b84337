#include "cli/commands.h"

#include "cli/with_snapshot.h"

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

std::span<const CommandWork> node_commands() { return kCommands; }

}  // namespace sliced::cli
