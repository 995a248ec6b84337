#pragma once
// Sysctls of pods' network namespaces, which CNI plugins set (sriov-cni and tuning, for IPv6 above all) below /proc/sys/net. A
// container's runtime mounts /proc/sys read-only, and no manifest of a pod in the host's network can have it otherwise.
#include <string>

#include "reactor/base/result.h"

namespace sliced::cni {

/// Makes the mount at that path writable, for this process' mount namespace alone and whoever it starts: a container's
/// own. Nothing where it is writable already. Takes CAP_SYS_ADMIN.
/// Errors: kDenied, kIo; with the path.
Result<Unit> make_writable(const std::string& path = "/proc/sys");

}  // namespace sliced::cni
