#include "hotplug/netlink_decode.h"

#include <arpa/inet.h>
#include <linux/devlink.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <tuple>

#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr size_t kVfMacBytes = 6;  // struct ifla_vf_mac has room for 32; Ethernet uses the first six

Error invalid(const char* what) { return Error{Errc::kInvalid, std::string("netlink: ") + what}; }

constexpr size_t aligned(size_t length) { return (length + 3) & ~size_t{3}; }

// Copies fixed-size structures, because the bytes may be unaligned.
template <class T>
std::optional<T> peek(std::string_view bytes) {
  if (bytes.size() < sizeof(T)) return std::nullopt;
  T value;
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): it has that many bytes, and needs no end
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
std::optional<Record<Header>> next_record(std::string_view& bytes, size_t (*length_of)(const Header&)) {
  const auto header = peek<Header>(bytes);
  if (!header) return std::nullopt;
  const size_t length = length_of(*header);
  if (length < sizeof(Header) || length > bytes.size()) return std::nullopt;
  const Record<Header> record{*header, bytes.substr(0, length).substr(aligned(sizeof(Header)))};
  bytes.remove_prefix(std::min(bytes.size(), aligned(length)));
  return record;
}

auto next_message(std::string_view& bytes) {
  return next_record<nlmsghdr>(bytes, [](const nlmsghdr& header) { return size_t{header.nlmsg_len}; });
}
auto next_attribute(std::string_view& bytes) {
  return next_record<nlattr>(bytes, [](const nlattr& header) { return size_t{header.nla_len}; });
}

// Calls on_attribute(type, payload); false when a length leads outside.
template <class OnAttribute>
bool each_attribute(std::string_view bytes, OnAttribute on_attribute) {
  while (bytes.size() >= sizeof(nlattr)) {
    const auto attribute = next_attribute(bytes);
    if (!attribute) return false;
    on_attribute(static_cast<uint16_t>(attribute->header.nla_type & NLA_TYPE_MASK), attribute->payload);
  }
  return true;
}

// Decodes IFLA_LINKINFO (linux/if_link.h); returns nullopt if it is not a VRF.
std::optional<uint32_t> table_of_vrf(std::string_view info) {
  bool is_vrf = false;
  uint32_t table = 0;
  each_attribute(info, [&](uint16_t type, std::string_view value) {
    if (type == IFLA_INFO_KIND) is_vrf = value.substr(0, value.find('\0')) == "vrf";
    if (type != IFLA_INFO_DATA || !is_vrf) return;  // the kind comes first
    each_attribute(value, [&](uint16_t inner, std::string_view number) {
      if (inner == IFLA_VRF_TABLE) table = peek<uint32_t>(number).value_or(0);
    });
  });
  return is_vrf ? std::optional(table) : std::nullopt;
}

bool decode_link(const nlmsghdr& header, std::string_view payload, std::vector<HostEvent>& events) {
  const auto info = peek<ifinfomsg>(payload);
  if (!info) return false;
  LinkChange change;
  change.ifindex = info->ifi_index;
  // A port that leaves a bridge is reported as RTM_DELLINK of the bridge family: the link itself stays.
  change.is_deleted = header.nlmsg_type == RTM_DELLINK && info->ifi_family == AF_UNSPEC;
  bool is_moved = false, is_vrf = false;
  const bool ok =
      each_attribute(payload.substr(aligned(sizeof *info)), [&](uint16_t type, std::string_view value) {
        if (type == IFLA_LINKINFO) is_vrf = table_of_vrf(value).has_value();
        if (type == IFLA_IFNAME) change.name = std::string(value.substr(0, value.find('\0')));
        if (type == IFLA_NEW_NETNSID || type == IFLA_NEW_IFINDEX) is_moved = true;
      });
  change.is_moved = change.is_deleted && is_moved;
  if (ok && !change.name.empty() && change.name.find('/') == std::string::npos)
    events.push_back(std::move(change));
  if (is_vrf) events.push_back(RouteChange{});  // its table is one of the host's, or no longer
  return ok;
}

// on_hop(link, flags): RTNH_F_ of linux/rtnetlink.h.
template <class OnHop>
bool each_next_hop(std::string_view list, OnHop on_hop) {
  while (list.size() >= sizeof(rtnexthop)) {
    const auto hop = peek<rtnexthop>(list);
    if (hop->rtnh_len < sizeof(rtnexthop) || hop->rtnh_len > list.size()) return false;
    if (hop->rtnh_ifindex > 0) on_hop(hop->rtnh_ifindex, hop->rtnh_flags);
    list.remove_prefix(std::min(list.size(), aligned(hop->rtnh_len)));
  }
  return true;
}

bool decode_next_hops(std::string_view list, std::set<int>& ifindexes) {
  return each_next_hop(list, [&](int link, uint8_t) { ifindexes.insert(link); });
}

bool decode_route(uint16_t type, std::string_view payload, std::vector<HostEvent>& events) {
  const auto route = peek<rtmsg>(payload);
  if (!route) return false;
  if (route->rtm_type != RTN_UNICAST) return true;
  if (route->rtm_dst_len == 0) {
    events.push_back(RouteChange{});
    return true;
  }
  if (type != RTM_NEWROUTE) return true;
  // Only its links are decoded: a route through a nexthop object may use any of the object's links.
  std::set<int> links;
  bool ok = true, has_gateway = false, is_by_object = false;
  ok &=
      each_attribute(payload.substr(aligned(sizeof *route)), [&](uint16_t attribute, std::string_view value) {
        if (const auto link = peek<int>(value); attribute == RTA_OIF && link && *link > 0)
          links.insert(*link);
        if (attribute == RTA_MULTIPATH) ok &= decode_next_hops(value, links);
        is_by_object |= attribute == RTA_NH_ID;
        has_gateway |= attribute == RTA_GATEWAY || attribute == RTA_VIA || attribute == RTA_MULTIPATH;
      });
  if (ok && links.empty() && is_by_object) events.push_back(RouteChange{});
  for (const int link : links)
    if (ok && (has_gateway || is_by_object)) events.push_back(RouteChange{.new_link = link});
  return ok;
}

// A rule (fib_rule_hdr has the layout of rtmsg).
struct RuleFacts {
  uint32_t table = 0;
  bool is_for_host_traffic = false;
};
std::optional<RuleFacts> decode_rule_facts(std::string_view payload) {
  const auto rule = peek<fib_rule_hdr>(payload);
  if (!rule) return std::nullopt;
  RuleFacts out{.table = rule->table};
  uint32_t mark = 0, suppressed = UINT32_MAX;
  bool is_of_vrfs = false;
  const bool ok =
      each_attribute(payload.substr(aligned(sizeof *rule)), [&](uint16_t type, std::string_view value) {
        if (type == FRA_L3MDEV) is_of_vrfs = peek<uint8_t>(value).value_or(0) != 0;
        const auto number = peek<uint32_t>(value);
        if (type == FRA_TABLE) out.table = number.value_or(out.table);
        if (type == FRA_FWMARK) mark = number.value_or(mark);
        if (type == FRA_SUPPRESS_PREFIXLEN) suppressed = number.value_or(suppressed);
      });
  if (!ok) return std::nullopt;
  const bool is_turned = (rule->flags & FIB_RULE_INVERT) != 0;
  const bool is_chosen = rule->src_len != 0 || mark != 0;
  out.is_for_host_traffic = rule->action == FR_ACT_TO_TBL && (out.table != RT_TABLE_UNSPEC || is_of_vrfs) &&
                            (is_turned || !is_chosen) && suppressed == UINT32_MAX;
  return out;
}

bool decode_rule(std::string_view payload, std::vector<HostEvent>& events) {
  const auto rule = decode_rule_facts(payload);
  if (rule && rule->is_for_host_traffic) events.push_back(RouteChange{});
  return rule.has_value();
}

bool decode_nexthop(std::string_view payload, Nexthops& nexthops) {
  const auto header = peek<nhmsg>(payload);
  if (!header) return false;
  uint32_t id = 0;
  int link = 0;
  bool is_bridge_entry = false;
  std::vector<uint32_t> members;
  const bool ok = each_attribute(payload.substr(aligned(sizeof *header)), [&](uint16_t type,
                                                                              std::string_view value) {
    if (type == NHA_ID) id = peek<uint32_t>(value).value_or(0);
    if (type == NHA_OIF) link = peek<int>(value).value_or(0);
    if (type == NHA_FDB) is_bridge_entry = true;  // no route uses it
    for (; type == NHA_GROUP && value.size() >= sizeof(nexthop_grp); value.remove_prefix(sizeof(nexthop_grp)))
      members.push_back(peek<nexthop_grp>(value)->id);
  });
  if (id == 0 || is_bridge_entry) return ok;
  if (link > 0) nexthops.links[id] = link;
  if (!members.empty()) nexthops.groups[id] = std::move(members);
  return ok;
}

bool decode_nexthop_event(std::string_view payload, std::vector<HostEvent>& events) {
  Nexthops nexthops;
  const bool ok = decode_nexthop(payload, nexthops);
  if (!nexthops.links.empty() || !nexthops.groups.empty()) events.push_back(RouteChange{});
  return ok;
}

std::string mac_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += (text.empty() ? "" : ":") + hex(static_cast<unsigned char>(c), 2);
  return text;
}

std::optional<bool> decode_vf_switch(uint32_t setting) {
  return setting == UINT32_MAX ? std::nullopt : std::optional(setting != 0);
}

void decode_vf_vlans(std::string_view list, VfConfig& config) {
  each_attribute(list, [&](uint16_t type, std::string_view value) {
    const auto vlan = peek<ifla_vf_vlan_info>(value);
    if (type != IFLA_VF_VLAN_INFO || !vlan || !config.vlan_protocol.empty()) return;
    const uint16_t protocol = ntohs(vlan->vlan_proto);
    config.vlan_protocol = protocol == ETH_P_8021Q ? "802.1Q" : protocol == ETH_P_8021AD ? "802.1ad" : "";
  });
}

std::string_view name_of_link_state(uint32_t state) {
  switch (state) {
    case IFLA_VF_LINK_STATE_AUTO:
      return "auto";
    case IFLA_VF_LINK_STATE_ENABLE:
      return "enable";
    case IFLA_VF_LINK_STATE_DISABLE:
      return "disable";
    default:
      return "";
  }
}

std::string guid_text(uint64_t guid) {
  std::string text;
  for (int shift = 56; shift >= 0; shift -= 8)
    text += (text.empty() ? "" : ":") + hex(static_cast<unsigned>(guid >> shift & 0xff), 2);
  return text;
}

void decode_vf_attribute(uint16_t type, std::string_view value, VfConfig& config) {
  if (type == IFLA_VF_MAC) {
    if (const auto mac = peek<ifla_vf_mac>(value))
      config.mac = mac_text({reinterpret_cast<const char*>(mac->mac), kVfMacBytes});
  } else if (type == IFLA_VF_VLAN) {
    const auto vlan = peek<ifla_vf_vlan>(value);
    if (!vlan || vlan->vlan > 4095) return;
    config.vlan = static_cast<int>(vlan->vlan);
    config.vlan_qos = static_cast<int>(vlan->qos & 7);
  } else if (type == IFLA_VF_VLAN_LIST) {
    decode_vf_vlans(value, config);
  } else if (type == IFLA_VF_RATE) {
    const auto rate = peek<ifla_vf_rate>(value);
    if (!rate) return;
    config.min_rate_mbps = rate->min_tx_rate;
    config.max_rate_mbps = rate->max_tx_rate;
  } else if (type == IFLA_VF_SPOOFCHK) {
    if (const auto check = peek<ifla_vf_spoofchk>(value))
      config.spoof_check = decode_vf_switch(check->setting);
  } else if (type == IFLA_VF_TRUST) {
    if (const auto trust = peek<ifla_vf_trust>(value)) config.trust = decode_vf_switch(trust->setting);
  } else if (type == IFLA_VF_RSS_QUERY_EN) {
    if (const auto query = peek<ifla_vf_rss_query_en>(value))
      config.rss_query = decode_vf_switch(query->setting);
  } else if (type == IFLA_VF_LINK_STATE) {
    if (const auto state = peek<ifla_vf_link_state>(value))
      config.link_state = name_of_link_state(state->link_state);
  } else if (type == IFLA_VF_IB_NODE_GUID || type == IFLA_VF_IB_PORT_GUID) {
    if (const auto guid = peek<ifla_vf_guid>(value))
      (type == IFLA_VF_IB_NODE_GUID ? config.node_guid : config.port_guid) = guid_text(guid->guid);
  }
}

// Each attribute but the list of VLANs begins with the VF's number; one VF's are together.
void decode_vf(std::string_view payload, std::map<int, VfConfig>& configs) {
  std::optional<uint32_t> number;
  VfConfig config;
  each_attribute(payload, [&](uint16_t type, std::string_view value) {
    if (type == IFLA_VF_MAC && value.size() >= sizeof(ifla_vf_mac)) number = peek<uint32_t>(value);
    decode_vf_attribute(type, value, config);
  });
  if (number && *number <= 0xffff) configs.insert_or_assign(static_cast<int>(*number), std::move(config));
}

// An attribute's length has 16 bits. A list of more than 65,535 bytes has a wrapped length (rtnl_fill_vf() in
// net/core/rtnetlink.c does not check it: 335 VFs of 196 bytes), but complete entries with correct lengths.
// So the list ends with the last entry at which the length is correct modulo 65,536. Removes the whole list
// from the front; returns nullopt if no entry ends there.
std::optional<std::string_view> take_vf_list(std::string_view& bytes) {
  const auto header = peek<nlattr>(bytes);
  constexpr size_t kWrap = 1 << 16;
  std::string_view rest = bytes.substr(sizeof(nlattr));
  std::optional<size_t> end;
  for (;;) {
    const size_t size = bytes.size() - rest.size();
    if (size % kWrap == aligned(header->nla_len) % kWrap) end = size;
    const auto entry = peek<nlattr>(rest);
    if (!entry || (entry->nla_type & NLA_TYPE_MASK) != IFLA_VF_INFO || !next_attribute(rest)) break;
  }
  if (!end) return std::nullopt;
  const std::string_view list = bytes.substr(0, *end).substr(sizeof(nlattr));
  bytes.remove_prefix(*end);
  return list;
}

// Decodes the VFs in one RTM_NEWLINK.
Result<Unit> decode_vfs_of_link(std::string_view payload, std::map<int, VfConfig>& configs) {
  if (payload.size() < sizeof(ifinfomsg)) return invalid("RTM_NEWLINK is cut");
  std::string_view rest = payload.substr(std::min(payload.size(), aligned(sizeof(ifinfomsg))));
  std::optional<uint32_t> count;
  while (rest.size() >= sizeof(nlattr)) {
    const uint16_t type = peek<nlattr>(rest)->nla_type & NLA_TYPE_MASK;
    if (type == IFLA_VFINFO_LIST) {
      const auto list = take_vf_list(rest);
      if (!list)
        return Error{Errc::kInvalid, "netlink: RTM_GETLINK: the list of VFs is cut" +
                                         (count ? ", IFLA_NUM_VF is " + std::to_string(*count) : "")};
      each_attribute(*list, [&](uint16_t, std::string_view vf) { decode_vf(vf, configs); });
      continue;
    }
    const auto attribute = next_attribute(rest);
    if (!attribute) return invalid("an attribute's length leads outside its message");
    if (type == IFLA_NUM_VF) count = peek<uint32_t>(attribute->payload);
  }
  return Unit{};
}

bool decode_default_route(std::string_view payload, const std::set<uint32_t>& tables,
                          const Nexthops& nexthops, std::vector<DefaultRoute>& routes) {
  constexpr uint8_t kUnusable = RTNH_F_DEAD | RTNH_F_LINKDOWN;
  const auto route = peek<rtmsg>(payload);
  if (!route) return false;
  if (route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST) return true;
  DefaultRoute out{.is_v6 = route->rtm_family == AF_INET6,
                   .table = route->rtm_table,
                   .tos = route->rtm_tos,
                   .protocol = route->rtm_protocol};
  bool ok = true;
  const auto add = [&](int link, unsigned flags) {
    out.links.insert(link);
    if ((flags & kUnusable) == 0) out.usable_links.insert(link);
  };
  ok &= each_attribute(payload.substr(aligned(sizeof *route)), [&](uint16_t type, std::string_view value) {
    if (type == RTA_TABLE) out.table = peek<uint32_t>(value).value_or(out.table);
    if (type == RTA_PRIORITY) out.metric = peek<uint32_t>(value).value_or(0);
    if (type == RTA_SRC) out.source = std::string(value) + "/" + std::to_string(route->rtm_src_len);
    if (const auto rank = peek<uint8_t>(value); type == RTA_PREF && rank)
      out.rank = rank_of_preference(*rank);
    if (const auto link = peek<int>(value); type == RTA_OIF && link && *link > 0)
      add(*link, route->rtm_flags);
    if (type == RTA_MULTIPATH) ok &= each_next_hop(value, add);
    // With net.ipv4.nexthop_compat_mode off the route has no other information.
    if (const auto id = peek<uint32_t>(value); type == RTA_NH_ID && id)
      for (const int link : nexthops.links_of(*id)) add(link, route->rtm_flags);
  });
  if (ok && tables.contains(out.table) && !out.links.empty()) routes.push_back(std::move(out));
  return ok;
}

bool covers(std::string_view prefix, uint8_t length, std::string_view address) {
  if (prefix.size() != address.size() || length > 8 * prefix.size()) return false;
  const size_t whole = length / 8;
  if (prefix.substr(0, whole) != address.substr(0, whole)) return false;
  const int rest = length % 8;
  const int mask = 0xff00 >> rest & 0xff;
  return rest == 0 || ((prefix[whole] ^ address[whole]) & mask) == 0;
}

bool decode_subnet_route(std::string_view payload, const std::set<uint32_t>& tables, const Nexthops& nexthops,
                         std::set<SubnetRoute>& routes) {
  const auto route = peek<rtmsg>(payload);
  if (!route) return false;
  const bool is_v6 = route->rtm_family == AF_INET6;
  const size_t size = is_v6 ? sizeof(in6_addr) : sizeof(in_addr);
  const bool is_of_network = route->rtm_dst_len != 0 && route->rtm_type == RTN_UNICAST &&
                             (route->rtm_flags & RTM_F_CLONED) == 0 && route->rtm_protocol != RTPROT_REDIRECT;
  if (!is_of_network) return true;
  SubnetRoute one{.is_v6 = is_v6, .length = route->rtm_dst_len};
  uint32_t table = route->rtm_table;
  std::set<int> links;
  std::string source;
  bool has_gateway = false, ok = true;
  ok &= each_attribute(payload.substr(aligned(sizeof *route)), [&](uint16_t type, std::string_view value) {
    if (type == RTA_TABLE) table = peek<uint32_t>(value).value_or(table);
    if (type == RTA_DST) one.destination = value;
    if (type == RTA_PREFSRC) source = value;
    if (const auto link = peek<int>(value); type == RTA_OIF && link && *link > 0) links.insert(*link);
    if (type == RTA_MULTIPATH) ok &= decode_next_hops(value, links);
    if (const auto id = peek<uint32_t>(value); type == RTA_NH_ID && id) links.merge(nexthops.links_of(*id));
    has_gateway |= type == RTA_GATEWAY || type == RTA_VIA || type == RTA_MULTIPATH || type == RTA_NH_ID;
  });
  if (!ok || !tables.contains(table) || one.destination.size() != size) return ok;
  if (is_local_or_multicast(one)) return true;
  one.is_connected =
      !has_gateway && (route->rtm_protocol == RTPROT_KERNEL || route->rtm_protocol == RTPROT_RA ||
                       covers(one.destination, one.length, source));
  for (const int link : links) {
    one.link = link;
    routes.insert(one);
  }
  return true;
}

Error kernel_error(const char* request, std::string_view payload) {
  const auto error = peek<int>(payload);  // nlmsgerr begins with it
  const int number = error && *error > INT_MIN ? -*error : EPROTO;
  const char* name = ::strerrorname_np(number);
  constexpr int kAbsent[] = {ENODEV, ENOENT, EOPNOTSUPP, EAFNOSUPPORT};
  const bool is_absent = std::find(std::begin(kAbsent), std::end(kAbsent), number) != std::end(kAbsent);
  const Errc code = is_absent            ? Errc::kNotFound
                    : number == EPERM    ? Errc::kDenied
                    : number == EMSGSIZE ? Errc::kTooLarge
                                         : Errc::kIo;
  return Error{code, std::string("netlink: ") + request + ": " + (name != nullptr ? name : "unknown error")};
}

// Calls on_message(payload) for each message of the type; the rest as decode_default_routes().
template <class OnMessage>
Result<bool> each_answer(std::string_view datagram, uint16_t type, const char* request,
                         OnMessage on_message) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = next_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    if ((message->header.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
      return Error{Errc::kBusy, std::string("netlink: ") + request + ": the dump changed while it was read"};
    if (message->header.nlmsg_type == NLMSG_DONE) {
      // A dump that fails reports the error at its end.
      const auto error = peek<int>(message->payload);
      if (error && *error < 0 && *error > INT_MIN) return kernel_error(request, message->payload);
      return true;
    }
    if (message->header.nlmsg_type == NLMSG_ERROR) return kernel_error(request, message->payload);
    if (message->header.nlmsg_type == type && !on_message(message->payload))
      return invalid("an attribute's length leads outside its message");
  }
  return false;
}

template <class Body>
std::string encode_dump(uint16_t type, uint32_t sequence, const Body& body) {
  struct {
    nlmsghdr header;
    Body body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.header.nlmsg_seq = sequence;
  request.body = body;
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

}  // namespace

Result<std::vector<HostEvent>> decode_link_events(std::string_view datagram) {
  std::vector<HostEvent> events;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = next_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    bool ok = true;
    switch (message->header.nlmsg_type) {
      case RTM_NEWLINK:
      case RTM_DELLINK:
        ok = decode_link(message->header, message->payload, events);
        break;
      case RTM_NEWROUTE:
      case RTM_DELROUTE:
        ok = decode_route(message->header.nlmsg_type, message->payload, events);
        break;
      case RTM_NEWRULE:
      case RTM_DELRULE:
        ok = decode_rule(message->payload, events);
        break;
      case RTM_NEWNEXTHOP:
      case RTM_DELNEXTHOP:
        ok = decode_nexthop_event(message->payload, events);
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

Result<std::map<int, VfConfig>> decode_vf_configs(std::string_view datagram) {
  std::map<int, VfConfig> configs;
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto message = next_message(datagram);
    if (!message) return invalid("a message's length leads outside its datagram");
    if (message->header.nlmsg_type == NLMSG_ERROR) return kernel_error("RTM_GETLINK", message->payload);
    if (message->header.nlmsg_type != RTM_NEWLINK) continue;
    if (auto decoded = decode_vfs_of_link(message->payload, configs); !decoded) return decoded.error();
  }
  return configs;
}

Result<LinkProperties> decode_link_properties(std::string_view datagram) {
  LinkProperties properties;
  auto is_last = each_answer(datagram, RTM_NEWLINK, "RTM_GETLINK", [&](std::string_view payload) {
    if (payload.size() < sizeof(ifinfomsg)) return false;
    return each_attribute(payload.substr(aligned(sizeof(ifinfomsg))),
                          [&](uint16_t type, std::string_view value) {
                            if (type == kNetnsImmutable && value.size() == 1)
                              properties.is_netns_immutable = value[0] != 0;
                            if (type != IFLA_PROP_LIST) return;
                            each_attribute(value, [&](uint16_t inner, std::string_view name) {
                              const std::string_view text = name.substr(0, name.find('\0'));
                              if (inner == IFLA_ALT_IFNAME && !text.empty())
                                properties.alternative_names.emplace_back(text);
                            });
                          });
  });
  if (!is_last) return is_last.error();
  return properties;
}

Result<bool> decode_vf_dump(std::string_view datagram, int ifindex, std::map<int, VfConfig>& configs) {
  std::optional<Error> problem;
  auto is_last = each_answer(datagram, RTM_NEWLINK, "RTM_GETLINK", [&](std::string_view payload) {
    const auto info = peek<ifinfomsg>(payload);
    if (!info || info->ifi_index != ifindex) return info.has_value();
    if (auto decoded = decode_vfs_of_link(payload, configs); !decoded) problem = std::move(decoded.error());
    return true;
  });
  if (problem) return *std::move(problem);
  return is_last;
}

std::set<int> Nexthops::links_of(uint32_t id) const {
  std::set<int> out;
  const auto add = [&](uint32_t one) {
    if (const auto at = links.find(one); at != links.end()) out.insert(at->second);
  };
  add(id);
  if (const auto group = groups.find(id); group != groups.end())
    for (const uint32_t member : group->second) add(member);  // groups of groups do not exist
  return out;
}

Result<bool> decode_rule_tables(std::string_view datagram, std::set<uint32_t>& tables) {
  return each_answer(datagram, RTM_NEWRULE, "RTM_GETRULE", [&](std::string_view payload) {
    const auto rule = decode_rule_facts(payload);
    if (rule && rule->is_for_host_traffic) tables.insert(rule->table);
    return rule.has_value();
  });
}

Result<bool> decode_vrf_tables(std::string_view datagram, std::set<uint32_t>& tables) {
  return each_answer(datagram, RTM_NEWLINK, "RTM_GETLINK", [&](std::string_view payload) {
    if (payload.size() < sizeof(ifinfomsg)) return false;
    return each_attribute(
        payload.substr(aligned(sizeof(ifinfomsg))), [&](uint16_t type, std::string_view value) {
          const auto table = type == IFLA_LINKINFO ? table_of_vrf(value) : std::optional<uint32_t>();
          if (table && *table != 0) tables.insert(*table);
        });
  });
}

Result<bool> decode_nexthops(std::string_view datagram, Nexthops& nexthops) {
  return each_answer(datagram, RTM_NEWNEXTHOP, "RTM_GETNEXTHOP",
                     [&](std::string_view payload) { return decode_nexthop(payload, nexthops); });
}

// RFC 4191, 2.1: the reserved value counts as medium.
int rank_of_preference(unsigned preference) {
  constexpr unsigned kHigh = 1, kLow = 3;  // ICMPV6_ROUTER_PREF_HIGH, ICMPV6_ROUTER_PREF_LOW
  return preference == kHigh ? 0 : preference == kLow ? 2 : 1;
}

Result<bool> decode_default_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                   const Nexthops& nexthops, std::vector<DefaultRoute>& routes) {
  return each_answer(datagram, RTM_NEWROUTE, "RTM_GETROUTE", [&](std::string_view payload) {
    return decode_default_route(payload, tables, nexthops, routes);
  });
}

Result<std::set<int>> decode_route_of_address(std::string_view datagram) {
  std::set<int> links;
  auto is_last = each_answer(datagram, RTM_NEWROUTE, "RTM_GETROUTE", [&](std::string_view payload) {
    const auto route = peek<rtmsg>(payload);
    if (!route) return false;
    if (route->rtm_type != RTN_UNICAST) return true;
    return each_attribute(payload.substr(aligned(sizeof *route)), [&](uint16_t type, std::string_view value) {
      if (const auto link = peek<int>(value); type == RTA_OIF && link && *link > 0) links.insert(*link);
    });
  });
  if (!is_last) return is_last.error();
  return links;
}

std::set<int> learned_links(const std::vector<DefaultRoute>& routes) {
  std::set<int> links, other_links;
  for (const DefaultRoute& route : routes) {
    const bool is_learned = route.protocol == RTPROT_DHCP || route.protocol == RTPROT_RA;
    (is_learned ? links : other_links).insert(route.links.begin(), route.links.end());
  }
  for (const int link : other_links) links.erase(link);
  return links;
}

std::set<int> links_of_best(const std::vector<DefaultRoute>& routes) {
  struct Best {
    const DefaultRoute *any = nullptr, *usable = nullptr;
  };
  const auto is_better = [](const DefaultRoute& one, const DefaultRoute* other) {
    return other == nullptr || std::tie(one.metric, one.rank) < std::tie(other->metric, other->rank);
  };
  std::map<std::tuple<bool, uint32_t, uint8_t, std::string_view>, Best> best;
  for (const DefaultRoute& route : routes) {
    Best& of = best[{route.is_v6, route.table, route.tos, route.source}];
    if (is_better(route, of.any)) of.any = &route;
    if (!route.usable_links.empty() && is_better(route, of.usable)) of.usable = &route;
  }
  std::set<int> links;
  for (const auto& [key, of] : best) {
    links.insert(of.any->links.begin(), of.any->links.end());
    if (of.usable != nullptr) links.insert(of.usable->usable_links.begin(), of.usable->usable_links.end());
  }
  return links;
}

// Returns whether the route reaches no network: 169.254.0.0/16 (a cloud's metadata server), 224.0.0.0/4,
// fe80::/10, ff00::/8.
bool is_local_or_multicast(const SubnetRoute& route) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(route.destination[i]); };
  if (!route.is_v6)
    return (route.length >= 16 && byte(0) == 169 && byte(1) == 254) ||
           (route.length >= 4 && (byte(0) & 0xf0) == 0xe0);
  return (route.length >= 10 && byte(0) == 0xfe && (byte(1) & 0xc0) == 0x80) ||
         (route.length >= 8 && byte(0) == 0xff);
}

bool SubnetRoute::operator<(const SubnetRoute& other) const {
  return std::tie(link, is_v6, is_connected, length, destination) <
         std::tie(other.link, other.is_v6, other.is_connected, other.length, other.destination);
}

Result<bool> decode_subnet_routes(std::string_view datagram, const std::set<uint32_t>& tables,
                                  const Nexthops& nexthops, std::set<SubnetRoute>& routes) {
  return each_answer(datagram, RTM_NEWROUTE, "RTM_GETROUTE", [&](std::string_view payload) {
    return decode_subnet_route(payload, tables, nexthops, routes);
  });
}

std::set<int> links_beyond_subnets(const std::set<SubnetRoute>& routes) {
  std::map<int, std::vector<const SubnetRoute*>> connected;
  for (const SubnetRoute& route : routes)
    if (route.is_connected) connected[route.link].push_back(&route);
  std::set<int> out;
  for (const SubnetRoute& route : routes) {
    if (route.is_connected || out.contains(route.link)) continue;
    const auto& own = connected[route.link];
    if (std::none_of(own.begin(), own.end(), [&](const SubnetRoute* subnet) {
          return subnet->length <= route.length &&
                 covers(subnet->destination, subnet->length, route.destination);
        }))
      out.insert(route.link);
  }
  return out;
}

std::string encode_rule_dump(uint8_t family, uint32_t sequence) {
  return encode_dump(RTM_GETRULE, sequence, fib_rule_hdr{.family = family});
}

std::string encode_nexthop_dump(uint32_t sequence) {
  return encode_dump(RTM_GETNEXTHOP, sequence, nhmsg{.nh_family = AF_UNSPEC});
}

std::string encode_vrf_dump(uint32_t sequence) {
  struct {
    ifinfomsg info;
    nlattr link_info, kind;
    char name[4];
  } body{.name = {'v', 'r', 'f', '\0'}};
  body.kind.nla_len = sizeof body.kind + sizeof body.name;
  body.kind.nla_type = IFLA_INFO_KIND;
  body.link_info.nla_len = sizeof body.link_info + body.kind.nla_len;
  body.link_info.nla_type = IFLA_LINKINFO | NLA_F_NESTED;
  return encode_dump(RTM_GETLINK, sequence, body);
}

std::string encode_route_dump(uint8_t family, uint32_t table, uint32_t sequence) {
  struct {
    rtmsg route;
    nlattr attribute;
    uint32_t table;
  } body{};
  body.route.rtm_family = family;
  body.attribute.nla_len = sizeof body.attribute + sizeof body.table;
  body.attribute.nla_type = RTA_TABLE;
  body.table = table;
  return table == 0 ? encode_dump(RTM_GETROUTE, sequence, body.route)
                    : encode_dump(RTM_GETROUTE, sequence, body);
}

std::string encode_route_request(bool is_v6, uint32_t sequence) {
  // a.root-servers.net, for which no network has a route of its own. No packet is sent to it.
  constexpr std::string_view kV4("\xc6\x29\0\4", 4), kV6("\x20\1\5\3\xba\x3e\0\0\0\0\0\0\0\2\0\x30", 16);
  const std::string_view address = is_v6 ? kV6 : kV4;
  struct {
    nlmsghdr header;
    rtmsg route;
    nlattr attribute;
    char address[16];
  } request{};
  request.attribute.nla_len = static_cast<uint16_t>(sizeof request.attribute + address.size());
  request.attribute.nla_type = RTA_DST;
  std::memcpy(request.address, address.data(), address.size());
  request.header.nlmsg_len =
      static_cast<uint32_t>(sizeof request.header + sizeof request.route + request.attribute.nla_len);
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = sequence;
  request.route.rtm_family = is_v6 ? AF_INET6 : AF_INET;
  request.route.rtm_dst_len = static_cast<uint8_t>(8 * address.size());
  return std::string(reinterpret_cast<const char*>(&request), request.header.nlmsg_len);
}

std::string encode_vf_dump(uint32_t sequence) {
  struct {
    ifinfomsg info;
    nlattr attribute;
    uint32_t mask;
  } body{};
  body.attribute.nla_len = sizeof body.attribute + sizeof body.mask;
  body.attribute.nla_type = IFLA_EXT_MASK;
  body.mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;
  return encode_dump(RTM_GETLINK, sequence, body);
}

namespace {

std::string encode_get_link(int ifindex, uint32_t mask, uint32_t sequence) {
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
  request.mask = mask;
  return std::string(reinterpret_cast<const char*>(&request), sizeof request);
}

}  // namespace

std::string encode_vf_request(int ifindex, uint32_t sequence) {
  return encode_get_link(ifindex, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS, sequence);
}

std::string encode_link_request(int ifindex, uint32_t sequence) {
  return encode_get_link(ifindex, RTEXT_FILTER_SKIP_STATS, sequence);
}

namespace {

std::string text_in(std::string_view value) { return std::string(value.substr(0, value.find('\0'))); }

std::optional<DevlinkPort> decode_port_handle(std::string_view nest) {
  DevlinkPort port;
  std::optional<uint32_t> index;
  each_attribute(nest, [&](uint16_t type, std::string_view value) {
    if (type == DEVLINK_ATTR_BUS_NAME) port.bus = text_in(value);
    if (type == DEVLINK_ATTR_DEV_NAME) port.device = text_in(value);
    if (type == DEVLINK_ATTR_PORT_INDEX) index = peek<uint32_t>(value);
  });
  if (port.bus.empty() || port.device.empty() || !index) return std::nullopt;
  port.index = *index;
  return port;
}

void add_attribute(std::string& out, uint16_t type, std::string_view value) {
  const nlattr header{.nla_len = static_cast<uint16_t>(sizeof(nlattr) + value.size()), .nla_type = type};
  out.append(reinterpret_cast<const char*>(&header), sizeof header).append(value);
  out.resize(aligned(out.size()));
}

// NUL-terminated.
void add_text(std::string& out, uint16_t type, const std::string& text) {
  add_attribute(out, type, std::string_view(text.c_str(), text.size() + 1));
}

std::string encode_generic(uint16_t family, uint8_t command, const std::string& attributes,
                           uint32_t sequence) {
  struct {
    nlmsghdr header;
    genlmsghdr generic;
  } request{};
  request.header.nlmsg_len = static_cast<uint32_t>(sizeof request + attributes.size());
  request.header.nlmsg_type = family;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = sequence;
  request.generic.cmd = command;
  request.generic.version = DEVLINK_GENL_VERSION;  // 1, like that of the family nlctrl
  return std::string(reinterpret_cast<const char*>(&request), sizeof request) + attributes;
}

template <class OnAttribute>
Result<bool> each_generic_answer(std::string_view datagram, uint16_t family, const char* request,
                                 OnAttribute on_attribute) {
  return each_answer(datagram, family, request, [&](std::string_view payload) {
    return payload.size() >= sizeof(genlmsghdr) &&
           each_attribute(payload.substr(aligned(sizeof(genlmsghdr))), on_attribute);
  });
}

struct PortAttributes {
  std::optional<uint16_t> flavour, pf, vf;
  std::optional<uint32_t> number, subport, controller, sf;
  bool is_external = false;  // of the host of which this machine is the DPU
};

// Returns the same name as __devlink_port_phys_port_name_get() of net/devlink/port.c.
std::string name_of(const PortAttributes& port) {
  const auto text = [](const char* before, const auto& number) { return before + std::to_string(*number); };
  if (!port.flavour) return "";
  const std::string controller = port.is_external && port.controller ? text("c", port.controller) : "";
  switch (*port.flavour) {
    case DEVLINK_PORT_FLAVOUR_PHYSICAL:
      if (!port.number) return "";
      return text("p", port.number) + (port.subport ? text("s", port.subport) : "");
    case DEVLINK_PORT_FLAVOUR_PCI_PF:
      return port.pf ? controller + text("pf", port.pf) : "";
    case DEVLINK_PORT_FLAVOUR_PCI_VF:
      return port.pf && port.vf ? controller + text("pf", port.pf) + text("vf", port.vf) : "";
    case DEVLINK_PORT_FLAVOUR_PCI_SF:
      return port.pf && port.sf ? controller + text("pf", port.pf) + text("sf", port.sf) : "";
    default:
      return "";
  }
}

}  // namespace

Result<std::optional<DevlinkPort>> decode_port_of_link(std::string_view datagram) {
  std::optional<DevlinkPort> port;
  auto is_last = each_answer(datagram, RTM_NEWLINK, "RTM_GETLINK", [&](std::string_view payload) {
    if (payload.size() < sizeof(ifinfomsg)) return false;
    return each_attribute(payload.substr(aligned(sizeof(ifinfomsg))),
                          [&](uint16_t type, std::string_view value) {
                            if (type == kLinkDevlinkPort) port = decode_port_handle(value);
                          });
  });
  if (!is_last) return is_last.error();
  return port;
}

std::string encode_devlink_family_request(uint32_t sequence) {
  std::string attributes;
  add_text(attributes, CTRL_ATTR_FAMILY_NAME, DEVLINK_GENL_NAME);
  return encode_generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attributes, sequence);
}

Result<uint16_t> decode_family(std::string_view datagram) {
  std::optional<uint16_t> family;
  auto is_last = each_generic_answer(datagram, GENL_ID_CTRL, "CTRL_CMD_GETFAMILY",
                                     [&](uint16_t type, std::string_view value) {
                                       if (type == CTRL_ATTR_FAMILY_ID) family = peek<uint16_t>(value);
                                     });
  if (!is_last) return is_last.error();
  if (!family) return invalid("a generic family without its number");
  return *family;
}

std::string encode_devlink_port_request(uint16_t family, const DevlinkPort& port, uint32_t sequence) {
  std::string attributes;
  add_text(attributes, DEVLINK_ATTR_BUS_NAME, port.bus);
  add_text(attributes, DEVLINK_ATTR_DEV_NAME, port.device);
  add_attribute(attributes, DEVLINK_ATTR_PORT_INDEX,
                std::string_view(reinterpret_cast<const char*>(&port.index), sizeof port.index));
  return encode_generic(family, DEVLINK_CMD_PORT_GET, attributes, sequence);
}

Result<std::string> decode_devlink_port_name(std::string_view datagram, uint16_t family) {
  PortAttributes port;
  auto is_last = each_generic_answer(datagram, family, "DEVLINK_CMD_PORT_GET",
                                     [&](uint16_t type, std::string_view value) {
                                       const auto number = peek<uint32_t>(value);
                                       if (type == DEVLINK_ATTR_PORT_FLAVOUR)
                                         port.flavour = peek<uint16_t>(value);
                                       if (type == DEVLINK_ATTR_PORT_NUMBER) port.number = number;
                                       if (type == DEVLINK_ATTR_PORT_SPLIT_SUBPORT_NUMBER)
                                         port.subport = number;
                                       if (type == DEVLINK_ATTR_PORT_EXTERNAL)
                                         port.is_external = peek<uint8_t>(value).value_or(0) != 0;
                                       if (type == DEVLINK_ATTR_PORT_CONTROLLER_NUMBER)
                                         port.controller = number;
                                       if (type == DEVLINK_ATTR_PORT_PCI_PF_NUMBER)
                                         port.pf = peek<uint16_t>(value);
                                       if (type == DEVLINK_ATTR_PORT_PCI_VF_NUMBER)
                                         port.vf = peek<uint16_t>(value);
                                       if (type == DEVLINK_ATTR_PORT_PCI_SF_NUMBER) port.sf = number;
                                     });
  if (!is_last) return is_last.error();
  return name_of(port);
}

}  // namespace sliced::hotplug
