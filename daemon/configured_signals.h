#pragma once
// The signals of --until-configured and --for, with the real ports.
#include <memory>
#include <string>

#include "config/options.h"
#include "daemon/host_process.h"
#include "watchers/configured/signal.h"

namespace sliced::daemon {

/// File of `sliced configured`, as documented. It does not survive a reboot.
constexpr const char* kConfiguredFile = "/run/sliced/configured";

/// Returns the boot id of the given host; "" if it cannot be read.
std::string boot_id_of(const HostProcess& process);

/// by: not kNothing; an annotation requires a cluster. The process outlives the result. is_daemon: true for
/// `run`, false for `wait-for-config`. It matters for the annotation of the pod only: `run` retries without
/// limit, and waits at most once per boot.
std::unique_ptr<configured::ConfiguredSignal> make_configured_signal(HostProcess& process,
                                                                     const config::Options& options,
                                                                     const config::ConfiguredBy& by,
                                                                     bool is_daemon,
                                                                     configured::OnChange on_change);

/// Returns the missing condition of --until-configured; "" if none, and for a SriovNetworkNodeState, which
/// Daemon itself watches. For one-shot commands: waits up to 5 s for an answer of the API server. A pod that
/// is not named, or cannot be read, is reported on stderr and counts as waiting.
std::string awaited_now(HostProcess& process, const config::Options& options);

}  // namespace sliced::daemon
