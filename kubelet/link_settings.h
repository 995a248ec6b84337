#pragma once
// What an interface is like before its pod, what of it differs afterwards, and writing that back.
#include <functional>
#include <string>
#include <vector>

#include "kubelet/host_link.h"
#include "kubelet/original_settings.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// The kernel's part: all interfaces of the host's network namespace; changing one.
struct LinkKernel {
  std::function<Result<std::vector<HostLink>>()> links;
  std::function<Result<Unit>(int ifindex, const LinkChange& change)> change;
};

OriginalInterface original_interface(const HostLink& link);

/// Gives the interface its name and its alternative names; "" it has them. Whatever of its own stands in the way (udev gives an interface
/// that comes back its path name as an alternative name) is removed first. Else: why not, with the remedy; it keeps the name that it has.
/// No interface that is up under another name is taken down for it again (is_name_only).
std::string restore_name(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original);

/// Writes everything else that differs, each by itself, so that one that fails keeps no other from being restored. What the kernel
/// refuses of a MAC address that the PF enforces is no error (is_mac_enforced): the driver takes that one at its next reset.
/// Errors: each setting that could not be restored, with the kernel's reason and the remedy.
Result<Unit> restore_link(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original,
                          bool is_mac_enforced);

}  // namespace sliced::kubelet
