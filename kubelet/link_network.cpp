#include "kubelet/link_network.h"

#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "kubelet/netlink.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using netlink::aligned;
using netlink::bytes_of;
using netlink::decode_dump;
using netlink::DumpTypes;
using netlink::each_attribute;
using netlink::encode_dump;
using netlink::encode_request;
using netlink::error_of;
using netlink::mac_bytes;
using netlink::number_in;
using netlink::read_dump;
using netlink::read_items;

constexpr DumpTypes kAddresses = {RTM_GETADDR, RTM_NEWADDR, "RTM_GETADDR", "RTM_NEWADDR"};

std::string ip_text(std::string_view bytes) {
  const auto address = IpAddress::of_bytes(bytes);
  return address ? address->text() : "";
}

// On a point-to-point interface IFA_ADDRESS is the peer's address.
bool decode_address(std::string_view payload, HostAddress& out, int& ifindex) {
  ifaddrmsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  ifindex = static_cast<int>(info.ifa_index);
  const size_t size = info.ifa_family == AF_INET ? 4 : 16;
  std::string_view bytes;
  bool is_local = false;
  const bool is_whole =
      each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
        if (value.size() != size || (type != IFA_LOCAL && (type != IFA_ADDRESS || is_local))) return;
        bytes = value;
        is_local = type == IFA_LOCAL;
      });
  if (!bytes.empty()) out.address = ip_text(bytes);
  return is_whole;
}

}  // namespace

Result<bool> decode_addresses(std::string_view datagram, std::vector<HostAddress>& addresses,
                              std::vector<int>& indices) {
  return decode_dump(datagram, kAddresses, [&](std::string_view payload) {
    HostAddress address;
    int ifindex = 0;
    const bool is_whole = decode_address(payload, address, ifindex);
    if (is_whole && !address.address.empty()) {
      addresses.push_back(std::move(address));
      indices.push_back(ifindex);
    }
    return is_whole;
  });
}

Result<std::vector<HostAddress>> read_addresses() {
  std::vector<HostAddress> addresses;
  std::vector<int> indices;
  auto read = read_dump(
      kOwnNamespace, kAddresses, encode_dump<ifaddrmsg>(kAddresses),
      [&] { addresses.clear(), indices.clear(); },
      [&](std::string_view datagram) { return decode_addresses(datagram, addresses, indices); });
  if (!read) return std::move(read.error());
  const auto links = read_links(kOwnNamespace);
  if (!links) return links.error();
  for (size_t i = 0; i < addresses.size(); ++i)
    for (const HostLink& link : *links)
      if (link.ifindex == indices[i]) addresses[i].interface = link.name;
  return addresses;
}

namespace {

constexpr DumpTypes kRoutes = {RTM_GETROUTE, RTM_NEWROUTE, "RTM_GETROUTE", "RTM_NEWROUTE"};

bool decode_link_address(std::string_view payload, LinkAddress& out) {
  ifaddrmsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  HostAddress address;
  if (!decode_address(payload, address, out.ifindex)) return false;
  if (!address.address.empty()) out.address = address.address + "/" + std::to_string(info.ifa_prefixlen);
  uint32_t flags = info.ifa_flags;
  (void)each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
    if (type == IFA_FLAGS) flags = number_in(value).value_or(flags);
  });
  if (info.ifa_family != AF_INET6) return true;
  out.is_tentative = (flags & IFA_F_TENTATIVE) != 0;
  out.is_duplicate = (flags & IFA_F_DADFAILED) != 0;
  return true;
}

// "" destination: of table local or another family, or of several next hops.
bool decode_route(std::string_view payload, LinkRoute& out) {
  rtmsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  uint32_t table = info.rtm_table;
  std::string destination = info.rtm_family == AF_INET ? "0.0.0.0" : "::";
  const bool is_whole =
      each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
        const auto number = number_in(value);
        if (type == RTA_DST) destination = ip_text(value);
        if (type == RTA_GATEWAY) out.gateway = ip_text(value);
        if (type == RTA_TABLE && number) table = *number;
        if (type == RTA_PRIORITY && number) out.priority = *number;
        if (type == RTA_OIF && number) out.ifindex = static_cast<int>(*number);
      });
  const bool is_counted = (info.rtm_family == AF_INET || info.rtm_family == AF_INET6) &&
                          table != RT_TABLE_LOCAL && info.rtm_type == RTN_UNICAST && out.ifindex != 0;
  out.table = table;
  if (is_counted) out.destination = destination + "/" + std::to_string(info.rtm_dst_len);
  return is_whole;
}

constexpr DumpTypes kRules = {RTM_GETRULE, RTM_NEWRULE, "RTM_GETRULE", "RTM_NEWRULE"};
constexpr DumpTypes kNeighbors = {RTM_GETNEIGH, RTM_NEWNEIGH, "RTM_GETNEIGH", "RTM_NEWNEIGH"};

// Sets table 0 if the rule refers to no table, or has a condition of another kind.
bool decode_rule(std::string_view payload, NetworkRule& out) {
  fib_rule_hdr info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  out.table = info.table;
  bool has_others = info.tos != 0 || (info.flags & FIB_RULE_INVERT) != 0 || info.action != FR_ACT_TO_TBL ||
                    (info.family != AF_INET && info.family != AF_INET6);
  const bool is_whole =
      each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
        const auto number = number_in(value);
        if (type == FRA_SRC) out.source = ip_text(value) + "/" + std::to_string(info.src_len);
        if (type == FRA_DST) out.destination = ip_text(value) + "/" + std::to_string(info.dst_len);
        if (type == FRA_TABLE && number) out.table = *number;
        if (type == FRA_PRIORITY && number) out.priority = *number;
        if (type == FRA_PROTOCOL && value.size() == 1)
          out.is_ours = static_cast<uint8_t>(value.front()) == kRuleProtocol;
        has_others |= type == FRA_IIFNAME || type == FRA_OIFNAME || type == FRA_FWMARK ||
                      type == FRA_UID_RANGE || type == FRA_IP_PROTO;
      });
  if (has_others) out.table = 0;
  return is_whole;
}

bool decode_neighbor(std::string_view payload, LinkNeighbor& out) {
  ndmsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  out.ifindex = info.ndm_ifindex;
  std::string address;
  const bool is_whole =
      each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
        if (type == NDA_DST) address = ip_text(value);
        if (type == NDA_LLADDR) out.mac = netlink::mac_text(value);
      });
  if ((info.ndm_state & NUD_PERMANENT) != 0 && (info.ndm_flags & NTF_PROXY) == 0) out.address = address;
  return is_whole;
}

// Returns nullopt if source or destination are not networks, or both are missing.
std::optional<std::string> encode_rule(uint16_t type, const NetworkRule& rule, int flags) {
  const auto source = IpPrefix::decode(rule.source), destination = IpPrefix::decode(rule.destination);
  if ((!source && !rule.source.empty()) || (!destination && !rule.destination.empty())) return std::nullopt;
  if (!source && !destination) return std::nullopt;
  const bool is_ipv6 = (source ? *source : *destination).address.is_ipv6();
  fib_rule_hdr info{};
  info.family = is_ipv6 ? AF_INET6 : AF_INET;
  info.src_len = static_cast<uint8_t>(source ? source->length : 0);
  info.dst_len = static_cast<uint8_t>(destination ? destination->length : 0);
  info.table = RT_TABLE_UNSPEC;
  info.action = FR_ACT_TO_TBL;
  std::string attributes;
  if (source) put_attribute(attributes, FRA_SRC, source->address.bytes());
  if (destination) put_attribute(attributes, FRA_DST, destination->address.bytes());
  put_attribute(attributes, FRA_TABLE, bytes_of(rule.table));
  put_attribute(attributes, FRA_PRIORITY, bytes_of(rule.priority));
  put_attribute(attributes, FRA_PROTOCOL, bytes_of(kRuleProtocol));
  return encode_request(type, info, attributes, flags);
}

std::string rule_text(const NetworkRule& rule) {
  return "rule" + (rule.source.empty() ? "" : " from " + rule.source) +
         (rule.destination.empty() ? "" : " to " + rule.destination) + " table " +
         std::to_string(rule.table) + " priority " + std::to_string(rule.priority);
}

}  // namespace

Result<Unit> add_address(int network_namespace, const LinkAddress& address, bool detects_duplicates) {
  const auto ip = IpPrefix::decode(address.address);
  if (!ip)
    return Error{Errc::kInvalid,
                 in_quotes(address.address, 64) + " is not an IP address with a prefix length"};
  const bool is_ipv6 = ip->address.is_ipv6();
  ifaddrmsg info{};
  info.ifa_family = is_ipv6 ? AF_INET6 : AF_INET;
  info.ifa_prefixlen = static_cast<uint8_t>(ip->length);
  info.ifa_flags = is_ipv6 && !detects_duplicates ? IFA_F_NODAD : 0;
  info.ifa_scope = RT_SCOPE_UNIVERSE;
  info.ifa_index = static_cast<uint32_t>(address.ifindex);
  std::string attributes;
  put_attribute(attributes, IFA_LOCAL, ip->address.bytes());
  put_attribute(attributes, IFA_ADDRESS, ip->address.bytes());
  if (!is_ipv6 && ip->length < 31) put_attribute(attributes, IFA_BROADCAST, ip->last().bytes());
  const int error = send_link_request(network_namespace, encode_request(RTM_NEWADDR, info, attributes));
  if (error == 0) return Unit{};
  return error_of("add address " + address.address, error);
}

Result<Unit> add_route(int network_namespace, const LinkRoute& route) {
  const auto destination = IpPrefix::decode(route.destination);
  const auto gateway = IpAddress::decode(route.gateway);
  if (!destination || (!gateway && !route.gateway.empty()))
    return Error{Errc::kInvalid, "route " + in_quotes(route.destination, 64) + " via " +
                                     in_quotes(route.gateway, 64) + " has no IP addresses"};
  const bool is_ipv6 = destination->address.is_ipv6();
  rtmsg info{};
  info.rtm_family = is_ipv6 ? AF_INET6 : AF_INET;
  info.rtm_dst_len = static_cast<uint8_t>(destination->length);
  info.rtm_table = route.table < 256 ? static_cast<uint8_t>(route.table) : uint8_t{RT_TABLE_UNSPEC};
  info.rtm_protocol = RTPROT_STATIC;
  info.rtm_scope = !gateway && !is_ipv6 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  info.rtm_type = RTN_UNICAST;
  std::string attributes;
  if (destination->length > 0) put_attribute(attributes, RTA_DST, destination->address.bytes());
  if (gateway) put_attribute(attributes, RTA_GATEWAY, gateway->bytes());
  put_attribute(attributes, RTA_OIF, bytes_of(route.ifindex));
  put_attribute(attributes, RTA_TABLE, bytes_of(route.table));
  if (route.priority != 0) put_attribute(attributes, RTA_PRIORITY, bytes_of(route.priority));
  const int error = send_link_request(network_namespace, encode_request(RTM_NEWROUTE, info, attributes));
  if (error == 0) return Unit{};
  return error_of("add route " + route.destination + (gateway ? " via " + route.gateway : ""), error);
}

Result<Unit> add_rule(int network_namespace, const NetworkRule& rule) {
  const auto request = encode_rule(RTM_NEWRULE, rule, NLM_F_CREATE | NLM_F_EXCL);
  if (!request) return Error{Errc::kInvalid, rule_text(rule) + " has no networks"};
  const int error = send_link_request(network_namespace, *request);
  if (error == 0) return Unit{};
  return error_of("add " + rule_text(rule), error);
}

// Does not read the rules first, because a pod may have tens of thousands.
Result<bool> remove_rule(int network_namespace, const NetworkRule& rule) {
  const auto request = encode_rule(RTM_DELRULE, rule, 0);
  if (!request) return Error{Errc::kInvalid, rule_text(rule) + " has no networks"};
  const int error = send_link_request(network_namespace, *request);
  if (error == ENOENT) return false;
  if (error == 0) return true;
  return error_of("remove " + rule_text(rule), error);
}

Result<Unit> set_neighbor(int network_namespace, const LinkNeighbor& neighbor) {
  const auto address = IpAddress::decode(neighbor.address);
  if (!address) return Error{Errc::kInvalid, in_quotes(neighbor.address, 64) + " is not an IP address"};
  ndmsg info{};
  info.ndm_family = address->is_ipv6() ? AF_INET6 : AF_INET;
  info.ndm_ifindex = neighbor.ifindex;
  info.ndm_state = NUD_PERMANENT;
  std::string attributes;
  put_attribute(attributes, NDA_DST, address->bytes());
  put_attribute(attributes, NDA_LLADDR, mac_bytes(neighbor.mac));
  const int error = send_link_request(
      network_namespace, encode_request(RTM_NEWNEIGH, info, attributes, NLM_F_CREATE | NLM_F_REPLACE));
  if (error == 0) return Unit{};
  return error_of("add neighbor " + neighbor.address, error);
}

Result<std::vector<LinkAddress>> read_link_addresses(int network_namespace) {
  return read_items<ifaddrmsg, LinkAddress>(network_namespace, kAddresses, decode_link_address,
                                            [](const LinkAddress& one) { return !one.address.empty(); });
}

Result<std::vector<LinkRoute>> read_routes(int network_namespace) {
  return read_items<rtmsg, LinkRoute>(network_namespace, kRoutes, decode_route,
                                      [](const LinkRoute& one) { return !one.destination.empty(); });
}

Result<std::vector<NetworkRule>> read_rules(int network_namespace) {
  return read_items<fib_rule_hdr, NetworkRule>(network_namespace, kRules, decode_rule,
                                               [](const NetworkRule& one) { return one.table != 0; });
}

Result<std::vector<LinkNeighbor>> read_neighbors(int network_namespace) {
  return read_items<ndmsg, LinkNeighbor>(network_namespace, kNeighbors, decode_neighbor,
                                         [](const LinkNeighbor& one) { return !one.address.empty(); });
}

namespace {

// /proc/sys/net shows the namespace of the thread that opens a file.
template <class Use>
Result<Unit> with_sysctl(int network_namespace, const std::string& path, int flags, const Use& use) {
  int failed = 0;
  const int error = in_namespace(network_namespace, [&] {
    const reactor::Descriptor file(::open(("/proc/sys/" + path).c_str(), flags | O_CLOEXEC));
    failed = !file || use(file.get()) < 0 ? errno : 0;
  });
  if (error != 0) return error_of("enter the pod's network namespace", error);
  if (failed == ENOENT) return Error{Errc::kNotFound, "sysctl " + path + " does not exist on this kernel"};
  if (failed != 0) return error_of("sysctl " + path, failed);
  return Unit{};
}

}  // namespace

Result<Unit> write_sysctl(int network_namespace, const std::string& path, const std::string& value) {
  return with_sysctl(network_namespace, path, O_WRONLY,
                     [&](int file) { return ::write(file, value.data(), value.size()); });
}

Result<std::string> read_sysctl(int network_namespace, const std::string& path) {
  char text[256];
  ssize_t size = 0;
  auto read = with_sysctl(network_namespace, path, O_RDONLY,
                          [&](int file) { return size = ::read(file, text, sizeof text); });
  if (!read) return std::move(read.error());
  return std::string(trim(std::string_view(text, static_cast<size_t>(size))));
}

}  // namespace sliced::kubelet
