#pragma once
// Runs code in another network namespace.
#include <functional>
#include <string>

#include "reactor/base/result.h"

namespace sliced::kubelet {

/// A network namespace is identified by a descriptor; kOwnNamespace is that of the calling thread.
inline constexpr int kOwnNamespace = -1;

/// Runs `act` in that namespace: for kOwnNamespace on this thread, otherwise on a new one. A nested call for
/// the same descriptor starts no further thread. Blocks. Returns 0 after the call. Returns errno without a
/// call if the namespace cannot be entered or no thread can be started (std::thread would end the process
/// then).
int in_namespace(int network_namespace, const std::function<void()>& act);

/// Returns whether the file is a network namespace. The file of a namespace's bind mount (/run/netns/NAME)
/// stays when the mount is gone: then it is an empty file of the directory's own file system. True if the
/// file cannot be opened although it may exist.
bool is_network_namespace(const std::string& path);
/// Checks the open file of a pod's network namespace. Errors: kInvalid if it is the namespace of this
/// process, by device and inode; kIo if they cannot be compared.
Result<Unit> check_pod_namespace(int network_namespace);

}  // namespace sliced::kubelet
