#pragma once
// What the IPAM plugin host-local keeps of a network: a directory with a lock, a counter per range and a file per address. It never removes
// the directory, and the network's name is its author's: without removal, a namespace's users would fill the host's file system with them.
#include <set>
#include <string>

#include "reactor/base/result.h"

namespace sliced::cni {

/// The directory that host-local has for the network below base; "" the network has none there (another IPAM, or another
/// dataDir).
std::string host_local_directory(const std::string& config, const std::string& network,
                                 const std::string& base);

/// Removes the directory where no address is in use: it holds host-local's own lock (flock) meanwhile. Returns whether it is gone; false where an
/// address is left or host-local has the lock. Blocks. Requires: no host-local is begun for it meanwhile; one that waits for the lock
/// would go on in a directory that is gone. Errors: kDenied, kIo.
Result<bool> remove_unused_network(const std::string& directory);

/// Removes those below base (base/NAMESPACE/NETWORK) that are not among used, as remove_unused_network() does. Blocks.
void remove_unused_networks(const std::string& base, const std::set<std::string>& used);

}  // namespace sliced::cni
