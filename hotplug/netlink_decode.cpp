#include "hotplug/netlink_decode.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr size_t kVfMacBytes = 6;  // struct ifla_vf_mac has room for 32; Ethernet uses the first six

Error invalid(const char* what) { return Error{Errc::kInvalid, std::string("netlink: ") + what}; }

constexpr size_t aligned(size_t length) { return (length + 3) & ~size_t{3}; }

// Fixed-size structures are copied out: nothing says that the bytes are aligned.
template <class T>
std::optional<T> peek(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Cuts one length-prefixed record (nlmsghdr, nlattr) off the front; nullopt when its length leads outside.
template <class Header>
struct Record {
  Header header;
  std::string_view payload;
};
template <class Header>
std::optional<Record<Header>> take_record(std::string_view& bytes, size_t (*length_of)(const Header&)) {
  const auto header = peek<Header>(bytes);
  if (!header) return std::nullopt;
  const size_t length = length_of(*header);
  if (length < sizeof(Header) || length > bytes.size()) return std::nullopt;
  const Record<Header> record{*header, bytes.substr(0, length).substr(aligned(sizeof(Header)))};
  bytes.remove_prefix(std::min(bytes.size(), aligned(length)));
  return record;
}

auto take_message(std::string_view& bytes) {
  return take_record<nlmsghdr>(bytes, [](const nlmsghdr& header) { return size_t{header.nlmsg_len}; });
}
auto take_attribute(std::string_view& bytes) {
  return take_record<nlattr>(bytes, [](const nlattr& header) { return size_t{header.nla_len}; });
}

// Calls on_attribute(type, payload); false when a length leads outside.
template <class OnAttribute>
bool each_attribute(std::string_view bytes, OnAttribute on_attribute) {
  while (bytes.size() >= sizeof(nlattr)) {
    const auto attribute = take_attribute(bytes);
    if (!attribute) return false;
    on_attribute(static_cast<uint16_t>(attribute->header.nla_type & NLA_TYPE_MASK), attribute->payload);
  }
  return true;
}

bool decode_link(const nlmsghdr& header, std::string_view payload, std::vector<HostEvent>& events) {
  const auto info = peek<ifinfomsg>(payload);
  if (!info) return false;
  LinkChange change;
  change.ifindex = info->ifi_index;
  // A port that leaves a bridge is told as RTM_DELLINK of the bridge family: the link itself stays.
  change.is_deleted = header.nlmsg_type == RTM_DELLINK && info->ifi_family == AF_UNSPEC;
  bool is_moved = false;
  const bool ok =
      each_attribute(payload.substr(aligned(sizeof *info)), [&](uint16_t type, std::string_view value) {
        if (type == IFLA_IFNAME) change.name = std::string(value.substr(0, value.find('\0')));
        if (type == IFLA_NEW_NETNSID || type == IFLA_NEW_IFINDEX) is_moved = true;
      });
  change.is_moved = change.is_deleted && is_moved;
  if (ok && !change.name.empty() && change.name.find('/') == std::string::npos)
    events.push_back(std::move(change));
  return ok;
}

bool decode_route(std::string_view payload, std::vector<HostEvent>& events) {
  const auto route = peek<rtmsg>(payload);
  if (!route) return false;
  if (route->rtm_dst_len == 0 && route->rtm_type == RTN_UNICAST) events.push_back(RouteChange{});
  return true;
}

std::string mac_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += (text.empty() ? "" : ":") + hex(static_cast<unsigned char>(c), 2);
  return text;
}

void decode_vf(std::string_view payload, std::map<int, std::string>& macs) {
  each_attribute(payload, [&](uint16_t type, std::string_view value) {
    if (type != IFLA_VF_MAC) return;
    const auto vf = peek<ifla_vf_mac>(value);
    if (!vf || vf->vf > 0xffff) return;
    const std::string_view mac(reinterpret_cast<const char*>(vf->mac), kVfMacBytes);
    if (mac.find_first_not_of('\0') == std::string_view::npos) return;
    macs.insert_or_assign(static_cast<int>(vf->vf), mac_text(mac));
  });
}

bool decode_next_hops(std::string_view list, std::set<int>& ifindexes) {
  while (list.size() >= sizeof(rtnexthop)) {
    const auto hop = peek<rtnexthop>(list);
    if (hop->rtnh_len < sizeof(rtnexthop) || hop->rtnh_len > list.size()) return false;
    if (hop->rtnh_ifindex > 0) ifindexes.insert(hop->rtnh_ifindex);
    list.remove_prefix(std::min(list.size(), aligned(hop->rtnh_len)));
  }
  return true;
}

bool decode_default_route(std::string_view payload, std::set<int>& ifindexes) {
  const auto route = peek<rtmsg>(payload);
  if (!route) return false;
  if (route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST) return true;
  uint32_t table = route->rtm_table;
  std::set<int> links;
  bool ok = true;
  ok &= each_attribute(payload.substr(aligned(sizeof *route)), [&](uint16_t type, std::string_view value) {
    if (type == RTA_TABLE) table = peek<uint32_t>(value).value_or(table);
    if (const auto link = peek<int>(value); type == RTA_OIF && link && *link > 0) links.insert(*link);
    if (type == RTA_MULTIPATH) ok &= decode_next_hops(value, links);
  });
  if (table == RT_TABLE_MAIN) ifindexes.merge(links);
  return ok;
}

Error kernel_error(const char* request, std::string_view payload) {
  const auto error = peek<nlmsgerr>(payload);
  const int number = error && error->error > INT_MIN ? -error->error : EPROTO;
  const char* name = ::strerrorname_np(number);
  const Errc code = number == ENODEV || number == ENOENT ? Errc::kNotFound
                    : number == EPERM                    ? Errc::kDenied
                                                         : Errc::kIo;
  return Error{code, std::string("netlink: ") + request + ": " + (name != nullptr ? name : "unknown error")};
}

}  // namespace

Result<std::vector<HostEvent>> decode_link_events(std::string_view datagram) {
  std::vector<HostEvent> events;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = take_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    bool ok = true;
    switch (message->header.nlmsg_type) {
      case RTM_NEWLINK:
      case RTM_DELLINK:
        ok = decode_link(message->header, message->payload, events);
        break;
      case RTM_NEWROUTE:
      case RTM_DELROUTE:
        ok = decode_route(message->payload, events);
        break;
      case NLMSG_OVERRUN:
        return invalid("NLMSG_OVERRUN");
      default:
        break;
    }
    if (!ok) return invalid("an attribute's length leads outside its message");
  }
  return events;
}

Result<std::map<int, std::string>> decode_vf_macs(std::string_view datagram) {
  std::map<int, std::string> macs;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = take_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    if (message->header.nlmsg_type == NLMSG_ERROR) return kernel_error("RTM_GETLINK", message->payload);
    if (message->header.nlmsg_type != RTM_NEWLINK) continue;
    if (message->payload.size() < sizeof(ifinfomsg)) return invalid("RTM_NEWLINK is cut");
    const bool ok = each_attribute(message->payload.substr(aligned(sizeof(ifinfomsg))),
                                   [&](uint16_t type, std::string_view list) {
                                     if (type != IFLA_VFINFO_LIST) return;
                                     each_attribute(list, [&](uint16_t inner, std::string_view vf) {
                                       if (inner == IFLA_VF_INFO) decode_vf(vf, macs);
                                     });
                                   });
    if (!ok) return invalid("an attribute's length leads outside its message");
  }
  return macs;
}

Result<bool> decode_default_route_links(std::string_view datagram, std::set<int>& ifindexes) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = take_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    if (message->header.nlmsg_type == NLMSG_DONE) return true;
    if (message->header.nlmsg_type == NLMSG_ERROR) return kernel_error("RTM_GETROUTE", message->payload);
    if (message->header.nlmsg_type == RTM_NEWROUTE && !decode_default_route(message->payload, ifindexes))
      return invalid("an attribute's length leads outside its message");
  }
  return false;
}

std::string encode_route_dump(uint8_t family, uint32_t sequence) {
  struct {
    nlmsghdr header;
    rtmsg route;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = sequence;
  request.route.rtm_family = family;
  request.route.rtm_table = RT_TABLE_MAIN;
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

std::string encode_vf_request(int ifindex, uint32_t sequence) {
  struct {
    nlmsghdr header;
    ifinfomsg info;
    nlattr attribute;
    uint32_t mask;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = sequence;
  request.info.ifi_family = AF_UNSPEC;
  request.info.ifi_index = ifindex;
  request.attribute.nla_len = sizeof request.attribute + sizeof request.mask;
  request.attribute.nla_type = IFLA_EXT_MASK;
  request.mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

}  // namespace sliced::hotplug
