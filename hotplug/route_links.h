#pragma once
// Which interfaces carry routes of the host, as a value.
#include <set>

namespace sliced::hotplug {

/// Links by ifindex that routes of the host lead to.
struct RouteLinks {
  /// Of the best default route of each family and table, and of the next one where the best cannot be used now (links_of_best()).
  std::set<int> defaults;
  /// Unicast routes to other destinations than the link's own subnets: through a gateway, or set by hand or by a routing daemon.
  /// What an address brings with it is none: the kernel's connected route, prefixes of router advertisements, a host route
  /// to a gateway of the subnet. Nor are destinations that are link-local or multicast (a cloud's metadata server).
  std::set<int> others;
  /// Of `defaults` those all of whose default routes DHCP or router advertisements have set (RTPROT_DHCP, RTPROT_RA).
  std::set<int> learned = {};
  bool operator==(const RouteLinks&) const = default;
};

}  // namespace sliced::hotplug
