#pragma once
// Explains conflicts of pods on one link of the host: the kernel's errno does not name the other pod.
#include <string>
#include <vector>

#include "kubelet/cni/record.h"

namespace sliced::kubelet {

/// Returns why the kernel refused an ADD on a link that another pod uses, too: the other interface's plugin
/// and claim, and the remedy. The kernel permits on one link either ipvlan or macvlan interfaces, an IP
/// address for one ipvlan interface, a MAC address for one macvlan interface, and a VLAN ID for one VLAN
/// interface. Returns "" if no record explains the failure: an interface of another program may be the cause.
/// failed: the record of the ADD. others: all records of this node. At most 2 MiB of their configurations are searched
/// for the link, and at most 256 KiB of those that name it decoded. Pure.
std::string parent_conflict(const cni::Record& failed, const std::vector<const cni::Record*>& others);

/// Returns the interface of the host on which the network's first plugin creates its own: `master` or
/// `bridge`; "" if none.
std::string parent_of(const cni::Record& record);

}  // namespace sliced::kubelet
