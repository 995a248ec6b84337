#pragma once
// rtnetlink messages (linux/rtnetlink.h, linux/if_link.h) -> events and VF facts. Bytes in, values out; every
// length is checked, whoever sent it.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hotplug/event_source.h"
#include "hotplug/facts.h"
#include "hotplug/link_properties.h"

namespace sliced::hotplug {

/// One datagram of the link, route, rule and nexthop groups. Messages of no interest give nothing. Errors:
/// kInvalid for a length that leads outside; what was decoded before it is lost, and the caller takes it as
/// an Overflow.
Result<std::vector<HostEvent>> decode_link_events(std::string_view datagram);

/// What a PF enforces of its VFs, by VF index, out of the answer to one RTM_GETLINK with RTEXT_FILTER_VF. What
/// the driver leaves out, or fills with ones (rtnl_fill_vfinfo in net/core/rtnetlink.c), is absent. A list whose 16-bit length has wrapped
/// (more than 334 VFs) is decoded to its end.
/// Errors: kInvalid, also for a list that is cut; for an NLMSG_ERROR by its errno: kTooLarge for EMSGSIZE, kNotFound and others.
Result<std::map<int, VfConfig>> decode_vf_configs(std::string_view datagram);
/// Adds the same of one link out of a datagram of the answer to encode_vf_dump(). True when it was the last. Errors: also kBusy, as of the
/// dumps below.
Result<bool> decode_vf_dump(std::string_view datagram, int ifindex, std::map<int, VfConfig>& configs);

/// Links by nexthop object (linux/nexthop.h); a group has those of its members.
struct Nexthops {
  std::map<uint32_t, int> links;
  std::map<uint32_t, std::vector<uint32_t>> groups;
  std::set<int> links_of(uint32_t id) const;
};

// One datagram of the answer to one of the dumps below; each adds what it tells. True when it was the last.
// Errors: kInvalid; kBusy where what is told has changed meanwhile, so that some of it may be missing
//         (NLM_F_DUMP_INTR); others for an NLMSG_ERROR, by its errno: kNotFound also where the kernel has no such
//         thing.

/// Tables in which traffic of the host is looked up: those of rules that choose by neither source address nor
/// mark. A rule that is turned around ("not from ..."), or asks for mark 0, takes in what has neither; one
/// that suppresses default routes (suppress_prefixlength) leads to none; one that leads to the table of
/// whichever VRF it is about (l3mdev) to kTablesOfVrfs.
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
  std::string source = {};        // the prefix that it is for, bytes and length; "" any
  uint32_t metric = 0;            // RTA_PRIORITY: the lowest wins
  int rank = 1;                   // of the router's preference (RTA_PREF): 0 high, 1 medium, 2 low
  std::set<int> links;            // of all next hops
  std::set<int> usable_links;     // without those that are dead or whose link is down
};
/// Of a router's preference, as DefaultRoute has it; of RTA_PREF or of RTF_PREF.
int rank_of_preference(unsigned preference);
/// Default routes of these tables, in the kernel's order.
Result<bool> decode_default_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                   const Nexthops& nexthops, std::vector<DefaultRoute>& routes);
/// RouteLinks::defaults. Of each family, table, TOS and source prefix: all next hops of the best route, and the usable ones of the best
/// usable route. Where the link of the best route is down, traffic takes the second, and goes back once the link is up. Of equal routes
/// the kernel takes the first.
std::set<int> links_of_best(const std::vector<DefaultRoute>& routes);
/// Links all of whose default routes have the protocol `dhcp` or `ra`.
std::set<int> learned_links(const std::vector<DefaultRoute>& routes);
/// The links of the route that the kernel takes for one address: the answer to encode_route_request(). Empty: there is no route that leaves
/// the host. Errors: as above.
Result<std::set<int>> decode_route_of_address(std::string_view datagram);

/// A unicast route that is no default route, of these tables and not made for an ICMP redirect.
struct SubnetRoute {
  int link = 0;
  bool is_v6 = false;
  /// It comes with an address of the link, or with a router's prefix: no gateway, and made by the kernel (RTPROT_KERNEL), for a
  /// router advertisement (RTPROT_RA), or with a source address within itself.
  bool is_connected = false;
  uint8_t length = 0;       // of the prefix, in bits
  std::string destination;  // 4 or 16 bytes
  bool operator<(const SubnetRoute& other) const;
};
/// 169.254.0.0/16 (a cloud's metadata server), 224.0.0.0/4, fe80::/10, ff00::/8: counts for nothing.
bool is_local_or_multicast(const SubnetRoute& route);
Result<bool> decode_subnet_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                  const Nexthops& nexthops, std::set<SubnetRoute>& routes);
/// RouteLinks::others of all that was decoded.
std::set<int> links_beyond_subnets(const std::set<SubnetRoute>& routes);

// family: AF_INET or AF_INET6. All want NETLINK_GET_STRICT_CHK.
std::string encode_rule_dump(uint8_t family, uint32_t sequence);
std::string encode_nexthop_dump(uint32_t sequence);
/// Of VRFs alone; a kernel that knows of none answers with all links.
std::string encode_vrf_dump(uint32_t sequence);
/// table 0: all of them.
std::string encode_route_dump(uint8_t family, uint32_t table, uint32_t sequence);

/// No dump: which route traffic of the host to an address of no network takes, which is a default route. It shows what metrics do not:
/// of equal IPv6 routes the kernel takes one whose router answers (find_rr_leaf() in net/ipv6/route.c).
std::string encode_route_request(bool is_v6, uint32_t sequence);

/// IFLA_NETNS_IMMUTABLE of linux/if_link.h, a byte; since Linux 6.15.
inline constexpr int kNetnsImmutable = 67;

/// LinkProperties out of the answer to encode_link_request(). Errors: as decode_vf_configs().
Result<LinkProperties> decode_link_properties(std::string_view datagram);
std::string encode_link_request(int ifindex, uint32_t sequence);

/// The request for decode_vf_configs().
std::string encode_vf_request(int ifindex, uint32_t sequence);
/// The request for decode_vf_dump(): all links, with the VFs of each.
std::string encode_vf_dump(uint32_t sequence);

}  // namespace sliced::hotplug
