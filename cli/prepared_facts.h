#pragma once
// The devices of pods, for commands that evaluate the host: they use the pinned facts of such a device.
// Source: the daemon's status socket (/prepared) or, without a daemon, its record (kubelet/checkpoint.h).
#include <map>
#include <set>
#include <string>

#include "config/options.h"
#include "hotplug/facts.h"
#include "hotplug/pinned_facts.h"
#include "policy/not_returned.h"

namespace sliced::cli {

struct PreparedFacts {
  hotplug::PinnedFacts held;       // facts from before a device was bound or moved
  std::set<std::string> prepared;  // ids of devices
  policy::NotReturnedDevices not_returned;
};

/// Reads the daemon's answer at its status socket in --runtime-directory, which takes precedence over the
/// record below --kubelet-plugins-directory-path: a daemon may have its record elsewhere, or be newer than
/// the file. Ignores daemons of other nodes or drivers, and data of another boot. A source that cannot be
/// read or decoded is reported on stderr with the consequence, unless the other one has answered. Blocks: 5 s
/// for a daemon that does not answer. A snapshot (--host FILE) has no daemon.
PreparedFacts read_prepared(const std::string& boot_id, const config::Options& options);

/// Reads the files of original_settings_path() of this boot: returns a sentence for each device whose
/// original settings are unknown.
std::map<std::string, std::string> read_unknown_settings(const hotplug::Inventory& inventory,
                                                         const config::Options& options);
/// Reads the files of original_macs_path() of this boot: returns a sentence for each VF whose original
/// address is unknown, by the VF. Files that cannot be read are reported on stderr, except for a missing
/// directory. Blocks.
std::map<std::string, std::string> read_unknown_macs(const hotplug::Inventory& inventory,
                                                     const config::Options& options);

struct HostWithPrepared {
  hotplug::InventoryPtr inventory;
  std::set<std::string> prepared;  // ids of devices
};

/// Returns the host as the daemon sees it: with the facts of read_prepared().
HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options);

}  // namespace sliced::cli
