#pragma once
// The record of what pods have: where the daemon keeps it, and as the page /prepared of its status socket, for commands that judge
// the host (cli/prepared_facts.h).
#include <string>

#include "config/options.h"
#include "kubelet/prepared.h"

namespace sliced::cli {

/// Where the daemon with these options keeps its record.
std::string checkpoint_path(const config::Options& options);

/// Where it keeps the MAC addresses that VFs had before their pods' (kubelet/original_mac.h).
std::string original_macs_path(const config::Options& options);
/// Of kubelet/original_settings.h.
std::string original_settings_path(const config::Options& options);

/// The page /prepared: the node, the drivers, and what is prepared as a record of the checkpoint's form, without networks, CDI edits
/// and requests of pods, which none of the commands needs. unrestored: ClaimPreparer::unrestored().
std::string prepared_page(const std::string& boot_id, const kubelet::PreparedClaims& claims,
                          const config::Options& options, const policy::NotReturnedDevices& unrestored);

}  // namespace sliced::cli
