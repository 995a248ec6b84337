#pragma once
// Which interfaces carry routes of the host, and properties of interfaces, asked of the running kernel.
#include "hotplug/link_properties.h"
#include "hotplug/route_links.h"
#include "reactor/base/result.h"

namespace sliced::hotplug {

/// Links of the best default routes (links_of_best()), of the route that the kernel takes now, and of other routes beyond the links' own subnets (RouteLinks) that traffic of the host may take, IPv4 and IPv6:
/// those of the main table, and of every table that a rule leads to which chooses by neither source address nor mark, whatever else it
/// chooses by; next hops of multipath routes and of nexthop objects. Tables behind a source or a mark are not
/// asked: so is it that interfaces of several rails carry a default route each and stay free. A VRF's table
/// is asked like the main one: a VLAN above a PF may be enslaved to it, or a route of it lead out of it.
/// What changes while it is told is asked again, five times at most (kBusy).
/// Blocks, at most two seconds per answer; no privilege needed.
Result<RouteLinks> ask_route_links();

/// Properties of a link of this network namespace. Blocks, at most two seconds; empty where the link is gone.
Result<LinkProperties> ask_link_properties(int ifindex);

}  // namespace sliced::hotplug
