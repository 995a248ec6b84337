#pragma once
// Which devices pods have, as the daemon that runs here knows it, for commands that judge the host: such a device is shown with its
// facts of before. The daemon is asked at its status socket (/prepared); where none answers, its record is read
// (kubelet/checkpoint.h).
#include <map>
#include <set>
#include <string>

#include "config/options.h"
#include "hotplug/facts.h"
#include "hotplug/held_facts.h"
#include "policy/not_returned.h"

namespace sliced::cli {

struct PreparedFacts {
  hotplug::HeldFacts held;         // facts of before a device was bound or moved
  std::set<std::string> prepared;  // ids of devices
  policy::NotReturnedDevices not_returned;
};

/// The daemon's answer at its status socket in --runtime-directory counts before the record below
/// --kubelet-plugins-directory-path: a daemon may keep its record elsewhere, or be newer than what is written. Daemons of other nodes or
/// drivers, and whatever is of another boot, count as none. What may not be read, does not answer or cannot be decoded counts as
/// none, and stderr names it with the consequence, unless the other one of the two answers in its place. Blocks: 5 s for a
/// daemon that does not answer. Of a snapshot (--host FILE) no daemon is asked.
PreparedFacts read_prepared(const std::string& boot_id, const config::Options& options);

/// Reads what original_settings_path() has of this boot: a sentence for each device whose settings of before its pod are unknown.
std::map<std::string, std::string> read_unknown_settings(const hotplug::Inventory& inventory,
                                                         const config::Options& options);
/// Reads what original_macs_path() has of this boot: a sentence for each VF whose address of before is unknown, by the VF.
/// Files that cannot be read: none, and stderr says so where that is no want of the directory. Blocks.
std::map<std::string, std::string> read_unknown_macs(const hotplug::Inventory& inventory,
                                                     const config::Options& options);

struct HostWithPrepared {
  hotplug::InventoryPtr inventory;
  std::set<std::string> prepared;  // ids of devices
};

/// The host as the daemon sees it: read_prepared() laid over it.
HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options);

}  // namespace sliced::cli
