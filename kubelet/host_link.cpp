#include "kubelet/host_link.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

constexpr timeval kKernelAnswerMax{.tv_sec = 10, .tv_usec = 0};
constexpr size_t kMacBytes = 6;
constexpr int kDownUp = IFF_UP, kPromisc = IFF_PROMISC, kAllmulti = IFF_ALLMULTI;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

size_t aligned(size_t size) { return (size + 3) & ~size_t{3}; }

struct NewSocket {
  int network_namespace;
  reactor::Descriptor socket = {};
  int error = 0;

  void open_here() {
    socket = reactor::Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket) error = errno;
  }
  static void* open_there(void* given) {
    auto& self = *static_cast<NewSocket*>(given);
    if (::setns(self.network_namespace, CLONE_NEWNET) != 0)
      self.error = errno;
    else
      self.open_here();
    return nullptr;
  }
};

// A socket belongs to the namespace in which it was made, so that a thread of its own is all that has to enter the other one.
// std::thread would end the process where no thread can be made, as at a pod's limit of processes.
reactor::Descriptor open_socket(int network_namespace, int& error) {
  NewSocket out{.network_namespace = network_namespace};
  if (network_namespace == kOwnNamespace) {
    out.open_here();
  } else {
    pthread_t thread{};
    out.error = ::pthread_create(&thread, nullptr, &NewSocket::open_there, &out);
    if (out.error == 0) ::pthread_join(thread, nullptr);
  }
  error = out.error;
  if (out.socket)
    ::setsockopt(out.socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kKernelAnswerMax, sizeof kKernelAnswerMax);
  return std::move(out.socket);
}

int send_to_kernel(const reactor::Descriptor& socket, const std::string& request) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto* address = reinterpret_cast<const sockaddr*>(&kernel);
  return ::sendto(socket.get(), request.data(), request.size(), 0, address, sizeof kernel) < 0 ? errno : 0;
}

Error error_of(const std::string& what, int error) {
  return {error == EPERM || error == EACCES   ? Errc::kDenied
          : error == EEXIST                   ? Errc::kConflict
          : error == EAGAIN || error == EBUSY ? Errc::kTimeout
          : error == ENODEV                   ? Errc::kNotFound
                                              : Errc::kIo,
          what + ": " + std::strerror(error)};
}

template <class Visit>
bool each_attribute(std::string_view list, const Visit& visit) {
  while (list.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, list.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > list.size()) return false;
    visit(head.nla_type & NLA_TYPE_MASK, list.substr(sizeof head, head.nla_len - sizeof head));
    list.remove_prefix(std::min(list.size(), aligned(head.nla_len)));
  }
  return true;
}

std::string text_in(std::string_view value) { return std::string(value.substr(0, value.find('\0'))); }

struct LinkNumber {
  std::string_view name;
  int attribute;
};
constexpr LinkNumber kNumbers[] = {{"txqlen", IFLA_TXQLEN},
                                   {"group", IFLA_GROUP},
                                   {"gso_max_size", IFLA_GSO_MAX_SIZE},
                                   {"gso_max_segs", IFLA_GSO_MAX_SEGS},
                                   {"gro_max_size", IFLA_GRO_MAX_SIZE}};

std::optional<uint32_t> number_in(std::string_view value) {
  uint32_t out = 0;
  if (value.size() != sizeof out) return std::nullopt;
  std::memcpy(&out, value.data(), sizeof out);
  return out;
}

bool decode_xdp(std::string_view list, XdpPrograms& programs) {
  return each_attribute(list, [&](int type, std::string_view value) {
    const uint32_t mode = type == IFLA_XDP_SKB_PROG_ID   ? XDP_FLAGS_SKB_MODE
                          : type == IFLA_XDP_DRV_PROG_ID ? XDP_FLAGS_DRV_MODE
                          : type == IFLA_XDP_HW_PROG_ID  ? XDP_FLAGS_HW_MODE
                                                         : 0;
    if (const auto id = number_in(value); mode != 0 && id) programs[mode] = *id;
  });
}

bool decode_names(std::string_view list, std::vector<std::string>& names) {
  const bool is_whole = each_attribute(list, [&](int type, std::string_view value) {
    if (type == IFLA_ALT_IFNAME) names.push_back(text_in(value));
  });
  std::sort(names.begin(), names.end());
  return is_whole;
}

bool decode_link(std::string_view payload, HostLink& link) {
  ifinfomsg info{};
  if (payload.size() < sizeof info) return false;
  std::memcpy(&info, payload.data(), sizeof info);
  link.ifindex = info.ifi_index;
  link.is_up = (info.ifi_flags & IFF_UP) != 0;
  link.is_promisc = (info.ifi_flags & IFF_PROMISC) != 0;
  link.is_allmulti = (info.ifi_flags & IFF_ALLMULTI) != 0;
  const auto read_ipvlan = [&](std::string_view data) {
    (void)each_attribute(data, [&](int type, std::string_view value) {
      uint16_t number = 0;
      if (value.size() != sizeof number) return;
      std::memcpy(&number, value.data(), sizeof number);
      if (type == IFLA_IPVLAN_MODE) link.ipvlan_mode = number;
      if (type == IFLA_IPVLAN_FLAGS) link.ipvlan_flags = number;
    });
  };
  bool is_lower_elsewhere = false;
  bool is_whole = true;
  const bool is_read =
      each_attribute(payload.substr(aligned(sizeof info)), [&](int type, std::string_view value) {
        if (type == IFLA_LINK && value.size() == sizeof link.lower)
          std::memcpy(&link.lower, value.data(), sizeof link.lower);
        if (type == IFLA_LINK_NETNSID) is_lower_elsewhere = true;
        if (type == IFLA_IFALIAS) link.alias = text_in(value);
        if (type == IFLA_PROP_LIST) is_whole = decode_names(value, link.alternative_names) && is_whole;
        if (type == IFLA_XDP) is_whole = decode_xdp(value, link.xdp) && is_whole;
        for (const LinkNumber& one : kNumbers)
          if (const auto number = number_in(value); type == one.attribute && number)
            link.numbers.emplace(one.name, *number);
        if (type == IFLA_IFNAME) link.name = text_in(value);
        if (type == IFLA_PARENT_DEV_NAME) link.parent = text_in(value);
        if (type == IFLA_MTU && value.size() == sizeof link.mtu)
          std::memcpy(&link.mtu, value.data(), sizeof link.mtu);
        if (type == IFLA_ADDRESS)
          for (const char byte : value)
            link.mac += (link.mac.empty() ? "" : ":") + hex(static_cast<unsigned char>(byte), 2);
        if (type == IFLA_LINKINFO)
          (void)each_attribute(value, [&](int inner, std::string_view kind) {
            if (inner == IFLA_INFO_KIND) link.kind = text_in(kind);
            if (inner == IFLA_INFO_DATA && link.kind == "ipvlan") read_ipvlan(kind);  // the kind comes first
          });
      });
  if (is_lower_elsewhere) link.lower = 0;
  return is_read && is_whole;
}

struct Dumped {
  uint16_t get, made;
  const char *get_name, *made_name;
};
constexpr Dumped kLinks = {RTM_GETLINK, RTM_NEWLINK, "RTM_GETLINK", "RTM_NEWLINK"};
constexpr Dumped kAddresses = {RTM_GETADDR, RTM_NEWADDR, "RTM_GETADDR", "RTM_NEWADDR"};

// Info is all zero: of any family and interface.
template <class Info>
std::string encode_dump(const Dumped& what) {
  struct {
    nlmsghdr header;
    Info info;
  } request{};
  request.header = {.nlmsg_len = sizeof request,
                    .nlmsg_type = what.get,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                    .nlmsg_seq = 1};
  return std::string(bytes_of(request));
}

// visit: whether the payload of one message is whole.
template <class Visit>
Result<bool> decode_dump(std::string_view datagram, const Dumped& what, const Visit& visit) {
  const std::string name = what.get_name;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > datagram.size())
      return Error{Errc::kInvalid, name + ": a message's length leads outside its datagram"};
    const std::string_view payload = datagram.substr(sizeof header, header.nlmsg_len - sizeof header);
    datagram.remove_prefix(std::min(datagram.size(), aligned(header.nlmsg_len)));
    if (header.nlmsg_type == NLMSG_DONE) return true;
    if (header.nlmsg_type == NLMSG_ERROR) {
      int error = -EPROTO;
      if (payload.size() >= sizeof error) std::memcpy(&error, payload.data(), sizeof error);
      return error_of(name, -error);
    }
    if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
      return Error{Errc::kBusy, name + ": the interfaces changed while they were read"};
    if (header.nlmsg_type == what.made && !visit(payload))
      return Error{Errc::kInvalid, std::string(what.made_name) + " is cut"};
  }
  return false;
}

// begin: before the first datagram, also of a dump that is asked for again because a change interrupted it.
template <class Begin, class Decode>
Result<Unit> read_dump(int network_namespace, const Dumped& what, const std::string& request,
                       const Begin& begin, const Decode& decode) {
  constexpr size_t kDatagramMax = 256u << 10;
  constexpr int kTriesMax = 8;
  int error = 0;
  std::string datagram(kDatagramMax, '\0');
  for (int tries = 1;; ++tries) {
    const reactor::Descriptor socket = open_socket(network_namespace, error);
    if (!socket) return error_of("enter the pod's network namespace", error);
    if (const int failed = send_to_kernel(socket, request); failed != 0)
      return error_of(what.get_name, failed);
    begin();
    for (;;) {
      const ssize_t size = ::recv(socket.get(), datagram.data(), datagram.size(), 0);
      if (size < 0) return error_of(what.get_name, errno);
      auto is_last = decode(std::string_view{datagram.data(), static_cast<size_t>(size)});
      if (!is_last && is_last.error().code == Errc::kBusy && tries < kTriesMax) break;
      if (!is_last) return std::move(is_last.error());
      if (*is_last) return Unit{};
    }
  }
}

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
  const size_t size = info.ifa_family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
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

void put_attribute(std::string& out, int type, std::string_view value) {
  const nlattr head{.nla_len = static_cast<uint16_t>(sizeof(nlattr) + value.size()),
                    .nla_type = static_cast<uint16_t>(type)};
  out += bytes_of(head);
  out += value;
  out.resize(aligned(out.size()));
}

int send_link_request(int network_namespace, const std::string& request) {
  int error = 0;
  const reactor::Descriptor socket = open_socket(network_namespace, error);
  if (!socket) return error;
  if (const int failed = send_to_kernel(socket, request); failed != 0) return failed;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char request[512];  // a refusal quotes the request
  } answer{};
  const ssize_t size = ::recv(socket.get(), &answer, sizeof answer, 0);
  if (size < 0) return errno;
  if (static_cast<size_t>(size) < sizeof answer.header + sizeof answer.error.error ||
      answer.header.nlmsg_type != NLMSG_ERROR)
    return EPROTO;
  return -answer.error.error;
}

std::string encode_link_change(int ifindex, const LinkChange& change) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
  } head{};
  const bool is_of_names = change.added_name || change.removed_name;
  head.header = {.nlmsg_type = static_cast<uint16_t>(!is_of_names        ? RTM_SETLINK
                                                     : change.added_name ? RTM_NEWLINKPROP
                                                                         : RTM_DELLINKPROP),
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                 .nlmsg_seq = 1};
  head.info.ifi_family = AF_UNSPEC;
  head.info.ifi_index = ifindex;
  const auto set = [&](const std::optional<bool>& wanted, int flag) {
    if (!wanted) return;
    head.info.ifi_change |= static_cast<unsigned>(flag);
    if (*wanted) head.info.ifi_flags |= static_cast<unsigned>(flag);
  };
  set(change.up, kDownUp);
  set(change.promisc, kPromisc);
  set(change.allmulti, kAllmulti);
  std::string attributes;
  if (change.to_namespace) put_attribute(attributes, IFLA_NET_NS_FD, bytes_of(*change.to_namespace));
  if (change.name) put_attribute(attributes, IFLA_IFNAME, *change.name + '\0');
  if (change.mtu) put_attribute(attributes, IFLA_MTU, bytes_of(*change.mtu));
  if (change.mac) {
    std::string bytes;
    for (size_t i = 0; i < kMacBytes && 3 * i + 1 < change.mac->size(); ++i)
      bytes += static_cast<char>(parse_hex(std::string_view(*change.mac).substr(3 * i, 2)).value_or(0));
    put_attribute(attributes, IFLA_ADDRESS, bytes);
  }
  if (change.alias) put_attribute(attributes, IFLA_IFALIAS, *change.alias);
  for (const LinkNumber& one : kNumbers)
    if (const auto at = change.numbers.find(one.name); at != change.numbers.end())
      put_attribute(attributes, one.attribute, bytes_of(at->second));
  if (change.detached_xdp) {
    constexpr int32_t kNoProgram = -1;
    std::string xdp;
    put_attribute(xdp, IFLA_XDP_FD, bytes_of(kNoProgram));
    put_attribute(xdp, IFLA_XDP_FLAGS, bytes_of(*change.detached_xdp));
    put_attribute(attributes, IFLA_XDP | NLA_F_NESTED, xdp);
  }
  if (is_of_names) {
    std::string names;
    put_attribute(names, IFLA_ALT_IFNAME,
                  (change.added_name ? *change.added_name : *change.removed_name) + '\0');
    put_attribute(attributes, IFLA_PROP_LIST | NLA_F_NESTED, names);
  }
  head.header.nlmsg_len = static_cast<uint32_t>(sizeof head + attributes.size());
  return std::string(bytes_of(head)) + attributes;
}

Result<bool> decode_links(std::string_view datagram, std::vector<HostLink>& links) {
  return decode_dump(datagram, kLinks, [&](std::string_view payload) {
    HostLink link;
    const bool is_whole = decode_link(payload, link);
    if (is_whole) links.push_back(std::move(link));
    return is_whole;
  });
}

Result<std::vector<HostLink>> read_links(int network_namespace) {
  std::vector<HostLink> links;
  auto read = read_dump(
      network_namespace, kLinks, encode_dump<ifinfomsg>(kLinks), [&] { links.clear(); },
      [&](std::string_view datagram) { return decode_links(datagram, links); });
  if (!read) return std::move(read.error());
  return links;
}

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

template <class Info>
std::string ip_request(uint16_t type, const Info& info, const std::string& attributes) {
  nlmsghdr header{.nlmsg_len = static_cast<uint32_t>(sizeof(nlmsghdr) + sizeof info + attributes.size()),
                  .nlmsg_type = type,
                  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
                  .nlmsg_seq = 1,
                  .nlmsg_pid = 0};
  return std::string(bytes_of(header)) + std::string(bytes_of(info)) + attributes;
}

constexpr Dumped kRoutes = {RTM_GETROUTE, RTM_NEWROUTE, "RTM_GETROUTE", "RTM_NEWROUTE"};

// The items of a dump that count. decode(payload, item) is false for one that is cut off.
template <class Info, class Item, class Decode, class Counts>
Result<std::vector<Item>> read_items(int network_namespace, const Dumped& dumped, Decode decode,
                                     Counts counts) {
  std::vector<Item> items;
  auto read = read_dump(
      network_namespace, dumped, encode_dump<Info>(dumped), [&] { items.clear(); },
      [&](std::string_view datagram) {
        return decode_dump(datagram, dumped, [&](std::string_view payload) {
          Item one;
          const bool is_whole = decode(payload, one);
          if (is_whole && counts(one)) items.push_back(std::move(one));
          return is_whole;
        });
      });
  if (!read) return std::move(read.error());
  return items;
}

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
  const int error = send_link_request(network_namespace, ip_request(RTM_NEWADDR, info, attributes));
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
  const int error = send_link_request(network_namespace, ip_request(RTM_NEWROUTE, info, attributes));
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

// No interface gets a name that any has, its own alternative ones included. udev gives an interface that comes from a pod under another
// name the names that it would have chosen, of which its former one is. The kernel removes none of another interface here.
Result<Unit> change_link(int network_namespace, int ifindex, const LinkChange& change) {
  const std::string request = encode_link_change(ifindex, change);
  int error = send_link_request(network_namespace, request);
  if (error == EEXIST && change.name &&
      send_link_request(network_namespace, encode_link_change(ifindex, {.removed_name = change.name})) == 0)
    error = send_link_request(network_namespace, request);
  if (error == 0) return Unit{};
  return error_of("change interface " + std::to_string(ifindex), error);
}

const HostLink* find_moved(const std::vector<HostLink>& links, const MovedLink& moved) {
  for (const HostLink& link : links)
    if (!moved.pci.empty() && link.parent == moved.pci) return &link;
  for (const HostLink& link : links)
    if (link.ifindex == moved.ifindex_in_pod && link.kind == moved.kind && link.parent.empty()) return &link;
  if (moved.ifindex_in_pod != 0) return nullptr;  // a pod may give its name to another one
  const auto find = [&](const std::string& name) -> const HostLink* {
    for (const HostLink& link : links)
      if (link.name == name && name != "lo" && link.kind == moved.kind && link.parent.empty()) return &link;
    return nullptr;
  };
  if (const HostLink* link = find(moved.name_in_pod)) return link;
  if (moved.kind != "veth") return find(moved.name);
  return nullptr;
}

Result<bool> move_link_back(int from_namespace, const MovedLink& moved) {
  const auto links = read_links(from_namespace);
  if (!links) return links.error();
  const HostLink* link = find_moved(*links, moved);
  if (link == nullptr) return false;
  const reactor::Descriptor own(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!own) return error_of("open the network namespace of the host", errno);
  const auto is_there = [&] {
    const auto now = read_links(from_namespace);
    return !now || std::any_of(now->begin(), now->end(), [&](const HostLink& one) {
      return one.ifindex == link->ifindex && one.parent == link->parent && one.kind == link->kind;
    });
  };
  LinkChange change{.name = moved.name, .up = false, .to_namespace = own.get()};
  const auto& names = link->alternative_names;
  if (std::find(names.begin(), names.end(), moved.name) != names.end())
    (void)change_link(from_namespace, link->ifindex, {.removed_name = moved.name});
  auto done = change_link(from_namespace, link->ifindex, change);
  if (!done && done.error().code == Errc::kConflict && is_there()) {
    // Kernels from 6.6 on move no interface with an alternative name that the host has; before, they took it along unseen.
    for (const std::string& name : names)
      (void)change_link(from_namespace, link->ifindex, {.removed_name = name});
    done = change_link(from_namespace, link->ifindex, change);
  }
  if (!done && done.error().code == Errc::kConflict && is_there()) {
    change.name = "dev%d";  // as the kernel does when a namespace ends
    done = change_link(from_namespace, link->ifindex, change);
  }
  // The kernel moves first and names then: one that cannot have its name is on the host all the same.
  if (!done && !is_there()) return true;
  if (!done) return std::move(done.error()).in("move interface " + escaped(link->name) + " back to the host");
  return true;
}

}  // namespace sliced::kubelet
