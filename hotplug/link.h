#pragma once
// One interface below /sys/class/net (Documentation/ABI/testing/sysfs-class-net), and what proc says of all
// of them.
#include <optional>
#include <string_view>

#include "hotplug/host_view.h"
#include "hotplug/readings.h"

namespace sliced::hotplug {

/// nullopt when the interface is gone. Reads nothing that takes the kernel's network lock.
std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name);
/// The same where its entry in /sys/class/net is known already ("" unknown).
std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name,
                                         std::string_view link_target);

/// Those that take locks or ask firmware: operstate, speed, phys_switch_id, phys_port_name. May hang.
SlowFacts read_slow_facts_of_netdev(const HostView& host, std::string_view name);

// Texts of proc/net/vlan/config, proc/net/route and proc/net/ipv6_route; what cannot be understood is passed
// over. Of default routes the interfaces of the best one (RouteLinks::defaults): the lowest metric, the highest preference, the first.
std::map<std::string, VlanEntry> decode_vlan_config(std::string_view text);
void decode_default_routes4(std::string_view text, std::set<std::string>& names);
void decode_default_routes6(std::string_view text, std::set<std::string>& names);
/// Links with a route through a gateway whose destination is beyond their own subnets (the routes without a gateway): neither
/// file has the protocol that a route was made by.
void decode_other_routes4(std::string_view text, std::set<std::string>& names);
void decode_other_routes6(std::string_view text, std::set<std::string>& names);

// What cannot be read keeps its last value and is a problem. Default routes want the interfaces read before.
void read_vlans(const HostView& host, HostReadings& readings);
/// Default routes of `before` for what has not been able to read them again: they stay with their interfaces,
/// whatever those are called now.
void keep_default_routes(const HostReadings& before, HostReadings& now);
/// By netlink on the running system, from proc in a snapshot.
/// False: some lead to an interface that is not among readings.netdevs, which is in readings.missing_links instead.
bool read_default_routes(const HostView& host, HostReadings& readings);
/// As HostReadings::missing_links has it.
std::string missing_link(int ifindex);

}  // namespace sliced::hotplug
