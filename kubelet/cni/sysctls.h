#pragma once
// Sysctls of pods' network namespaces below /proc/sys/net, which CNI plugins set (sriov-cni and tuning,
// mainly for IPv6). A container runtime mounts /proc/sys read-only, and a pod in the host's network cannot
// override that in its manifest.
#include <string>

#include "reactor/base/result.h"

namespace sliced::cni {

/// Makes the mount at that path writable in this process' mount namespace, which its children share. Does
/// nothing if it is writable already. Requires CAP_SYS_ADMIN. Errors: kDenied, kIo; each names the path.
Result<Unit> make_writable(const std::string& path = "/proc/sys");

}  // namespace sliced::cni
