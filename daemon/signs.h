#pragma once
// What --until-configured and --for name, over the real ports.
#include <memory>
#include <string>

#include "config/options.h"
#include "daemon/host_process.h"
#include "watchers/configured/sign.h"

namespace sliced::cli {

/// Where `sliced configured` makes its file, and where the documentation looks for it. Gone with a reboot.
constexpr const char* kConfiguredFile = "/run/sliced/configured";

/// Of the host that is looked at; "" where it cannot be read.
std::string boot_id_of(const HostProcess& process);

/// by: not nothing; of the annotation the process has a cluster. The process outlives what is returned.
/// is_daemon: the daemon continues to serve after the signal. The wait then has no limit of tries, and is done once per boot.
std::unique_ptr<configured::Sign> make_sign(HostProcess& process, const config::Options& options,
                                            const config::ConfiguredBy& by, bool is_daemon,
                                            configured::OnChange on_change);

/// What --until-configured waits for as it stands now; "" nothing. For who decides once: it waits up to 5 s for an
/// answer of the API server. A pod that is not named, or cannot be read, is said on stderr and counts as one that waits.
std::string awaited_now(HostProcess& process, const config::Options& options);

}  // namespace sliced::cli
