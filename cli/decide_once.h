#pragma once
// One decision for a command that prints it: the daemon without permission to write, stepped until it has
// decided.
#include <memory>

#include "daemon/host_process.h"

namespace sliced::cli {

/// Waits at most this long for host, node, policies and slices, and not at all for what one look says is
/// missing.
inline constexpr Millis kDecideMax{30'000};

/// nullptr when there is no decision; stderr then says which source has not synced. Policy problems go to
/// stderr too.
std::unique_ptr<daemon::Daemon> decide_once(HostProcess& process, const config::Options& options);

}  // namespace sliced::cli
