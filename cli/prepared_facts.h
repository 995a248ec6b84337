#pragma once
// Which devices pods have, by the record of the daemon that runs here (kubelet/checkpoint.h), for commands that judge
// the host: such a device is shown with its facts of before.
#include <set>
#include <string>

#include "config/options.h"
#include "hotplug/facts.h"
#include "hotplug/held_facts.h"

namespace sliced::cli {

/// Where the daemon with these options keeps its record.
std::string checkpoint_path(const config::Options& options);

struct PreparedFacts {
  hotplug::HeldFacts held;         // facts of before a device was bound or moved
  std::set<std::string> prepared;  // ids of devices
};

/// Reads the record below --kubelet-plugins-directory-path. One of another boot counts as none. A record that cannot be
/// read or decoded counts as none, and stderr names it with the consequence. Blocks.
PreparedFacts read_prepared(const std::string& boot_id, const config::Options& options);

struct HostWithPrepared {
  hotplug::InventoryPtr inventory;
  std::set<std::string> prepared;  // ids of devices
};

/// The host as the daemon sees it: read_prepared() laid over it.
HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options);

}  // namespace sliced::cli
