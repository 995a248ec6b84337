#pragma once
// The default routes that networks set in a pod, as far as their configuration says. Pure.
#include <string>
#include <vector>

#include "kubelet/interfaces/wanted.h"

namespace sliced::kubelet {

/// Why the interfaces cannot all be in one pod: two of them have a default route of the same family, table and priority. The kernel has one;
/// which one would depend on which plugin is first. "" they can. Names both interfaces and the remedy.
/// Read from `ipam.routes` and `isDefaultGateway` of each network's first plugin; a chain with `sbr`, which moves routes into a table of its
/// own, sets none. Routes that only a DHCP server or a plugin's file names are not known.
std::string default_route_conflict(const std::vector<WantedInterface>& interfaces);

}  // namespace sliced::kubelet
