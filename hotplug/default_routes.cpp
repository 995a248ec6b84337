#include "hotplug/default_routes.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hotplug/netlink_decode.h"
#include "reactor/descriptor.h"

namespace sliced::hotplug {
namespace {

// The kernel dumps in pieces of at most 32 KiB, and one link has up to 64 KiB of alternative names, which
// pods may set.
constexpr size_t kDumpPieceMax = 128u << 10;
constexpr int kDatagramsMax = 65536;
constexpr timeval kDumpTimeout{.tv_sec = 2, .tv_usec = 0};

// Attempts to read a dump that changes interrupt.
constexpr int kTriesMax = 5;
// Above this number of tables, one dump reads all of them.
constexpr size_t kTablesMax = 16;

Error dump_error(const char* call) {
  const char* name = ::strerrorname_np(errno);
  const bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
  return Error{is_late ? Errc::kTimeout : Errc::kIo,
               std::string("netlink: routes: ") + call + ": " + (name != nullptr ? name : "unknown error")};
}

// Sends the request and passes each datagram of the answer to decode, until it returns true. The answer is
// empty for features that the kernel lacks (IPv6, a table, rules, nexthop objects).
template <class Decode>
Result<Unit> dump_once(const std::string& request, Decode decode, int protocol = NETLINK_ROUTE) {
  const reactor::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return dump_error("socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kDumpTimeout, sizeof kDumpTimeout);
  const int strict = 1;
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &strict, sizeof strict);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
               sizeof kernel) < 0)
    return dump_error("send");
  std::vector<char> buffer(kDumpPieceMax);
  for (int count = 0; count < kDatagramsMax; ++count) {
    const ssize_t got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return dump_error("recv");
    const Result<bool> is_last = decode(std::string_view(buffer.data(), static_cast<size_t>(got)));
    if (!is_last && is_last.error().code == Errc::kNotFound) return Unit{};
    if (!is_last) return is_last.error();
    if (*is_last) return Unit{};
  }
  return Error{Errc::kTooLarge, "netlink: routes: the answer does not end"};
}

// If the content changes during a dump, entries may be missing, so the dump is repeated; the results
// accumulate.
template <class Decode>
Result<Unit> dump(const std::string& request, Decode decode) {
  for (int tries = 1;; ++tries) {
    auto dumped = dump_once(request, decode);
    if (dumped || dumped.error().code != Errc::kBusy || tries == kTriesMax) return dumped;
  }
}

// Errors mean that there is no such route (ENETUNREACH).
void add_routes_read(const std::vector<DefaultRoute>& routes, std::set<int>& links) {
  for (const bool is_v6 : {false, true})
    (void)dump_once(encode_route_request(is_v6, 1), [&](std::string_view datagram) -> Result<bool> {
      const auto addressed_links = decode_route_of_address(datagram);
      if (!addressed_links) return addressed_links.error();
      for (const DefaultRoute& route : routes)
        for (const int link : route.links)
          if (route.is_v6 == is_v6 && addressed_links->contains(link)) links.insert(link);
      return true;
    });
}

// Returns the decoded answer; empty if the kernel lacks the feature.
template <class T, class Decode>
Result<T> query_once(const std::string& request, Decode decode, int protocol = NETLINK_ROUTE) {
  T out{};
  const auto queried = dump_once(
      request,
      [&](std::string_view datagram) -> Result<bool> {
        auto decoded = decode(datagram);
        if (!decoded) return decoded.error();
        out = *std::move(decoded);
        return true;
      },
      protocol);
  if (!queried) return queried.error();
  return out;
}

}  // namespace

Result<LinkProperties> query_link_properties(int ifindex) {
  return query_once<LinkProperties>(encode_link_request(ifindex, 1), &decode_link_properties);
}

Result<std::string> query_devlink_port(int ifindex) {
  const auto port =
      query_once<std::optional<DevlinkPort>>(encode_link_request(ifindex, 1), &decode_port_of_link);
  if (!port) return port.error();
  if (!*port) return std::string();
  // Asked each time: the number is another one when the module was loaded again.
  const auto family = query_once<uint16_t>(encode_devlink_family_request(1), &decode_family, NETLINK_GENERIC);
  if (!family) return family.error();
  if (*family == 0) return std::string();
  return query_once<std::string>(
      encode_devlink_port_request(*family, **port, 1),
      [&](std::string_view datagram) { return decode_devlink_port_name(datagram, *family); },
      NETLINK_GENERIC);
}

Result<RouteLinks> query_route_links() {
  Nexthops nexthops;
  auto queried = dump(encode_nexthop_dump(1),
                      [&](std::string_view datagram) { return decode_nexthops(datagram, nexthops); });
  if (!queried) return queried.error();
  RouteLinks out;
  std::set<SubnetRoute> subnets;
  std::vector<DefaultRoute> defaults;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    std::set<uint32_t> tables{RT_TABLE_MAIN};  // also where no rule leads to it any more
    queried = dump(encode_rule_dump(family, 1),
                   [&](std::string_view datagram) { return decode_rule_tables(datagram, tables); });
    if (!queried) return queried.error();
    if (tables.erase(kTablesOfVrfs) > 0) {
      queried = dump(encode_vrf_dump(1),
                     [&](std::string_view datagram) { return decode_vrf_tables(datagram, tables); });
      if (!queried) return queried.error();
    }
    for (const uint32_t table : tables.size() > kTablesMax ? std::set<uint32_t>{0} : tables) {
      queried = dump(encode_route_dump(family, table, 1), [&](std::string_view datagram) {
        const auto others = decode_subnet_routes(datagram, tables, nexthops, subnets);
        return others ? decode_default_routes(datagram, tables, nexthops, defaults) : others;
      });
      if (!queried) return queried.error();
    }
  }
  out.defaults = links_of_best(defaults);
  add_routes_read(defaults, out.defaults);
  for (const int link : learned_links(defaults))
    if (out.defaults.contains(link)) out.learned.insert(link);
  out.others = links_beyond_subnets(subnets);
  return out;
}

}  // namespace sliced::hotplug
