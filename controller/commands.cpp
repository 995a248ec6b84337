#include "controller/commands.h"

namespace sliced::cli {
namespace {

constexpr CommandWork kControllerCommands[] = {
    {config::Command::kWebhook, webhook},
    {config::Command::kAggregate, by_options<aggregate>},
};

}  // namespace

std::span<const CommandWork> controller_commands() { return kControllerCommands; }

}  // namespace sliced::cli
