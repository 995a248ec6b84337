#pragma once
// One interface below /sys/class/net (Documentation/ABI/testing/sysfs-class-net), and lists of proc about all
// interfaces.
#include <optional>
#include <string>
#include <string_view>

#include "hotplug/host_view.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// Returns nullopt if the interface does not exist. Reads no attribute that locks the kernel's network state.
std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name);
/// The same with its known entry in /sys/class/net ("" if unknown).
std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name,
                                         std::string_view link_target);

/// Reads attributes that lock or query firmware: operstate, speed, phys_switch_id, phys_port_name. May hang.
SlowFacts read_slow_facts_of_netdev(const HostView& host, std::string_view name);

/// Returns the name of the port by its devlink flavour (HostView::devlink_port()) if the interface has a
/// switch id and its phys_port_name is ambiguous; otherwise "", without a query, because the kernel answers
/// only when it gets the lock of the driver.
Result<std::string> read_devlink_port(const HostView& host, int ifindex, std::string_view switch_id,
                                      std::string_view phys_port_name);

// Decode proc/net/vlan/config, proc/net/route and proc/net/ipv6_route; ignore invalid lines. The default
// routes are the interfaces of the best one (RouteLinks::defaults): the lowest metric, the highest
// preference, the first.
std::map<std::string, VlanEntry> decode_vlan_config(std::string_view text);
void decode_default_routes4(std::string_view text, std::set<std::string>& names);
void decode_default_routes6(std::string_view text, std::set<std::string>& names);
/// Add links with a route through a gateway whose destination is outside their own subnets (the routes
/// without a gateway): neither file contains the routes' protocol.
void decode_other_routes4(std::string_view text, std::set<std::string>& names);
void decode_other_routes6(std::string_view text, std::set<std::string>& names);

// Lists that cannot be read keep their last value and are a problem. Requires: for default routes, the
// interfaces were read before.
void read_vlans(const HostView& host, HostReadings& readings);
/// Keeps the default routes of `before` if they could not be read again, with the interfaces' current names.
void keep_default_routes(const HostReadings& before, HostReadings& now);
/// Reads by netlink on the running system, from proc in a snapshot. Returns false if some lead to interfaces
/// outside readings.netdevs, and adds these to readings.missing_links.
bool read_default_routes(const HostView& host, HostReadings& readings);
/// Returns the text for HostReadings::missing_links.
std::string missing_link(int ifindex);

}  // namespace sliced::hotplug
