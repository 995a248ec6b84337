#include "kubelet/link_network.h"

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <cstring>

#include "kubelet/netlink.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using netlink::aligned;
using netlink::bytes_of;
using netlink::decode_dump;
using netlink::Dumped;
using netlink::each_attribute;
using netlink::encode_dump;
using netlink::encode_request;
using netlink::error_of;
using netlink::number_in;
using netlink::read_dump;
using netlink::read_items;

constexpr Dumped kAddresses = {RTM_GETADDR, RTM_NEWADDR, "RTM_GETADDR", "RTM_NEWADDR"};

std::string ip_text(std::string_view bytes) {
  const auto address = IpAddress::of_bytes(bytes);
  return address ? address->text() : "";
}

// Of a point-to-point interface IFA_ADDRESS is the other end's.
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

constexpr Dumped kRoutes = {RTM_GETROUTE, RTM_NEWROUTE, "RTM_GETROUTE", "RTM_NEWROUTE"};

bool decode_link_address(std::string_view payload, LinkAddress& out) {
  ifaddrmsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  HostAddress address;
  if (!decode_address(payload, address, out.ifindex)) return false;
  if (!address.address.empty()) out.address = address.address + "/" + std::to_string(info.ifa_prefixlen);
  return true;
}

// "" destination: of another table or family, or of several next hops.
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
                          table == RT_TABLE_MAIN && info.rtm_type == RTN_UNICAST && out.ifindex != 0;
  if (is_counted) out.destination = destination + "/" + std::to_string(info.rtm_dst_len);
  return is_whole;
}

}  // namespace

Result<Unit> add_address(int network_namespace, const LinkAddress& address) {
  const auto ip = IpPrefix::decode(address.address);
  if (!ip)
    return Error{Errc::kInvalid, in_quotes(address.address, 64) + " is no IP address with a prefix length"};
  const bool is_ipv6 = ip->address.is_ipv6();
  ifaddrmsg info{};
  info.ifa_family = is_ipv6 ? AF_INET6 : AF_INET;
  info.ifa_prefixlen = static_cast<uint8_t>(ip->length);
  info.ifa_flags = is_ipv6 ? IFA_F_NODAD : 0;
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
  info.rtm_table = RT_TABLE_MAIN;
  info.rtm_protocol = RTPROT_STATIC;
  info.rtm_scope = !gateway && !is_ipv6 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  info.rtm_type = RTN_UNICAST;
  std::string attributes;
  if (destination->length > 0) put_attribute(attributes, RTA_DST, destination->address.bytes());
  if (gateway) put_attribute(attributes, RTA_GATEWAY, gateway->bytes());
  put_attribute(attributes, RTA_OIF, bytes_of(route.ifindex));
  if (route.priority != 0) put_attribute(attributes, RTA_PRIORITY, bytes_of(route.priority));
  const int error = send_link_request(network_namespace, encode_request(RTM_NEWROUTE, info, attributes));
  if (error == 0) return Unit{};
  return error_of("add route " + route.destination + (gateway ? " via " + route.gateway : ""), error);
}

Result<std::vector<LinkAddress>> read_link_addresses(int network_namespace) {
  return read_items<ifaddrmsg, LinkAddress>(network_namespace, kAddresses, decode_link_address,
                                            [](const LinkAddress& one) { return !one.address.empty(); });
}

Result<std::vector<LinkRoute>> read_routes(int network_namespace) {
  return read_items<rtmsg, LinkRoute>(network_namespace, kRoutes, decode_route,
                                      [](const LinkRoute& one) { return !one.destination.empty(); });
}

}  // namespace sliced::kubelet
