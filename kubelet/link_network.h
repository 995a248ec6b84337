#pragma once
// The IP configuration of interfaces by rtnetlink, in this network namespace or in a pod's (kOwnNamespace, or a descriptor).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/host_link.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr uint32_t kMainTable = 254;  // RT_TABLE_MAIN
inline constexpr uint8_t kRuleProtocol =
    115;  // FRA_PROTOCOL of sliced's rules; rt_protos of iproute2 has no such number

/// An IP address of an interface, without its prefix length.
struct HostAddress {
  std::string address;    // "10.0.0.1", "2001:db8::1"
  std::string interface;  // its name; "" gone meanwhile
  bool operator==(const HostAddress&) const = default;
};
/// All IPv4 and IPv6 addresses of this namespace's interfaces, by RTM_GETADDR. Errors: as read_links().
Result<std::vector<HostAddress>> read_addresses();

/// An IP address of an interface, with its prefix length.
struct LinkAddress {
  int ifindex = 0;
  std::string address;        // "10.0.0.5/24"
  bool is_tentative = false;  // IPv6: duplicate address detection has not ended (IFA_F_TENTATIVE)
  bool is_duplicate = false;  // IPv6: another station has it (IFA_F_DADFAILED)
  bool operator==(const LinkAddress&) const = default;
};
/// A unicast route. gateway "": the destination is on the link; priority 0: the kernel's default (1024 for IPv6).
struct LinkRoute {
  int ifindex = 0;
  std::string destination, gateway;  // "10.0.0.0/8", "0.0.0.0/0"
  uint32_t priority = 0;
  uint32_t table = kMainTable;
  bool operator==(const LinkRoute&) const = default;
};
/// A rule by which packets of a source, a destination or both use a table (ip-rule(8)).
struct NetworkRule {
  std::string source, destination;  // "10.0.0.0/8"; "" any
  uint32_t table = 0, priority = 0;
  bool is_ours = false;  // made by add_rule(): its protocol (FRA_PROTOCOL) is kRuleProtocol
  bool operator==(const NetworkRule&) const = default;
};
/// A permanent entry of the neighbor table.
struct LinkNeighbor {
  int ifindex = 0;
  std::string address, mac;  // "10.0.0.1", "aa:bb:.."
  bool operator==(const LinkNeighbor&) const = default;
};
/// RTM_NEWADDR, RTM_NEWROUTE and RTM_NEWRULE, NLM_F_EXCL. An IPv4 address has the broadcast address of its subnet. An IPv6 address is usable
/// immediately (IFA_F_NODAD), or detects_duplicates: is tentative until duplicate address detection has ended.
/// Errors: kConflict where the namespace has it; kInvalid for a text that is no address; those of change_link().
Result<Unit> add_address(int network_namespace, const LinkAddress& address, bool detects_duplicates = false);
Result<Unit> add_route(int network_namespace, const LinkRoute& route);
Result<Unit> add_rule(int network_namespace, const NetworkRule& rule);
/// Removes one that add_rule() has made: the kernel compares FRA_PROTOCOL, too (net/core/fib_rules.c, since Linux 4.17). Returns false where
/// there is none. Errors: as add_rule().
Result<bool> remove_rule(int network_namespace, const NetworkRule& rule);
/// In place of the interface's entry for that address. Errors: as add_route().
Result<Unit> set_neighbor(int network_namespace, const LinkNeighbor& neighbor);
/// All of the namespace, IPv4 and IPv6: routes of all tables but `local`, rules that lead to a table, permanent neighbors. Errors: as read_links().
Result<std::vector<LinkAddress>> read_link_addresses(int network_namespace);
Result<std::vector<LinkRoute>> read_routes(int network_namespace);
Result<std::vector<NetworkRule>> read_rules(int network_namespace);
Result<std::vector<LinkNeighbor>> read_neighbors(int network_namespace);

/// A sysctl of that namespace. path: below /proc/sys, "net/ipv4/conf/net1/arp_ignore". Errors: kNotFound, kDenied, kIo.
Result<Unit> write_sysctl(int network_namespace, const std::string& path, const std::string& value);
/// Returns the text without white space at its ends.
Result<std::string> read_sysctl(int network_namespace, const std::string& path);

/// The decoded answer to a dump of RTM_GETADDR, as decode_links(). HostAddress::interface is left to the caller: index has one number for each address.
Result<bool> decode_addresses(std::string_view datagram, std::vector<HostAddress>& addresses,
                              std::vector<int>& indices);

}  // namespace sliced::kubelet
