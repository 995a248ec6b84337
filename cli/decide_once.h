#pragma once
// Makes one decision for a command that prints it: a daemon without permission to write runs until it has
// decided.
#include <memory>

#include "daemon/host_process.h"

namespace sliced::cli {

/// Longest wait for host, node, policies and slices. It fails immediately for problems that do not change by
/// waiting.
inline constexpr Millis kDecideMax{30'000};

/// Returns nullptr without a decision, with the missing source on stderr. Problems of policies are on stderr
/// too.
std::unique_ptr<daemon::Daemon> decide_once(daemon::HostProcess& process, const config::Options& options);

}  // namespace sliced::cli
