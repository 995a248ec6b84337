#pragma once
// The commands of sliced-controller.
#include <span>

#include "cli/program.h"
#include "config/options.h"

namespace sliced::controller {

/// The commands of config::Program::kController.
std::span<const cli::CommandWork> controller_commands();

/// Serves admission reviews until a signal. Accesses neither host nor cluster.
int webhook(const cli::Invocation& invocation);
/// Writes the status of policies while elected, until a signal.
int aggregate(const config::Options& options);

}  // namespace sliced::controller
