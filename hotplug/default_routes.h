#pragma once
// Interfaces that carry routes of the host, and link properties, from the running kernel.
#include <string>

#include "hotplug/link_properties.h"
#include "hotplug/route_links.h"
#include "reactor/base/result.h"

namespace sliced::hotplug {

/// Returns the links of routes that traffic of the host may use, IPv4 and IPv6: the best default routes
/// (links_of_best()), the route that the kernel uses now, and routes beyond the links' own subnets
/// (RouteLinks). Next hops of multipath routes and of nexthop objects count.
/// Reads the main table, and every table of a rule that selects by neither source address nor mark. Tables of
/// a source or a mark are skipped, so interfaces of several rails may carry a default route each and stay
/// unused. A VRF's table is read like the main one: a VLAN above a PF may be enslaved to it, or one of its
/// routes may lead out of it.
/// A dump that changes meanwhile is repeated up to five times (kBusy). Blocks for at most two seconds per
/// answer. Requires no privilege.
Result<RouteLinks> query_route_links();

/// Returns the properties of a link of this network namespace; empty if it no longer exists. Blocks for at
/// most two seconds.
Result<LinkProperties> query_link_properties(int ifindex);

/// Returns the name of a link's devlink port, by its flavour (decode_devlink_port_name()); "" if it has none, or
/// the kernel does not report it. Requires no privilege. Blocks for at most two seconds per answer, and as long as
/// the driver holds the lock of its devlink instance.
Result<std::string> query_devlink_port(int ifindex);

}  // namespace sliced::hotplug
