#pragma once
// Settings of an interface before its pod: recording, comparing and restoring them.
#include <functional>
#include <string>
#include <vector>

#include "kubelet/host_link.h"
#include "kubelet/original_settings.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Access to the kernel: all interfaces of the host's network namespace, and changing one.
struct LinkKernel {
  std::function<Result<std::vector<HostLink>>()> links;
  std::function<Result<Unit>(int ifindex, const LinkChange& change)> change;
};

OriginalInterface original_interface(const HostLink& link);

/// Restores the name and the alternative names. Returns "", or why the name stays as it is, with the remedy.
/// Removes the interface's own names that conflict first: udev gives a returning interface its path name as
/// an alternative name. With is_name_only, an interface that is up under another name is not taken down.
std::string restore_name(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original);

/// Restores all other settings that differ, each in a separate request, so that one failure does not affect
/// the others. A refused MAC address is not an error if the PF enforces one (is_mac_enforced): the driver
/// adopts that one at its next reset.
/// Errors: each setting that could not be restored, with the kernel's reason and the remedy.
Result<Unit> restore_link(const LinkKernel& kernel, const HostLink& link, const OriginalInterface& original,
                          bool is_mac_enforced);

}  // namespace sliced::kubelet
