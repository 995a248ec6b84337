#pragma once
// What pods on one link of the host keep from each other: the kernel refuses it with an errno that does not name the other pod.
#include <string>
#include <vector>

#include "kubelet/cni/record.h"

namespace sliced::kubelet {

/// Why the kernel refuses an ADD on a link that another pod has, too, as far as the records say: the other interface's plugin and claim, and
/// the remedy. It has at a time either ipvlan or macvlan interfaces on a link, an IP address for one of its ipvlan interfaces, a MAC address
/// for one of its macvlan interfaces, a VLAN ID for one of its VLAN interfaces. "" no record explains it: another program's interface may.
/// failed: the record of the ADD. others: all records of this node. Pure.
std::string parent_conflict(const cni::Record& failed, const std::vector<const cni::Record*>& others);

/// The interface of the host that the first plugin of the network stands on: its `master` or `bridge`; "" none.
std::string parent_of(const cni::Record& record);

}  // namespace sliced::kubelet
