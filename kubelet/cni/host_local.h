#pragma once
// The files of the IPAM plugin host-local: per network a directory with a lock, a counter per range and a
// file per address. host-local never removes the directory, and the definition's author chooses the network's
// name. Without removal, users of a namespace could fill the host's file system.
#include <set>
#include <string>

#include "reactor/base/result.h"

namespace sliced::cni {

/// Returns host-local's directory of the network below base; "" if it has none there (another IPAM plugin, or
/// another dataDir).
std::string host_local_directory(const std::string& config, const std::string& network,
                                 const std::string& base);

/// Removes the directory if no address is in use, while holding host-local's own lock (flock). Returns
/// whether it was removed; false if an address is in use or host-local holds the lock. Blocks. Requires:
/// host-local is not started for it meanwhile; a process that waits for the lock would continue in a removed
/// directory. Errors: kDenied, kIo.
Result<bool> remove_unused_network(const std::string& directory);

/// Calls remove_unused_network() for each directory below base (base/NAMESPACE/NETWORK) that is not in
/// `used`. Blocks.
void remove_unused_networks(const std::string& base, const std::set<std::string>& used);

}  // namespace sliced::cni
