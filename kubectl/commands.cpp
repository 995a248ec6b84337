#include "kubectl/commands.h"

#include "cli/with_snapshot.h"

namespace sliced::cli {
namespace {

constexpr CommandWork kKubectlCommands[] = {
    {config::Command::kWhy, by_options<why>},           {config::Command::kNodes, by_options<nodes>},
    {config::Command::kDevices, by_options<devices>},   {config::Command::kTop, by_options<top>},
    {config::Command::kPolicies, by_options<policies>}, {config::Command::kPage, by_options<page>},
    {config::Command::kMigrate, of_host<migrate>},      {config::Command::kValidate, by_options<validate>},
};

}  // namespace

std::span<const CommandWork> kubectl_commands() { return kKubectlCommands; }

}  // namespace sliced::cli
