#pragma once
// IP configuration of interfaces by rtnetlink, in this network namespace or in a pod's (kOwnNamespace, or a
// descriptor).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/host_link.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr uint32_t kMainTable = 254;  // RT_TABLE_MAIN
inline constexpr uint8_t kRuleProtocol =
    115;  // FRA_PROTOCOL of sliced's rules; unused in iproute2's rt_protos

/// An IP address of an interface, without its prefix length.
struct HostAddress {
  std::string address;    // "10.0.0.1", "2001:db8::1"
  std::string interface;  // its name; "" if it no longer exists
  bool operator==(const HostAddress&) const = default;
};
/// Returns all IPv4 and IPv6 addresses of this namespace's interfaces, by RTM_GETADDR. Errors: as
/// read_links().
Result<std::vector<HostAddress>> read_addresses();

/// An IP address of an interface, with its prefix length.
struct LinkAddress {
  int ifindex = 0;
  std::string address;        // "10.0.0.5/24"
  bool is_tentative = false;  // IPv6: duplicate address detection is in progress (IFA_F_TENTATIVE)
  bool is_duplicate = false;  // IPv6: another station has the address (IFA_F_DADFAILED)
  bool operator==(const LinkAddress&) const = default;
};
/// A unicast route. gateway "": the destination is on the link. priority 0: the kernel's default (1024 for
/// IPv6).
struct LinkRoute {
  int ifindex = 0;
  std::string destination, gateway;  // "10.0.0.0/8", "0.0.0.0/0"
  uint32_t priority = 0;
  uint32_t table = kMainTable;
  bool operator==(const LinkRoute&) const = default;
};
/// A rule that selects a table for packets by source, destination or both (ip-rule(8)).
struct NetworkRule {
  std::string source, destination;  // "10.0.0.0/8"; "" matches any
  uint32_t table = 0, priority = 0;
  bool is_ours = false;  // added by add_rule(): its protocol (FRA_PROTOCOL) is kRuleProtocol
  bool operator==(const NetworkRule&) const = default;
};
/// A permanent entry of the neighbor table.
struct LinkNeighbor {
  int ifindex = 0;
  std::string address, mac;  // "10.0.0.1", "aa:bb:.."
  bool operator==(const LinkNeighbor&) const = default;
};
/// RTM_NEWADDR, RTM_NEWROUTE and RTM_NEWRULE with NLM_F_EXCL. An IPv4 address gets the broadcast address of
/// its subnet. An IPv6 address is usable immediately (IFA_F_NODAD). With detects_duplicates it is tentative
/// until duplicate address detection ends.
/// Errors: kConflict if the namespace already has it; kInvalid for an invalid address; those of
/// change_link().
Result<Unit> add_address(int network_namespace, const LinkAddress& address, bool detects_duplicates = false);
Result<Unit> add_route(int network_namespace, const LinkRoute& route);
Result<Unit> add_rule(int network_namespace, const NetworkRule& rule);
/// Removes a rule that add_rule() added. The kernel also compares FRA_PROTOCOL (net/core/fib_rules.c, since
/// Linux 4.17). Returns false if there is no such rule. Errors: as add_rule().
Result<bool> remove_rule(int network_namespace, const NetworkRule& rule);
/// Replaces the interface's entry for that address. Errors: as add_route().
Result<Unit> set_neighbor(int network_namespace, const LinkNeighbor& neighbor);
/// Return all of the namespace, IPv4 and IPv6: routes of all tables except `local`, rules that select a
/// table, permanent neighbors. Errors: as read_links().
Result<std::vector<LinkAddress>> read_link_addresses(int network_namespace);
Result<std::vector<LinkRoute>> read_routes(int network_namespace);
Result<std::vector<NetworkRule>> read_rules(int network_namespace);
Result<std::vector<LinkNeighbor>> read_neighbors(int network_namespace);

/// Writes a sysctl of that namespace. path: below /proc/sys, "net/ipv4/conf/net1/arp_ignore". Errors:
/// kNotFound, kDenied, kIo.
Result<Unit> write_sysctl(int network_namespace, const std::string& path, const std::string& value);
/// Returns the text without surrounding white space.
Result<std::string> read_sysctl(int network_namespace, const std::string& path);

/// Decodes one datagram of a dump of RTM_GETADDR, as decode_links(). The caller sets HostAddress::interface;
/// `indices` has one ifindex for each address.
Result<bool> decode_addresses(std::string_view datagram, std::vector<HostAddress>& addresses,
                              std::vector<int>& indices);

}  // namespace sliced::kubelet
