#pragma once
// Interfaces that carry routes of the host, as a value.
#include <set>

namespace sliced::hotplug {

/// Links by ifindex to which routes of the host lead.
struct RouteLinks {
  /// The best default route of each family and table, and the next one if the best cannot be used now
  /// (links_of_best()).
  std::set<int> defaults;
  /// Unicast routes to destinations outside the link's own subnets: through a gateway, static, or from a
  /// routing daemon. Routes that belong to an address do not count: the kernel's connected route, prefixes of
  /// router advertisements, a host route to a gateway of the subnet. Nor do link-local and multicast
  /// destinations (a cloud's metadata server).
  std::set<int> others;
  /// Subset of `defaults`: all default routes of the link are from DHCP or router advertisements
  /// (RTPROT_DHCP, RTPROT_RA).
  std::set<int> learned = {};
  bool operator==(const RouteLinks&) const = default;
};

}  // namespace sliced::hotplug
