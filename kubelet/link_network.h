#pragma once
// The IP configuration of interfaces by rtnetlink, in this network namespace or in a pod's (kOwnNamespace, or a descriptor).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kubelet/host_link.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

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
  std::string address;  // "10.0.0.5/24"
  bool operator==(const LinkAddress&) const = default;
};
/// A route of the main table. gateway "": the destination is on the link; priority 0: the kernel's default (1024 for IPv6).
struct LinkRoute {
  int ifindex = 0;
  std::string destination, gateway;  // "10.0.0.0/8", "0.0.0.0/0"
  uint32_t priority = 0;
  bool operator==(const LinkRoute&) const = default;
};
/// RTM_NEWADDR and RTM_NEWROUTE, NLM_F_EXCL. An IPv6 address is usable at once (IFA_F_NODAD), an IPv4 one has the broadcast address of its subnet.
/// Errors: kConflict where the namespace has it; kInvalid for a text that is no address; those of change_link().
Result<Unit> add_address(int network_namespace, const LinkAddress& address);
Result<Unit> add_route(int network_namespace, const LinkRoute& route);
/// All of the namespace, IPv4 and IPv6; routes of the main table. Errors: as read_links().
Result<std::vector<LinkAddress>> read_link_addresses(int network_namespace);
Result<std::vector<LinkRoute>> read_routes(int network_namespace);

/// The decoded answer to a dump of RTM_GETADDR, as decode_links(). HostAddress::interface is left to the caller: index has one number for each address.
Result<bool> decode_addresses(std::string_view datagram, std::vector<HostAddress>& addresses,
                              std::vector<int>& indices);

}  // namespace sliced::kubelet
