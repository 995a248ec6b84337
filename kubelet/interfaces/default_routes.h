#pragma once
// Default routes that networks add to a pod, according to their configuration. Pure.
#include <string>
#include <vector>

#include "kubelet/interfaces/required_interfaces.h"

namespace sliced::kubelet {

/// Returns why the interfaces cannot be in one pod: two of them have a default route of the same family,
/// table and priority. The kernel keeps one, and which one depends on the order of the plugins. Returns "" if
/// there is no conflict. The text names both interfaces and the remedy. Reads `ipam.routes` and
/// `isDefaultGateway` of each network's first plugin. A chain with `sbr`, which moves routes into a separate
/// table, adds none. Limitation: routes from a DHCP server or a plugin's file are unknown.
std::string default_route_conflict(const std::vector<RequiredInterface>& interfaces);

}  // namespace sliced::kubelet
