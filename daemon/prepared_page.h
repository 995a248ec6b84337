#pragma once
// The record of prepared claims: its file, and the page /prepared of the status socket, for commands that
// evaluate the host (cli/prepared_facts.h).
#include <string>

#include "config/options.h"
#include "kubelet/prepared.h"

namespace sliced::daemon {

/// Returns the path of the record for these options.
std::string checkpoint_path(const config::Options& options);

/// Returns the directory of the original MAC addresses of VFs (kubelet/original_mac.h).
std::string original_macs_path(const config::Options& options);
/// Returns the directory of kubelet/original_settings.h.
std::string original_settings_path(const config::Options& options);

/// Returns the page /prepared: the node, the drivers, and the prepared claims in the form of the checkpoint,
/// without networks, CDI edits and requests of pods, which no command uses. unrestored:
/// ClaimPreparer::unrestored().
std::string prepared_page(const std::string& boot_id, const kubelet::PreparedClaims& claims,
                          const config::Options& options, const policy::NotReturnedDevices& unrestored);

}  // namespace sliced::daemon
