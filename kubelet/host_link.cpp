#include "kubelet/host_link.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>

#include "hotplug/facts.h"
#include "hotplug/netlink_decode.h"
#include "kubelet/netlink.h"
#include "kubelet/virtual_link.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::kubelet {
namespace {

using netlink::aligned;
using netlink::bytes_of;
using netlink::decode_dump;
using netlink::DumpTypes;
using netlink::each_attribute;
using netlink::encode_dump;
using netlink::error_of;
using netlink::number_in;
using netlink::read_dump;
using netlink::text_in;

constexpr int kDownUp = IFF_UP, kPromisc = IFF_PROMISC, kAllmulti = IFF_ALLMULTI;

constexpr int kGsoIpv4MaxSize = 63, kGroIpv4MaxSize = 64;  // IFLA_GSO_IPV4_MAX_SIZE, since Linux 6.3
struct LinkNumber {
  std::string_view name;
  int attribute;
  size_t size = sizeof(uint32_t);
};
constexpr LinkNumber kNumbers[] = {{"txqlen", IFLA_TXQLEN},
                                   {"group", IFLA_GROUP},
                                   {"gso_max_size", IFLA_GSO_MAX_SIZE},
                                   {"gso_ipv4_max_size", kGsoIpv4MaxSize},
                                   {"gso_max_segs", IFLA_GSO_MAX_SEGS},
                                   {"gro_max_size", IFLA_GRO_MAX_SIZE},
                                   {"gro_ipv4_max_size", kGroIpv4MaxSize},
                                   {"mode", IFLA_LINKMODE, 1},
                                   {"protodown", IFLA_PROTO_DOWN, 1}};
// Flags that RTM_SETLINK changes (__dev_change_flags()), without IFF_UP, IFF_PROMISC and IFF_ALLMULTI. An
// interface keeps them in another network namespace.
struct LinkFlag {
  std::string_view name;
  unsigned flag;
  bool is_negative = false;
};
constexpr LinkFlag kFlags[] = {{"arp", IFF_NOARP, true},
                               {"multicast", IFF_MULTICAST},
                               {"dynamic", IFF_DYNAMIC},
                               {"trailers", IFF_NOTRAILERS, true},
                               {"debug", IFF_DEBUG}};

std::optional<uint32_t> number_of_size(std::string_view value, size_t size) {
  if (value.size() != size) return std::nullopt;
  return size == 1 ? static_cast<uint8_t>(value.front()) : number_in(value);
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
  for (const LinkFlag& one : kFlags)
    link.numbers.emplace(one.name, ((info.ifi_flags & one.flag) != 0) != one.is_negative ? 1 : 0);
  const auto read_ipvlan = [&](std::string_view data) {
    (void)each_attribute(data, [&](int type, std::string_view value) {
      uint16_t number = 0;
      if (value.size() != sizeof number) return;
      std::memcpy(&number, value.data(), sizeof number);
      if (type == IFLA_IPVLAN_MODE) link.ipvlan_mode = number;
      if (type == IFLA_IPVLAN_FLAGS) link.ipvlan_flags = number;
    });
  };
  const auto read_bridge = [&](std::string_view data) {
    (void)each_attribute(data, [&](int type, std::string_view value) {
      if (type == IFLA_BR_VLAN_FILTERING && value.size() == 1) link.is_vlan_filtering = value.front() != 0;
      uint16_t number = 0;
      if (type != IFLA_BR_VLAN_DEFAULT_PVID || value.size() != sizeof number) return;
      std::memcpy(&number, value.data(), sizeof number);
      link.default_pvid = number;
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
          if (const auto number = number_of_size(value, one.size); type == one.attribute && number)
            link.numbers.emplace(one.name, *number);
        if (type == IFLA_IFNAME) link.name = text_in(value);
        if (type == hotplug::kNetnsImmutable) link.is_netns_immutable = value.size() == 1 && value[0] != 0;
        if (type == IFLA_PARENT_DEV_NAME) link.parent = text_in(value);
        if (type == IFLA_MTU && value.size() == sizeof link.mtu)
          std::memcpy(&link.mtu, value.data(), sizeof link.mtu);
        if (type == IFLA_ADDRESS) link.mac = netlink::mac_text(value);
        if (type == IFLA_BROADCAST && value.size() == ETH_ALEN) link.broadcast = netlink::mac_text(value);
        if (type == IFLA_LINKINFO)
          (void)each_attribute(value, [&](int inner, std::string_view kind) {
            if (inner == IFLA_INFO_KIND) link.kind = text_in(kind);
            if (inner == IFLA_INFO_DATA && link.kind == "ipvlan") read_ipvlan(kind);  // the kind comes first
            if (inner == IFLA_INFO_DATA && link.kind == "bridge") read_bridge(kind);
          });
      });
  if (is_lower_elsewhere) link.lower = 0;
  return is_read && is_whole;
}

constexpr DumpTypes kLinks = {RTM_GETLINK, RTM_NEWLINK, "RTM_GETLINK", "RTM_NEWLINK"};
}  // namespace

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
  for (const LinkFlag& one : kFlags)
    if (const auto at = change.numbers.find(one.name); at != change.numbers.end()) {
      head.info.ifi_change |= one.flag;
      if ((at->second != 0) != one.is_negative) head.info.ifi_flags |= one.flag;
    }
  std::string attributes;
  if (change.to_namespace) put_attribute(attributes, IFLA_NET_NS_FD, bytes_of(*change.to_namespace));
  if (change.name) put_attribute(attributes, IFLA_IFNAME, *change.name + '\0');
  if (change.mtu) put_attribute(attributes, IFLA_MTU, bytes_of(*change.mtu));
  if (change.mac) put_attribute(attributes, IFLA_ADDRESS, netlink::mac_bytes(*change.mac));
  if (change.broadcast) put_attribute(attributes, IFLA_BROADCAST, netlink::mac_bytes(*change.broadcast));
  if (change.alias) put_attribute(attributes, IFLA_IFALIAS, *change.alias);
  for (const LinkNumber& one : kNumbers)
    if (const auto at = change.numbers.find(one.name); at != change.numbers.end()) {
      const auto byte = static_cast<uint8_t>(at->second);
      put_attribute(attributes, one.attribute, one.size == 1 ? bytes_of(byte) : bytes_of(at->second));
    }
  // The kernel refuses to clear protodown while it has a reason, which the pod may have set.
  if (const auto at = change.numbers.find("protodown"); at != change.numbers.end() && at->second == 0) {
    constexpr uint32_t kAll = ~uint32_t{0}, kNone = 0;
    std::string reasons;
    put_attribute(reasons, IFLA_PROTO_DOWN_REASON_MASK, bytes_of(kAll));
    put_attribute(reasons, IFLA_PROTO_DOWN_REASON_VALUE, bytes_of(kNone));
    put_attribute(attributes, IFLA_PROTO_DOWN_REASON | NLA_F_NESTED, reasons);
  }
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
  for (HostLink& link : links) link.parent = function_of_parent(link.parent, "/sys");
  return links;
}

std::string function_of_parent(const std::string& parent, const std::string& sysfs) {
  if (!parent.starts_with("virtio")) return parent;
  std::error_code error;
  const auto device = std::filesystem::read_symlink(sysfs + "/bus/virtio/devices/" + parent, error);
  const std::string function = device.parent_path().filename();
  return !error && hotplug::PciAddress::decode(function) ? function : parent;
}

// Checks all names first, including the interface's own alternative ones. udev gives an interface that
// returns from a pod under another name its usual names as alternative ones, so the former name may be among
// them. Alternative names of other interfaces are never removed here.
Result<Unit> change_link(int network_namespace, int ifindex, const LinkChange& change) {
  const std::string request = encode_link_change(ifindex, change);
  int error = send_link_request(network_namespace, request);
  if (error == EEXIST && change.name &&
      send_link_request(network_namespace, encode_link_change(ifindex, {.removed_name = change.name})) == 0)
    error = send_link_request(network_namespace, request);
  if (error == 0) return Unit{};
  return error_of("change interface " + std::to_string(ifindex), error);
}

bool has_pci_parent(const HostLink& link) { return hotplug::PciAddress::decode(link.parent).has_value(); }

const HostLink* find_moved(const std::vector<HostLink>& links, const MovedLink& moved) {
  for (const HostLink& link : links)
    if (!moved.pci.empty() && link.parent == moved.pci) return &link;
  for (const HostLink& link : links)
    if (link.ifindex == moved.ifindex_in_pod && link.kind == moved.kind && !has_pci_parent(link))
      return &link;
  if (moved.ifindex_in_pod != 0) return nullptr;  // a pod may give its name to another one
  const auto find = [&](const std::string& name) -> const HostLink* {
    for (const HostLink& link : links)
      if (link.name == name && name != "lo" && link.kind == moved.kind && !has_pci_parent(link)) return &link;
    return nullptr;
  };
  if (const HostLink* link = find(moved.name_in_pod)) return link;
  if (moved.kind != "veth") return find(moved.name);
  return nullptr;
}

Result<Unit> remove_uppers(int network_namespace, const std::vector<HostLink>& links, const HostLink& lower) {
  // IFLA_LINK of these is their peer. Without it the device would be deleted.
  constexpr std::string_view kPairs[] = {"veth", "netkit"};
  constexpr uint32_t kFirstGroup = 29'549;
  std::vector<int> uppers;
  std::set<uint32_t> groups;
  for (const HostLink& link : links) {
    if (const auto group = link.numbers.find("group"); group != link.numbers.end())
      groups.insert(group->second);
    if (link.lower != lower.ifindex || link.ifindex == lower.ifindex || link.kind.empty()) continue;
    if (std::find(std::begin(kPairs), std::end(kPairs), link.kind) == std::end(kPairs))
      uppers.push_back(link.ifindex);
  }
  if (uppers.empty()) return Unit{};
  uint32_t group = kFirstGroup;
  while (groups.contains(group)) ++group;
  // A pod can create thousands. The kernel waits for an RCU grace period at each request that removes an
  // interface, so one request removes all of them: as a group that contains no other interface of the
  // namespace.
  Result<Unit> removed = Unit{};
  const int error = in_namespace(network_namespace, [&] {
    for (const int ifindex : uppers) {
      auto moved = change_link(network_namespace, ifindex, {.numbers = {{"group", group}}});
      if (!moved && moved.error().code != Errc::kNotFound) removed = std::move(moved);
    }
    if (removed) removed = remove_link_group(network_namespace, group);
  });
  if (error != 0) return error_of("enter the pod's network namespace", error);
  if (!removed) return std::move(removed.error()).in("interfaces on " + escaped(lower.name));
  return removed;
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
  if (auto removed = remove_uppers(from_namespace, *links, *link); !removed)
    return std::move(removed.error());
  LinkChange change{.name = moved.name, .up = false, .to_namespace = own.get()};
  const auto& names = link->alternative_names;
  if (std::find(names.begin(), names.end(), moved.name) != names.end())
    (void)change_link(from_namespace, link->ifindex, {.removed_name = moved.name});
  auto done = change_link(from_namespace, link->ifindex, change);
  if (!done && done.error().code == Errc::kConflict && is_there()) {
    // Kernels from 6.6 on do not move an interface with an alternative name that the host has; earlier ones
    // moved it.
    for (const std::string& name : names)
      (void)change_link(from_namespace, link->ifindex, {.removed_name = name});
    done = change_link(from_namespace, link->ifindex, change);
  }
  if (!done && done.error().code == Errc::kConflict && is_there()) {
    change.name = "dev%d";  // as the kernel does when a namespace ends
    done = change_link(from_namespace, link->ifindex, change);
  }
  // The kernel moves the interface first and renames it then. So an interface whose name is in use is on the
  // host nevertheless.
  if (!done && !is_there()) return true;
  if (!done) return std::move(done.error()).in("move interface " + escaped(link->name) + " back to the host");
  return true;
}

}  // namespace sliced::kubelet
