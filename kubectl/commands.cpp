#include "kubectl/commands.h"

#include "cli/with_snapshot.h"

namespace sliced::kubectl {
namespace {

constexpr cli::CommandWork kKubectlCommands[] = {
    {config::Command::kWhy, cli::by_options<why>},
    {config::Command::kNodes, cli::by_options<nodes>},
    {config::Command::kDevices, cli::by_options<devices>},
    {config::Command::kTop, cli::by_options<top>},
    {config::Command::kPolicies, cli::by_options<policies>},
    {config::Command::kPage, cli::by_options<page>},
    {config::Command::kMigrate, cli::of_host<migrate>},
    {config::Command::kValidate, cli::by_options<cli::validate>},
};

}  // namespace

std::span<const cli::CommandWork> kubectl_commands() { return kKubectlCommands; }

}  // namespace sliced::kubectl
