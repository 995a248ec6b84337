#pragma once
// Decodes rtnetlink messages (linux/rtnetlink.h, linux/if_link.h) to events and VF facts. Every length is
// checked.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/event_source.h"
#include "hotplug/facts.h"
#include "hotplug/link_properties.h"

namespace sliced::hotplug {

/// Decodes one datagram of the link, route, rule and nexthop groups. Ignores other messages. Errors: kInvalid
/// for a length that leads outside; earlier messages of the datagram are lost then, and the caller reports an
/// Overflow.
Result<std::vector<HostEvent>> decode_link_events(std::string_view datagram);

/// Returns the settings that a PF enforces, by VF index, from the answer to one RTM_GETLINK with
/// RTEXT_FILTER_VF. Values that the driver omits, or fills with ones (rtnl_fill_vfinfo in
/// net/core/rtnetlink.c), are absent. A list whose 16-bit length has wrapped (more than 334 VFs) is decoded
/// completely. Errors: kInvalid, also for a truncated list; for an NLMSG_ERROR by its errno: kTooLarge for
/// EMSGSIZE, kNotFound and others.
Result<std::map<int, VfConfig>> decode_vf_configs(std::string_view datagram);
/// Adds the settings of one link from a datagram of the answer to encode_vf_dump(). Returns true if it was
/// the last one. Errors: also kBusy, as for the dumps below.
Result<bool> decode_vf_dump(std::string_view datagram, int ifindex, std::map<int, VfConfig>& configs);

/// Links by nexthop object (linux/nexthop.h); a group has those of its members.
struct Nexthops {
  std::map<uint32_t, int> links;
  std::map<uint32_t, std::vector<uint32_t>> groups;
  std::set<int> links_of(uint32_t id) const;
};

// Each function below decodes one datagram of a dump's answer, and adds its content to the result. Returns
// true if it was the last one.
// Errors: kInvalid; kBusy if the content changed during the dump, so that entries may be missing
// (NLM_F_DUMP_INTR); others for an NLMSG_ERROR, by its errno: kNotFound also if the kernel does not support
// the type.

/// Tables for traffic of the host: those of rules that select by neither source address nor mark. An inverted
/// rule ("not from ..."), or one for mark 0, matches traffic with neither. A rule that suppresses default
/// routes (suppress_prefixlength) counts as leading to none. A rule for the table of each VRF (l3mdev) gives
/// kTablesOfVrfs.
Result<bool> decode_rule_tables(std::string_view datagram, std::set<uint32_t>& tables);
inline constexpr uint32_t kTablesOfVrfs = 0;  // RT_TABLE_UNSPEC
/// Tables of the VRFs among the links.
Result<bool> decode_vrf_tables(std::string_view datagram, std::set<uint32_t>& tables);
Result<bool> decode_nexthops(std::string_view datagram, Nexthops& nexthops);
/// A unicast default route.
struct DefaultRoute {
  bool is_v6 = false;
  uint32_t table = 0;
  uint8_t tos = 0, protocol = 0;  // RTPROT_
  std::string source = {};        // the source prefix, bytes and length; "" any
  uint32_t metric = 0;            // RTA_PRIORITY: the lowest one is used
  int rank = 1;                   // of the router's preference (RTA_PREF): 0 high, 1 medium, 2 low
  std::set<int> links;            // of all next hops
  std::set<int> usable_links;     // without those that are dead or whose link is down
};
/// Returns DefaultRoute::rank for RTA_PREF or RTF_PREF.
int rank_of_preference(unsigned preference);
/// Default routes of these tables, in the kernel's order.
Result<bool> decode_default_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                   const Nexthops& nexthops, std::vector<DefaultRoute>& routes);
/// Returns RouteLinks::defaults: for each family, table, TOS and source prefix all next hops of the best
/// route, and the usable ones of the best usable route. While the link of the best route is down, traffic
/// uses the second one, and returns when the link is up. Of equal routes the kernel uses the first.
std::set<int> links_of_best(const std::vector<DefaultRoute>& routes);
/// Returns links all of whose default routes have the protocol `dhcp` or `ra`.
std::set<int> learned_links(const std::vector<DefaultRoute>& routes);
/// Returns the links of the route that the kernel uses for one address: the answer to encode_route_request().
/// Empty if no route leaves the host. Errors: as above.
Result<std::set<int>> decode_route_of_address(std::string_view datagram);

/// A unicast route of these tables that is neither a default route nor from an ICMP redirect.
struct SubnetRoute {
  int link = 0;
  bool is_v6 = false;
  /// It belongs to an address of the link, or to a router's prefix: without a gateway, and from the kernel
  /// (RTPROT_KERNEL), from a router advertisement (RTPROT_RA), or with a source address within itself.
  bool is_connected = false;
  uint8_t length = 0;       // of the prefix, in bits
  std::string destination;  // 4 or 16 bytes
  bool operator<(const SubnetRoute& other) const;
};
/// 169.254.0.0/16 (a cloud's metadata server), 224.0.0.0/4, fe80::/10, ff00::/8: ignored.
bool is_local_or_multicast(const SubnetRoute& route);
Result<bool> decode_subnet_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                  const Nexthops& nexthops, std::set<SubnetRoute>& routes);
/// Returns RouteLinks::others of all decoded routes.
std::set<int> links_beyond_subnets(const std::set<SubnetRoute>& routes);

// family: AF_INET or AF_INET6. All dumps require NETLINK_GET_STRICT_CHK.
std::string encode_rule_dump(uint8_t family, uint32_t sequence);
std::string encode_nexthop_dump(uint32_t sequence);
/// VRFs only; a kernel without VRF support answers with all links.
std::string encode_vrf_dump(uint32_t sequence);
/// table 0: all of them.
std::string encode_route_dump(uint8_t family, uint32_t table, uint32_t sequence);

/// Requests the kernel's route for an address outside any network, which is a default route. Metrics alone do
/// not show it: of equal IPv6 routes the kernel uses one whose router answers (find_rr_leaf() in
/// net/ipv6/route.c).
std::string encode_route_request(bool is_v6, uint32_t sequence);

/// IFLA_NETNS_IMMUTABLE of linux/if_link.h, a byte; since Linux 6.15.
inline constexpr int kNetnsImmutable = 67;

/// Returns LinkProperties from the answer to encode_link_request(). Errors: as decode_vf_configs().
Result<LinkProperties> decode_link_properties(std::string_view datagram);
std::string encode_link_request(int ifindex, uint32_t sequence);

/// Key of a devlink port (linux/devlink.h): bus and device of its devlink instance, and its index, such as
/// "pci", "0000:03:00.0", 65535.
struct DevlinkPort {
  std::string bus, device;
  uint32_t index = 0;
  bool operator==(const DevlinkPort&) const = default;
};
/// IFLA_DEVLINK_PORT of linux/if_link.h, with the three attributes of devlink; since Linux 6.2.
inline constexpr int kLinkDevlinkPort = 62;
/// Returns the port of an interface from the answer to encode_link_request(); nullopt if it has none, or the
/// kernel does not report it.
Result<std::optional<DevlinkPort>> decode_port_of_link(std::string_view datagram);

/// Generic netlink (linux/genetlink.h): the number of the family "devlink". Errors: kNotFound if the kernel
/// lacks it.
std::string encode_devlink_family_request(uint32_t sequence);
Result<uint16_t> decode_family(std::string_view datagram);
/// DEVLINK_CMD_PORT_GET, which needs no privilege.
std::string encode_devlink_port_request(uint16_t family, const DevlinkPort& port, uint32_t sequence);
/// Returns the name of the port by its flavour: "p0", "pf0vf3", "c1pf0sf88", as the kernel writes it to
/// phys_port_name for drivers that leave it to devlink (net/devlink/port.c). "" for flavours without a name.
Result<std::string> decode_devlink_port_name(std::string_view datagram, uint16_t family);

/// The request for decode_vf_configs().
std::string encode_vf_request(int ifindex, uint32_t sequence);
/// The request for decode_vf_dump(): all links, with the VFs of each.
std::string encode_vf_dump(uint32_t sequence);

}  // namespace sliced::hotplug
