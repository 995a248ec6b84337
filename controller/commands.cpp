#include "controller/commands.h"

namespace sliced::controller {
namespace {

constexpr cli::CommandWork kControllerCommands[] = {
    {config::Command::kWebhook, webhook},
    {config::Command::kAggregate, cli::by_options<aggregate>},
};

}  // namespace

std::span<const cli::CommandWork> controller_commands() { return kControllerCommands; }

}  // namespace sliced::controller
