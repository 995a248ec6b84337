#include "hotplug/link.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>

#include "hotplug/netlink_decode.h"
#include "hotplug/pci_function.h"
#include "hotplug/read_value.h"
#include "hotplug/resolve.h"
#include "reactor/base/text.h"

namespace sliced::hotplug {
namespace {

constexpr std::string_view kNetdevs = "sys/class/net/";
constexpr size_t kProcSizeMax = 16 << 20;
constexpr size_t kLowersMax = 4096;
constexpr size_t kUdevRecordMax = 64 << 10;

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view part : split(line, ' '))
    for (const std::string_view word : split(part, '\t'))
      if (!trim(word).empty()) out.push_back(trim(word));
  return out;
}

// ".../0000:03:00.0/net/eth0" is the function's own, and so is ".../0000:03:00.0/virtio2/net/eth0".
bool is_own_path(std::string_view target, const PciAddress& function) {
  const size_t at = target.rfind("/" + function.text() + "/");
  if (at == std::string_view::npos) return false;
  const auto parts = split(target.substr(at + 2 + function.text().size()), '/');
  if (parts.size() == 2) return parts[0] == "net";
  return parts.size() == 3 && parts[0].starts_with("virtio") && parts[1] == "net";
}

void place(const HostView& host, std::string_view target, const HostDir& dir, NetdevReading& netdev) {
  std::string path(target);
  if (path.find("devices/") == std::string::npos) {
    // A layout other than the kernel's (a snapshot with only "device" links): the function is the link's last
    // component.
    if (const auto device = host.readlink(std::string(kNetdevs) + netdev.name + "/device"))
      path = *device + "/net/" + netdev.name;
  }
  (void)dir;
  netdev.function = function_above(path);
  netdev.is_functions_own = netdev.function && is_own_path("/" + path, *netdev.function);
  netdev.auxiliary = auxiliary_above(path);
}

bool is_mac(std::string_view text) {
  return text.size() <= 95 && std::all_of(text.begin(), text.end(), [](char c) {
           return c == ':' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string devtype_of(std::string_view uevent) {
  for (const std::string_view line : split(uevent, '\n'))
    if (line.starts_with("DEVTYPE=")) return std::string(line.substr(8));
  return "";
}

// flags is "0x1003"; IFF_UP of net/if.h is its first bit.
std::optional<bool> read_is_up(const HostDir& dir, std::vector<std::string>& unreadable) {
  const std::string text = read_text(dir, "flags", unreadable);
  if (text.empty()) return std::nullopt;
  const auto flags = text.starts_with("0x") ? parse_hex(std::string_view(text).substr(2)) : std::nullopt;
  if (flags) return (*flags & 1) != 0;
  unreadable.push_back("flags: " + in_quotes(text, 32) + " is not a hexadecimal number");
  return std::nullopt;
}

// Returns the ifindex of the interface to which a link in NAME's directory points; 0 if it cannot be read.
int ifindex_behind(const HostView& host, const std::string& name, const std::string& link) {
  const auto text = host.read(std::string(kNetdevs) + name + "/" + link + "/ifindex");
  const auto ifindex = text ? parse_int(trim(*text)) : std::nullopt;
  return ifindex && *ifindex > 0 && *ifindex <= INT32_MAX ? static_cast<int>(*ifindex) : 0;
}

void read_link_only_facts(const HostView& host, const HostDir& dir, NetdevReading& netdev) {
  netdev.devtype = devtype_of(read_text(dir, "uevent", netdev.unreadable));
  const auto names = dir.list();
  if (!names) return;
  for (const std::string& name : *names) {
    if (name == "bridge") netdev.has_bridge = true;
    if (name == "bonding") netdev.has_bonding = true;
    if (name.starts_with("lower_") && netdev.lowers.size() < kLowersMax)
      netdev.lowers.push_back({name.substr(6), ifindex_behind(host, netdev.name, name)});
  }
  if (!netdev.has_bridge) return;
  const auto filtering = host.read(std::string(kNetdevs) + netdev.name + "/bridge/vlan_filtering");
  if (filtering)
    netdev.vlan_filtering = *filtering != "0";
  else if (filtering.error().code != Errc::kNotFound)
    netdev.unreadable.push_back(unreadable_note("vlan_filtering", filtering.error()));
}

// proc writes names unescaped. A name that breaks the table's columns cannot be parsed and is ignored.
template <class OnLine>
void each_line(std::string_view text, OnLine on_line) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    on_line(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// Returns "" for a missing file; nullopt, with a problem, for one that cannot be read.
std::optional<std::string> read_proc(const HostView& host, std::string_view path, HostReadings& readings) {
  auto text = host.read(path, kProcSizeMax);
  if (text) return std::move(*text);
  if (text.error().code == Errc::kNotFound) return "";
  readings.problems.push_back(text.error().what);
  return std::nullopt;
}

constexpr uint64_t kRouteUp = 0x1, kRouteReject = 0x200;  // RTF_UP, RTF_REJECT (linux/route.h)

bool is_usable_route(std::string_view flags_text) {
  const auto flags = parse_hex(flags_text);
  return flags && (*flags & kRouteUp) != 0 && (*flags & kRouteReject) == 0;
}

bool has_gateway(std::string_view flags_text) {
  constexpr uint64_t kRouteGateway = 0x2;  // RTF_GATEWAY
  return (parse_hex(flags_text).value_or(0) & kRouteGateway) != 0;
}

// An address as proc/net/route has it: the bytes in network order, printed as a number of this machine.
std::optional<std::string> decode_route_address(std::string_view text) {
  const auto number = parse_hex(text);
  if (!number || *number > UINT32_MAX) return std::nullopt;
  const auto word = static_cast<uint32_t>(*number);
  std::string out(sizeof word, '\0');
  std::memcpy(out.data(), &word, sizeof word);
  return out;
}

// Routes of links by name, numbered for links_beyond_subnets().
class SubnetRoutes {
 public:
  void add(std::string_view name, SubnetRoute route) {
    if (route.length == 0) return;
    route.link = links_.try_emplace(std::string(name), static_cast<int>(links_.size()) + 1).first->second;
    if (!is_local_or_multicast(route)) routes_.insert(std::move(route));
  }
  std::set<std::string> beyond_subnets() const {
    const std::set<int> links = links_beyond_subnets(routes_);
    std::set<std::string> out;
    for (const auto& [name, link] : links_)
      if (links.contains(link)) out.insert(name);
    return out;
  }

 private:
  std::map<std::string, int> links_;
  std::set<SubnetRoute> routes_;
};

bool is_zeros(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c == '0'; });
}

// As libudev does: the device's file in udevd's database contains the time when its rules ended (I:USEC).
void read_udev_record(const HostView& host, NetdevReading& netdev) {
  const auto text = host.read("run/udev/data/n" + std::to_string(netdev.ifindex), kUdevRecordMax);
  if (text)
    each_line(*text, [&](std::string_view line) { netdev.is_initialized |= line.starts_with("I:"); });
  else if (text.error().code != Errc::kNotFound)
    netdev.unreadable.push_back(unreadable_note("udev record", text.error()));
}

std::optional<NetdevReading> read_netdev_once(const HostView& host, std::string_view name,
                                              std::string_view link_target) {
  NetdevReading netdev;
  netdev.name = name;
  const auto opened = host.open_dir(std::string(kNetdevs) + netdev.name);
  if (!opened) {
    if (opened.error().code == Errc::kNotFound) return std::nullopt;
    // bonding_masters is a file among the interfaces.
    if (host.read(std::string(kNetdevs) + netdev.name)) return std::nullopt;
    netdev.broken = unreadable_note("unreadable", opened.error());
    return netdev;
  }
  const HostDir& dir = **opened;
  place(host, link_target, dir, netdev);
  netdev.ifindex = read_int(dir, "ifindex", netdev.unreadable).value_or(0);
  netdev.mac = lower(read_text(dir, "address", netdev.unreadable));
  if (!is_mac(netdev.mac)) {
    netdev.unreadable.push_back("address: " + in_quotes(netdev.mac, 64) + " is not a MAC address");
    netdev.mac.clear();
  }
  if (!netdev.auxiliary.empty())
    netdev.sf_number = read_sf_number(host, std::string(kNetdevs) + netdev.name + "/device");
  if (netdev.is_functions_own) netdev.is_up = read_is_up(dir, netdev.unreadable);
  netdev.mtu = read_int(dir, "mtu", netdev.unreadable);
  netdev.link_type = read_int(dir, "type", netdev.unreadable);
  netdev.master = read_link_name(dir, "master", netdev.unreadable);
  if (!netdev.master.empty()) netdev.master_ifindex = ifindex_behind(host, netdev.name, "master");
  read_udev_record(host, netdev);
  if (netdev.is_functions_own)
    netdev.dev_port = read_int(dir, "dev_port", netdev.unreadable);
  else
    read_link_only_facts(host, dir, netdev);
  // It was removed during the read: a removed directory stays open and is empty.
  if (netdev.ifindex == 0 && !netdev.link_type && netdev.unreadable.empty()) return std::nullopt;
  if (!is_utf8(netdev.name)) netdev.broken = "interface name " + in_quotes(netdev.name, 64) + " is not UTF-8";
  return netdev;
}

}  // namespace

std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name,
                                         std::string_view link_target) {
  auto netdev = read_netdev_once(host, name, link_target);
  if (!netdev || (netdev->unreadable.empty() && netdev->broken.empty())) return netdev;
  return read_netdev_once(host, name, link_target);
}

std::optional<NetdevReading> read_netdev(const HostView& host, std::string_view name) {
  const auto target = read_link_patiently(host, std::string(kNetdevs) + std::string(name));
  auto netdev = read_netdev(host, name, target.value_or(""));
  if (netdev && !target && !is_absence(target.error()))
    netdev->unreadable.push_back(unreadable_note("path", target.error()));
  return netdev;
}

Result<std::string> read_devlink_port(const HostView& host, int ifindex, std::string_view switch_id,
                                      std::string_view phys_port_name) {
  if (switch_id.empty() || !is_ambiguous(decode_port_name(phys_port_name))) return std::string();
  return host.devlink_port(ifindex);
}

SlowFacts read_slow_facts_of_netdev(const HostView& host, std::string_view name) {
  SlowFacts slow;
  const auto opened = host.open_dir(std::string(kNetdevs) + std::string(name));
  if (!opened) {
    if (!is_absence(opened.error()))
      slow.unreadable.push_back(
          unreadable_note("operstate, phys_switch_id, phys_port_name, speed", opened.error()));
    return slow;
  }
  const HostDir& dir = **opened;
  slow.oper_state = read_text(dir, "operstate", slow.unreadable);
  // Without a value, phys_* return EOPNOTSUPP and speed returns EINVAL or -1.
  slow.phys_switch_id = lower(read_text(dir, "phys_switch_id", slow.unreadable));
  slow.phys_port_name = read_text(dir, "phys_port_name", slow.unreadable);
  std::vector<std::string> ignored;
  const int ifindex = read_int(dir, "ifindex", ignored).value_or(0);
  if (auto port = read_devlink_port(host, ifindex, slow.phys_switch_id, slow.phys_port_name))
    slow.devlink_port = *std::move(port);
  else
    slow.unreadable.push_back("devlink port: " + port.error().what);
  auto properties = host.link_properties(ifindex);
  if (properties) {
    slow.alternative_names = std::move(properties->alternative_names);
    slow.is_netns_immutable = properties->is_netns_immutable;
  } else {
    slow.unreadable.push_back("altnames: " + properties.error().what);
  }
  // cfg80211 makes each of its interfaces immutable: the radio moves (iw phy set netns). Only newer kernels report it.
  if (!slow.is_netns_immutable && devtype_of(read_text(dir, "uevent", ignored)) == "wlan")
    slow.is_netns_immutable = true;
  std::erase_if(slow.alternative_names, [](const std::string& one) { return !is_utf8(one); });
  const auto speed = read_int(dir, "speed", slow.unreadable);
  if (speed && *speed > 0) slow.speed_mbps = *speed;
  for (const auto& [file, text] : {std::pair{"operstate: ", &slow.oper_state},
                                   {"phys_switch_id: ", &slow.phys_switch_id},
                                   {"phys_port_name: ", &slow.phys_port_name}}) {
    if (is_utf8(*text)) continue;
    slow.unreadable.push_back(file + in_quotes(*text, 64) + " is not UTF-8");
    text->clear();
  }
  return slow;
}

std::map<std::string, VlanEntry> decode_vlan_config(std::string_view text) {
  std::map<std::string, VlanEntry> vlans;
  each_line(text, [&](std::string_view line) {
    const auto columns = split(line, '|');
    if (columns.size() != 3) return;
    const auto id = parse_int(trim(columns[1]));
    if (!id || *id < 0 || *id > 4095) return;  // the two header lines
    vlans[std::string(trim(columns[0]))] = VlanEntry{static_cast<int>(*id), std::string(trim(columns[2]))};
  });
  return vlans;
}

void decode_default_routes4(std::string_view text, std::set<std::string>& names) {
  // Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT; the main table only
  std::map<int64_t, std::string_view> best;
  each_line(text, [&](std::string_view line) {
    const auto columns = columns_of(line);
    if (columns.size() < 8 || !is_zeros(columns[1]) || !is_zeros(columns[7]) || !is_usable_route(columns[3]))
      return;
    best.try_emplace(parse_int(columns[6]).value_or(0), columns[0]);
  });
  if (!best.empty()) names.emplace(best.begin()->second);
}

void decode_default_routes6(std::string_view text, std::set<std::string>& names) {
  // destination length source length nexthop metric refcount use flags interface
  constexpr int kPreferenceShift = 27;            // RTF_PREF of linux/ipv6_route.h
  constexpr uint64_t kByAdvertisement = 0x40000;  // RTF_ADDRCONF
  std::map<std::pair<uint64_t, int>, std::set<std::string_view>> best;
  each_line(text, [&](std::string_view line) {
    const auto columns = columns_of(line);
    if (columns.size() < 10 || !is_zeros(columns[0]) || columns[1] != "00" || !is_usable_route(columns[8]))
      return;
    if (columns[9] == "lo") return;
    const uint64_t flags = parse_hex(columns[8]).value_or(0);
    auto& equal = best[{parse_hex(columns[5]).value_or(0),
                        rank_of_preference(static_cast<unsigned>(flags >> kPreferenceShift & 3))}];
    // Equal routes are next hops of one (ECMP), except those of router advertisements, of which the first is
    // used.
    if (equal.empty() || (flags & kByAdvertisement) == 0) equal.insert(columns[9]);
  });
  if (!best.empty()) names.insert(best.begin()->second.begin(), best.begin()->second.end());
}

void decode_other_routes4(std::string_view text, std::set<std::string>& names) {
  SubnetRoutes routes;
  each_line(text, [&](std::string_view line) {
    const auto columns = columns_of(line);
    if (columns.size() < 8 || !is_usable_route(columns[3])) return;
    const auto destination = decode_route_address(columns[1]), mask = decode_route_address(columns[7]);
    if (!destination || !mask) return;
    uint8_t length = 0;
    for (const char byte : *mask)
      length += static_cast<uint8_t>(std::popcount(static_cast<unsigned char>(byte)));
    routes.add(columns[0],
               {.is_connected = !has_gateway(columns[3]), .length = length, .destination = *destination});
  });
  names.merge(routes.beyond_subnets());
}

void decode_other_routes6(std::string_view text, std::set<std::string>& names) {
  SubnetRoutes routes;
  each_line(text, [&](std::string_view line) {
    const auto columns = columns_of(line);
    if (columns.size() < 10 || !is_usable_route(columns[8]) || columns[9] == "lo") return;
    const auto length = parse_hex(columns[1]);
    std::string destination;
    for (size_t i = 0; i + 2 <= columns[0].size(); i += 2)
      destination += static_cast<char>(parse_hex(columns[0].substr(i, 2)).value_or(0));
    if (!length || *length > 128 || destination.size() != 16) return;
    routes.add(columns[9], {.is_v6 = true,
                            .is_connected = !has_gateway(columns[8]),
                            .length = static_cast<uint8_t>(*length),
                            .destination = destination});
  });
  names.merge(routes.beyond_subnets());
}

void read_vlans(const HostView& host, HostReadings& readings) {
  if (const auto text = read_proc(host, "proc/net/vlan/config", readings))
    readings.vlans = decode_vlan_config(*text);
}

void keep_default_routes(const HostReadings& before, HostReadings& now) {
  const auto with_renamed = [&](const std::set<std::string>& names) {
    std::set<int> links;
    for (const std::string& name : names)
      if (const NetdevReading* netdev = before.netdevs.find(name)) links.insert(netdev->ifindex);
    std::set<std::string> out = names;
    for (const auto& [name, netdev] : now.netdevs)
      if (links.contains(netdev.ifindex)) out.insert(name);
    return out;
  };
  now.default_routes = with_renamed(before.default_routes);
  now.other_routes = with_renamed(before.other_routes);
  now.learned_routes = with_renamed(before.learned_routes);
  now.are_routes_unknown = before.are_routes_unknown;
  now.were_routes_read = before.were_routes_read;
}

std::string missing_link(int ifindex) { return "ifindex " + std::to_string(ifindex); }

bool read_default_routes(const HostView& host, HostReadings& readings) {
  const auto links = host.route_links();
  if (links && *links) {
    readings.default_routes.clear();
    readings.other_routes.clear();
    readings.learned_routes.clear();
    std::set<int> unknown = (*links)->defaults;
    unknown.insert((*links)->others.begin(), (*links)->others.end());
    for (const auto& [name, netdev] : readings.netdevs) {
      if ((*links)->defaults.contains(netdev.ifindex)) readings.default_routes.insert(name);
      if ((*links)->others.contains(netdev.ifindex)) readings.other_routes.insert(name);
      if ((*links)->learned.contains(netdev.ifindex)) readings.learned_routes.insert(name);
      unknown.erase(netdev.ifindex);
    }
    readings.missing_links.clear();
    for (const int ifindex : unknown) readings.missing_links.insert(missing_link(ifindex));
    readings.were_routes_read = true;
    readings.are_routes_unknown = false;
    return unknown.empty();
  }
  if (!links) readings.problems.push_back(links.error().what);
  const auto v4 = read_proc(host, "proc/net/route", readings),
             v6 = read_proc(host, "proc/net/ipv6_route", readings);
  // Unreadable routes keep protecting the same interfaces. Without any earlier reading, all interfaces are
  // protected.
  if (v4 && v6 && links) {
    readings.default_routes.clear();
    readings.other_routes.clear();
  }
  readings.learned_routes.clear();  // proc does not contain the protocol
  readings.were_routes_read |= v4 && v6;
  readings.are_routes_unknown = !readings.were_routes_read;
  decode_default_routes4(v4.value_or(""), readings.default_routes);
  decode_default_routes6(v6.value_or(""), readings.default_routes);
  decode_other_routes4(v4.value_or(""), readings.other_routes);
  decode_other_routes6(v6.value_or(""), readings.other_routes);
  readings.missing_links.clear();
  for (const auto* routes : {&readings.default_routes, &readings.other_routes})
    for (const std::string& name : *routes)
      if (!readings.netdevs.contains(name)) readings.missing_links.insert(name);
  return readings.missing_links.empty();
}

}  // namespace sliced::hotplug
