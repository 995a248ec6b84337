#pragma once
// The commands of sliced-controller, and the functions that do their work.
#include <span>

#include "cli/program.h"
#include "config/options.h"

namespace sliced::controller {

/// The commands of config::Program::kController.
std::span<const cli::CommandWork> controller_commands();

/// Until a signal ends it: judges. Opens neither host nor cluster.
int webhook(const cli::Invocation& invocation);
/// Until a signal ends it: writes the status of policies while it is elected.
int aggregate(const config::Options& options);

}  // namespace sliced::controller
