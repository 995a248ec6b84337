#pragma once
// Which devices pods have, by the record of the daemon that runs here (kubelet/checkpoint.h), for commands that judge
// the host: such a device is shown with its facts of before.
#include <set>
#include <string>

#include "config/options.h"
#include "hotplug/facts.h"

namespace sliced::cli {

/// Where the daemon with these options keeps its record.
std::string checkpoint_path(const config::Options& options);

struct HostWithPrepared {
  hotplug::InventoryPtr inventory;
  std::set<std::string> prepared;  // ids of devices
};

/// Reads the record below --kubelet-plugins-directory-path. Of another boot it says nothing; one that cannot be read
/// is told on stderr, and is none. Blocks.
HostWithPrepared with_prepared(hotplug::InventoryPtr host, const config::Options& options);

}  // namespace sliced::cli
