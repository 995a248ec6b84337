#include "kubelet/native_network.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "kubelet/cni/definition.h"
#include "kubelet/cni/names.h"
#include "kubelet/cni/plugin_fields.h"
#include "kubelet/mac_requests.h"
#include "kubelet/native_vf.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr int64_t kNativeMtuMin = 68, kNativeMtuMax = 65'535, kIpv6MtuMin = 1'280;  // RFC 791, RFC 8200
constexpr int kIpv6RoutePriority = 1'024;     // IP6_RT_PRIO_USER, for a route without a priority
constexpr int64_t kRulePriorityMax = 32'765;  // before the rule for the table main
const std::vector<std::string_view> kNetworkFields = {
    "mtu",  "mac",  "addresses", "routes", "rules", "neighbors", "sysctls", "duplicateAddressDetection",
    "type", "mode", "rdma",      "ipam"};
const std::vector<std::string_view> kRouteFields = {"destination", "gateway", "priority", "table"};
const std::vector<std::string_view> kRuleFields = {"source", "destination", "table", "priority"};
const std::vector<std::string_view> kNeighborFields = {"address", "mac"};

// An IPv4 address in an IPv6 one (::ffff:10.0.0.1) is an IPv4 address to Go, and an IPv6 one to the kernel.
bool is_unicast(const IpAddress& address) {
  return !address.is_unspecified() && !address.is_loopback() && !address.is_multicast() &&
         !address.is_ipv4_mapped();
}

Error wrong_field(const std::string& path, const std::string& what) {
  return {Errc::kInvalid, path + " " + what};
}

Result<Unit> only_fields(const Json& value, const std::vector<std::string_view>& fields,
                         const std::string& path) {
  if (value.object() == nullptr)
    return wrong_field(path, "is a " + std::string(value.kind_name()) + ", expected a map");
  for (const auto& [key, ignored] : *value.object()) {
    if (std::ranges::find(fields, key) != fields.end()) continue;
    const std::string near = nearest(key, fields);
    std::string known;
    for (const std::string_view field : fields) known += (known.empty() ? "" : ", ") + std::string(field);
    return wrong_field(
        path + "." + escaped(key, 64),
        "is an unknown field; " + (near.empty() ? "known are " + known : "did you mean " + near + "?"));
  }
  return Unit{};
}

// Returns nullopt if the key is missing.
Result<std::optional<int64_t>> number_in(const Json& value, std::string_view key, int64_t min, int64_t max,
                                         const std::string& path) {
  const Json* at = value.find(key);
  if (at == nullptr || at->is_null()) return std::optional<int64_t>();
  if (at->integer() != nullptr && *at->integer() >= min && *at->integer() <= max)
    return std::optional<int64_t>(*at->integer());
  const std::string is =
      at->integer() != nullptr ? std::to_string(*at->integer()) : "a " + std::string(at->kind_name());
  return wrong_field(path + "." + std::string(key), "is " + is + ", expected a number from " +
                                                        std::to_string(min) + " to " + std::to_string(max));
}

Result<std::string> string_in(const Json& value, std::string_view key, const std::string& path) {
  const Json* at = value.find(key);
  if (at == nullptr || at->is_null()) return std::string();
  if (at->string() == nullptr || at->string()->empty())
    return wrong_field(path + "." + std::string(key),
                       "is " + (at->string() ? std::string("empty") : "a " + std::string(at->kind_name())) +
                           ", expected a text: leave the field out, or set it");
  return *at->string();
}

Result<Json::Array> list_in(const Json& value, std::string_view key, size_t max, const std::string& path) {
  const Json* at = value.find(key);
  if (at == nullptr || at->is_null()) return Json::Array{};
  if (at->array() == nullptr)
    return wrong_field(path + "." + std::string(key),
                       "is a " + std::string(at->kind_name()) + ", expected a list");
  if (at->array()->size() > max)
    return Error{Errc::kTooLarge, path + "." + std::string(key) + " has " +
                                      std::to_string(at->array()->size()) + " entries, expected at most " +
                                      std::to_string(max)};
  return *at->array();
}

Result<std::string> address_in(const Json& value, const std::string& path) {
  const auto prefix = value.string() == nullptr ? std::nullopt : IpPrefix::decode(*value.string());
  if (!prefix)
    return wrong_field(
        path, "is " +
                  (value.string() ? in_quotes(*value.string(), 64) : "a " + std::string(value.kind_name())) +
                  ", expected an IP address with its prefix length, such as 192.0.2.5/24");
  if (!is_unicast(prefix->address) || prefix->length == 0)
    return wrong_field(
        path,
        "is " + in_quotes(*value.string(), 64) +
            ", expected an address of one interface: not zero, loopback or multicast, and a prefix length above 0");
  return prefix->text();
}

// Decodes a network without host bits. example: for the error text.
Result<IpPrefix> network_in(const std::string& text, const std::string& path, const std::string& example) {
  const auto prefix = IpPrefix::decode(text);
  if (!prefix)
    return wrong_field(path, "is " + in_quotes(text, 64) +
                                 ", expected a network with its prefix length, such as " + example);
  const IpPrefix network{prefix->first(), prefix->length};
  if (!prefix->is_network())
    return wrong_field(
        path, "is " + in_quotes(text, 64) + ", which has bits behind its prefix; expected " + network.text());
  if (network.address.is_multicast() || (network.address.is_loopback() && network.length > 0) ||
      network.address.is_ipv4_mapped())
    return wrong_field(path, "is " + in_quotes(text, 64) + ", expected a unicast network");
  return network;
}

// Returns 0 if it is missing. The default, main and local tables are refused: they belong to the pod, and
// another interface may use their routes.
Result<int> table_in(const Json& value, const std::string& path) {
  constexpr int64_t kDefault = 253, kLocal = 255;
  const auto table = number_in(value, "table", 1, 0x7fffffff, path);
  if (!table) return table.error();
  if (*table >= kDefault && *table <= kLocal)
    return wrong_field(path + ".table", "is " + std::to_string(**table) +
                                            ", which is default, main or local: expected another number");
  return static_cast<int>(table->value_or(0));
}

// Names of the fields in `routes`, or in CNI.
struct RouteKeys {
  std::string destination = "destination", gateway = "gateway";
};

Result<NativeRoute> route_of(const Json& value, const std::string& path, const RouteKeys& keys) {
  const auto destination = string_in(value, keys.destination, path),
             gateway = string_in(value, keys.gateway, path);
  if (!destination) return destination.error();
  if (!gateway) return gateway.error();
  const auto network =
      network_in(*destination, path + "." + keys.destination, "198.51.100.0/24 or 0.0.0.0/0");
  if (!network) return network.error();
  NativeRoute out{.destination = network->text()};
  if (!gateway->empty()) {
    const auto address = IpAddress::decode(*gateway);
    if (!address || address->is_ipv6() != network->address.is_ipv6() || !is_unicast(*address))
      return wrong_field(path + "." + keys.gateway,
                         "is " + in_quotes(*gateway, 64) + ", expected a unicast " +
                             (network->address.is_ipv6() ? "IPv6" : "IPv4") + " address");
    out.gateway = address->text();
  }
  const auto priority = number_in(value, "priority", 1, 0x7fffffff, path);
  if (!priority) return priority.error();
  out.priority = static_cast<int>(priority->value_or(0));
  const auto table = table_in(value, path);
  if (!table) return table.error();
  out.table = *table;
  return out;
}

Result<NativeRoute> route_in(const Json& value, const std::string& path) {
  if (auto good = only_fields(value, kRouteFields, path); !good) return std::move(good.error());
  return route_of(value, path, {});
}

// Decodes a route of an IPAM plugin's configuration or result. `scope` follows from the gateway.
Result<NativeRoute> ipam_route_in(const Json& value, const std::string& path) {
  for (const char* field : {"mtu", "advmss", "scope"})
    if (const Json* at = value.find(field); at != nullptr && !at->is_null() && *at != Json(0))
      return wrong_field(path + "." + field,
                         "is set, and network sets no such value of a route: leave it out");
  return route_of(value, path, {.destination = "dst", .gateway = "gw"});
}

Result<std::string> ipam_in(const Json& value, const std::string& path, cni::Author author) {
  const Json* at = value.find("ipam");
  if (at == nullptr || at->is_null()) return std::string();
  const std::string here = path + ".ipam";
  if (at->object() == nullptr)
    return wrong_field(here, "is a " + std::string(at->kind_name()) + ", expected a map");
  auto ipam = cni::canonical_ipam(*at, {.author = author, .by_administrator = "set it in the DeviceClass"});
  if (!ipam) return Error{ipam.error().code, here + "." + ipam.error().what};
  if (ipam->text("type") == "dhcp")
    return wrong_field(
        here + ".type",
        "is \"dhcp\", whose daemon needs the interface in the pod before it has an address: set "
        "netAttachDefName, of a definition with ipam dhcp, in the place of network");
  if (const Json* routes = ipam->find("routes"); routes != nullptr && routes->array() != nullptr)
    for (size_t i = 0; i < routes->array()->size(); ++i)
      if (auto good = ipam_route_in((*routes->array())[i], here + ".routes[" + std::to_string(i) + "]");
          !good)
        return std::move(good.error());
  return kube::encode_json(*ipam);
}

bool has_routes(const std::string& ipam) {
  const auto json = kube::decode_json(ipam);
  const Json* routes = json ? json->find("routes") : nullptr;
  return routes != nullptr && routes->array() != nullptr && !routes->array()->empty();
}

Result<NativeRule> rule_in(const Json& value, const std::string& path) {
  if (auto good = only_fields(value, kRuleFields, path); !good) return std::move(good.error());
  NativeRule out;
  std::optional<bool> is_ipv6;
  for (const auto& [field, into] :
       {std::pair("source", &out.source), std::pair("destination", &out.destination)}) {
    const auto text = string_in(value, field, path);
    if (!text) return text.error();
    if (text->empty()) continue;
    const std::string at = path + "." + field;
    const auto network = network_in(*text, at, "192.0.2.5/32");
    if (!network) return network.error();
    if (network->length == 0)
      return wrong_field(at, "is " + in_quotes(*text, 64) + ", which is every address: leave it out");
    if (is_ipv6 && *is_ipv6 != network->address.is_ipv6())
      return wrong_field(at, "is " + in_quotes(*text, 64) + ", and source is of the other family");
    is_ipv6 = network->address.is_ipv6();
    *into = network->text();
  }
  if (!is_ipv6) return wrong_field(path, "has neither source nor destination: set one of them");
  const auto table = table_in(value, path);
  if (!table) return table.error();
  if (*table == 0) return wrong_field(path + ".table", "is missing, expected the number of a table");
  out.table = *table;
  const auto priority = number_in(value, "priority", 1, kRulePriorityMax, path);
  if (!priority) return priority.error();
  if (!*priority)
    return wrong_field(path + ".priority",
                       "is missing, expected a number from 1 to " + std::to_string(kRulePriorityMax));
  out.priority = static_cast<int>(**priority);
  return out;
}

Result<std::string> mac_in(const Json& value, const std::string& path) {
  auto mac = string_in(value, "mac", path);
  if (!mac || mac->empty()) return mac;
  auto decoded = decode_mac(*mac);
  if (!decoded)
    return wrong_field(path + ".mac", "is " + in_quotes(*mac, 64) +
                                          ", expected a unicast MAC address, such as 02:00:00:00:00:05");
  return decoded;
}

Result<NativeNeighbor> neighbor_in(const Json& value, const std::string& path) {
  if (auto good = only_fields(value, kNeighborFields, path); !good) return std::move(good.error());
  const auto text = string_in(value, "address", path);
  if (!text) return text.error();
  const auto address = IpAddress::decode(*text);
  if (!address || !is_unicast(*address))
    return wrong_field(path + ".address", "is " + in_quotes(*text, 64) +
                                              ", expected a unicast IP address without a prefix length");
  auto mac = mac_in(value, path);
  if (!mac) return std::move(mac.error());
  if (mac->empty()) return wrong_field(path + ".mac", "is missing, expected the MAC address of the neighbor");
  return NativeNeighbor{address->text(), *std::move(mac)};
}

// Decodes each entry of a list by `read`.
template <class Item>
Result<Unit> read_list(const Json& value, const std::string& field, size_t max, const std::string& path,
                       Result<Item> (*read)(const Json&, const std::string&), std::vector<Item>& out) {
  const auto list = list_in(value, field, max, path);
  if (!list) return list.error();
  for (size_t i = 0; i < list->size(); ++i) {
    auto one = read((*list)[i], path + "." + field + "[" + std::to_string(i) + "]");
    if (!one) return std::move(one.error());
    out.push_back(*std::move(one));
  }
  return Unit{};
}

bool is_ipv6_text(std::string_view text) { return text.find(':') != std::string_view::npos; }

bool has_family(const NativeNetwork& network, bool is_ipv6) {
  return std::ranges::any_of(network.addresses,
                             [&](const std::string& address) { return is_ipv6_text(address) == is_ipv6; });
}

Error no_address_of_family(const std::string& path, const std::string& value, bool is_ipv6) {
  return wrong_field(path, "is " + in_quotes(value, 64) + ", and the interface has no " +
                               (is_ipv6 ? "IPv6" : "IPv4") + " address: add one to addresses");
}

Result<Unit> check_routes(const NativeNetwork& network, const std::string& path) {
  std::set<std::tuple<std::string, int, int>> seen;
  for (size_t i = 0; i < network.routes.size(); ++i) {
    const NativeRoute& route = network.routes[i];
    const std::string at = path + ".routes[" + std::to_string(i) + "]";
    const bool is_ipv6 = is_ipv6_text(route.destination);
    const int priority = is_ipv6 && route.priority == 0 ? kIpv6RoutePriority : route.priority;
    if (!seen.emplace(route.destination, route.table, priority).second)
      return wrong_field(
          at + ".destination",
          "is " + in_quotes(route.destination, 64) +
              ", which another route with the same table and priority has: leave one out, or set priority");
    if (network.runs_ipam()) continue;
    if (!has_family(network, is_ipv6))
      return no_address_of_family(at + ".destination", route.destination, is_ipv6);
    const auto gateway = IpAddress::decode(route.gateway);
    if (!gateway || gateway->is_link_local_ipv6()) continue;
    const bool is_on_link = std::ranges::any_of(network.addresses, [&](const std::string& address) {
      const auto prefix = IpPrefix::decode(address);
      return prefix && prefix->contains(*gateway);
    });
    // The kernel looks for the gateway in the table of the route, and then in the main one
    // (fib_check_nh_v4_gw(), ip6_route_check_nh()).
    const auto leads_to_it = [&](const NativeRoute& one) {
      const auto prefix = IpPrefix::decode(one.destination);
      return one.gateway.empty() && (one.table == route.table || one.table == 0) && prefix &&
             prefix->contains(*gateway);
    };
    if (!is_on_link && std::ranges::none_of(network.routes, leads_to_it))
      return wrong_field(
          at + ".gateway",
          "is " + in_quotes(route.gateway, 64) +
              ", which is on the subnet of none of the addresses and behind no route without a gateway: the "
              "kernel would refuse the route; add a route to " +
              in_quotes(route.gateway + (is_ipv6 ? "/128" : "/32"), 64));
  }
  return Unit{};
}

Result<Unit> check_rules(const NativeNetwork& network, const std::string& path) {
  for (size_t i = 0; i < network.rules.size(); ++i)
    if (std::find(network.rules.begin(), network.rules.begin() + static_cast<std::ptrdiff_t>(i),
                  network.rules[i]) != network.rules.begin() + static_cast<std::ptrdiff_t>(i))
      return wrong_field(path + ".rules[" + std::to_string(i) + "]",
                         "is in the list already: leave one of them out");
  return Unit{};
}

Result<Unit> check_neighbors(const NativeNetwork& network, const std::string& path) {
  std::set<std::string> seen;
  for (size_t i = 0; i < network.neighbors.size(); ++i) {
    const std::string& address = network.neighbors[i].address;
    const std::string at = path + ".neighbors[" + std::to_string(i) + "].address";
    if (!seen.insert(address).second)
      return wrong_field(at, "is " + in_quotes(address, 64) + ", which the list has already: leave it out");
    if (!network.runs_ipam() && !has_family(network, is_ipv6_text(address)))
      return no_address_of_family(at, address, is_ipv6_text(address));
    if (std::ranges::any_of(network.addresses,
                            [&](const std::string& own) { return own.substr(0, own.find('/')) == address; }))
      return wrong_field(at,
                         "is " + in_quotes(address, 64) + ", which is an address of the interface itself");
  }
  return Unit{};
}

constexpr std::string_view kTypes[] = {"passthrough", "macvlan", "ipvlan", "vlan", "bridgePort"};
constexpr std::string_view kMacvlanModes[] = {"bridge", "private", "vepa"};

Result<Unit> read_type(const Json& value, const std::string& path, NativeNetwork& out) {
  auto type = string_in(value, "type", path), mode = string_in(value, "mode", path);
  if (!type) return std::move(type.error());
  if (!mode) return std::move(mode.error());
  if (!type->empty() && std::ranges::find(kTypes, std::string_view(*type)) == std::end(kTypes))
    return wrong_field(path + ".type", "is " + in_quotes(*type, 64) +
                                           ", expected passthrough, macvlan, ipvlan, vlan or bridgePort");
  if (*mode == "passthru")
    return wrong_field(
        path + ".mode",
        "is \"passthru\", which takes the device from all others: expected bridge, private or vepa");
  if (!mode->empty() && std::ranges::find(kMacvlanModes, std::string_view(*mode)) == std::end(kMacvlanModes))
    return wrong_field(path + ".mode", "is " + in_quotes(*mode, 64) + ", expected bridge, private or vepa");
  auto rdma = string_in(value, "rdma", path);
  if (!rdma) return std::move(rdma.error());
  if (!rdma->empty() && *rdma != "move")
    return wrong_field(path + ".rdma",
                       "is " + in_quotes(*rdma, 64) + ", expected move: leave it out, or set it");
  out.type = *std::move(type), out.mode = *std::move(mode), out.rdma = *std::move(rdma);
  return Unit{};
}

// Refuses fields that belong to another type.
Result<Unit> check_type(const NativeNetwork& network, const std::string& path) {
  const std::string is_type = ", and type is " + (network.type.empty() ? "passthrough" : network.type);
  if (!network.mode.empty() && network.type != "macvlan")
    return wrong_field(path + ".mode", "is " + in_quotes(network.mode, 64) + is_type +
                                           ": leave it out, only macvlan has modes");
  if (!network.creates_link()) return Unit{};
  if (!network.rdma.empty())
    return wrong_field(path + ".rdma",
                       "is " + in_quotes(network.rdma, 64) + is_type +
                           ": leave it out, the RDMA device of a shared device stays on the host");
  for (const NativeVfSetting& one : native_vf_settings(network.vf)) {
    const bool is_of_type =
        (one.field == "vlan" && (network.type == "vlan" || network.type == "bridgePort")) ||
        (one.field == "vlanProto" && network.type == "vlan");
    if (!is_of_type)
      return wrong_field(path + "." + std::string(one.field),
                         "is " + one.value + is_type + ": leave it out, it is a setting of a VF" +
                             (one.field == "vlan" ? ", a VLAN interface or a port of a bridge" : ""));
  }
  if (network.type == "vlan" && network.vf.vlan.value_or(0) == 0)
    return wrong_field(path + ".vlan", "is " + std::string(network.vf.vlan ? "0" : "missing") +
                                           ", and type is vlan: expected a VLAN from 1 to 4094");
  if (network.type == "ipvlan" && !network.mac.empty())
    return wrong_field(path + ".mac",
                       "is " + network.mac +
                           ", and type is ipvlan, whose interfaces have the MAC address of the "
                           "device: leave it out, or set type to macvlan");
  return Unit{};
}

// Checks sysctls whose value contradicts another field.
Result<Unit> check_sysctls(const NativeNetwork& network, const std::string& path) {
  const auto has = [&](std::string_view name, std::string_view value) {
    return std::ranges::any_of(
        network.sysctls, [&](const NativeSysctl& one) { return one.name == name && one.value == value; });
  };
  constexpr std::string_view kDisable = "net.ipv6.conf.IFNAME.disable_ipv6";
  constexpr std::string_view kTransmits = "net.ipv6.conf.IFNAME.dad_transmits";
  if (has(kDisable, "1") && has_family(network, true))
    return wrong_field(path + ".sysctls." + std::string(kDisable),
                       "is \"1\", and addresses has an IPv6 address: leave one of them out");
  if (!network.waits_for_dad()) return Unit{};
  if (!network.runs_ipam() && !has_family(network, true))
    return wrong_field(path + ".duplicateAddressDetection",
                       "is \"wait\", and addresses has no IPv6 address: leave it out, or add one");
  if (has(kTransmits, "0"))
    return wrong_field(path + ".sysctls." + std::string(kTransmits),
                       "is \"0\", by which nothing is detected, and duplicateAddressDetection is \"wait\": "
                       "leave one of them out");
  return Unit{};
}

}  // namespace

Result<NativeNetwork> decode_native_network(const Json& value, const std::string& path, cni::Author author) {
  std::vector<std::string_view> fields = kNetworkFields;
  for (const std::string_view field : native_vf_fields()) fields.push_back(field);
  if (auto good = only_fields(value, fields, path); !good) return std::move(good.error());
  NativeNetwork out;
  auto vf = decode_native_vf(value, path);
  if (!vf) return std::move(vf.error());
  out.vf = *std::move(vf);
  const auto mtu = number_in(value, "mtu", kNativeMtuMin, kNativeMtuMax, path);
  if (!mtu) return mtu.error();
  out.mtu = static_cast<int>(mtu->value_or(0));
  auto mac = mac_in(value, path);
  if (!mac) return std::move(mac.error());
  out.mac = *std::move(mac);
  const auto addresses = list_in(value, "addresses", kNativeAddressesMax, path);
  if (!addresses) return addresses.error();
  for (size_t i = 0; i < addresses->size(); ++i) {
    const std::string at = path + ".addresses[" + std::to_string(i) + "]";
    auto address = address_in((*addresses)[i], at);
    if (!address) return std::move(address.error());
    const auto same = [&](const std::string& other) {
      return other.substr(0, other.find('/')) == address->substr(0, address->find('/'));
    };
    if (std::ranges::any_of(out.addresses, same))
      return wrong_field(at, "is " + in_quotes(*address, 64) + ", which the list has already: leave it out");
    out.addresses.push_back(*std::move(address));
  }
  for (auto read : {read_list(value, "routes", kNativeRoutesMax, path, &route_in, out.routes),
                    read_list(value, "rules", kNativeRulesMax, path, &rule_in, out.rules),
                    read_list(value, "neighbors", kNativeNeighborsMax, path, &neighbor_in, out.neighbors)})
    if (!read) return std::move(read.error());
  if (const Json* sysctls = value.find("sysctls"); sysctls != nullptr && !sysctls->is_null()) {
    auto decoded = decode_native_sysctls(*sysctls, path + ".sysctls");
    if (!decoded) return std::move(decoded.error());
    out.sysctls = *std::move(decoded);
  }
  if (auto read = read_type(value, path, out); !read) return std::move(read.error());
  auto dad = string_in(value, "duplicateAddressDetection", path);
  if (!dad) return std::move(dad.error());
  if (!dad->empty() && *dad != "off" && *dad != "wait")
    return wrong_field(path + ".duplicateAddressDetection",
                       "is " + in_quotes(*dad, 64) + ", expected off or wait");
  out.dad = *std::move(dad);
  auto ipam = ipam_in(value, path, author);
  if (!ipam) return std::move(ipam.error());
  out.ipam = *std::move(ipam);
  return out;
}

Json encode_native_network(const NativeNetwork& network) {
  Json out{Json::Object{}};
  if (network.mtu != 0) out.set("mtu", Json(network.mtu));
  if (!network.mac.empty()) out.set("mac", Json(network.mac));
  Json::Array addresses, routes, rules, neighbors;
  for (const std::string& address : network.addresses) addresses.emplace_back(address);
  for (const NativeRoute& route : network.routes) {
    Json one{Json::Object{{"destination", route.destination}}};
    if (!route.gateway.empty()) one.set("gateway", Json(route.gateway));
    if (route.priority != 0) one.set("priority", Json(route.priority));
    if (route.table != 0) one.set("table", Json(route.table));
    routes.push_back(std::move(one));
  }
  for (const NativeRule& rule : network.rules) {
    Json one{Json::Object{}};
    if (!rule.source.empty()) one.set("source", Json(rule.source));
    if (!rule.destination.empty()) one.set("destination", Json(rule.destination));
    one.set("table", Json(rule.table));
    one.set("priority", Json(rule.priority));
    rules.push_back(std::move(one));
  }
  for (const NativeNeighbor& one : network.neighbors)
    neighbors.push_back(Json::Object{{"address", one.address}, {"mac", one.mac}});
  if (!addresses.empty()) out.set("addresses", Json(std::move(addresses)));
  if (!routes.empty()) out.set("routes", Json(std::move(routes)));
  if (!rules.empty()) out.set("rules", Json(std::move(rules)));
  if (!neighbors.empty()) out.set("neighbors", Json(std::move(neighbors)));
  if (!network.sysctls.empty()) out.set("sysctls", encode_native_sysctls(network.sysctls));
  if (!network.type.empty()) out.set("type", Json(network.type));
  if (!network.mode.empty()) out.set("mode", Json(network.mode));
  if (!network.rdma.empty()) out.set("rdma", Json(network.rdma));
  if (!network.dad.empty()) out.set("duplicateAddressDetection", Json(network.dad));
  if (const auto ipam = kube::decode_json(network.ipam); network.runs_ipam() && ipam) out.set("ipam", *ipam);
  encode_native_vf(network.vf, out);
  return out;
}

NativeNetwork overlay_native_networks(NativeNetwork network, const NativeNetwork& later) {
  if (later.mtu != 0) network.mtu = later.mtu;
  if (!later.mac.empty()) network.mac = later.mac;
  if (!later.addresses.empty()) network.addresses = later.addresses;
  if (!later.routes.empty()) network.routes = later.routes;
  if (!later.rules.empty()) network.rules = later.rules;
  if (!later.neighbors.empty()) network.neighbors = later.neighbors;
  if (!later.sysctls.empty()) network.sysctls = later.sysctls;
  if (!later.dad.empty()) network.dad = later.dad;
  if (!later.type.empty()) network.type = later.type;
  if (!later.mode.empty()) network.mode = later.mode;
  if (!later.rdma.empty()) network.rdma = later.rdma;
  if (!later.ipam.empty()) network.ipam = later.ipam;
  overlay_native_vf(later.vf, network.vf);
  return network;
}

Result<NativeNetwork> merge_native_networks(const NativeNetwork& by_class, const NativeNetwork& by_claim,
                                            const std::string& claim_path) {
  NativeNetwork out = by_class;
  auto vf = merge_native_vf(by_class.vf, by_claim.vf, claim_path);
  if (!vf) return std::move(vf.error());
  out.vf = *std::move(vf);
  const auto merge = [&](const char* field, const auto& ours, const auto& theirs, auto& into,
                         const auto& nothing) -> Result<Unit> {
    if (theirs == nothing) return Unit{};
    if (ours != nothing && ours != theirs)
      return wrong_field(
          claim_path + "." + field,
          "differs from the value that the DeviceClass sets, which a claim cannot change: leave it out");
    into = theirs;
    return Unit{};
  };
  for (auto merged :
       {merge("mtu", by_class.mtu, by_claim.mtu, out.mtu, 0),
        merge("mac", by_class.mac, by_claim.mac, out.mac, std::string()),
        merge("addresses", by_class.addresses, by_claim.addresses, out.addresses, std::vector<std::string>()),
        merge("routes", by_class.routes, by_claim.routes, out.routes, std::vector<NativeRoute>()),
        merge("rules", by_class.rules, by_claim.rules, out.rules, std::vector<NativeRule>()),
        merge("neighbors", by_class.neighbors, by_claim.neighbors, out.neighbors,
              std::vector<NativeNeighbor>()),
        merge("sysctls", by_class.sysctls, by_claim.sysctls, out.sysctls, std::vector<NativeSysctl>()),
        merge("type", by_class.type, by_claim.type, out.type, std::string()),
        merge("rdma", by_class.rdma, by_claim.rdma, out.rdma, std::string()),
        merge("ipam", by_class.ipam, by_claim.ipam, out.ipam, std::string()),
        merge("mode", by_class.mode, by_claim.mode, out.mode, std::string()),
        merge("duplicateAddressDetection", by_class.dad, by_claim.dad, out.dad, std::string())})
    if (!merged) return std::move(merged.error());
  // The routes of an IPAM plugin are added to `routes`.
  if (!by_class.routes.empty() && by_class.ipam.empty() && has_routes(by_claim.ipam))
    return wrong_field(claim_path + ".ipam.routes",
                       "adds to routes, which the DeviceClass sets and a claim cannot change: leave it out");
  if (by_class.routes.empty() && !by_claim.routes.empty() && has_routes(by_class.ipam))
    return wrong_field(
        claim_path + ".routes",
        "adds to ipam.routes, which the DeviceClass sets and a claim cannot change: leave it out");
  return out;
}

Result<Unit> check_native_network(const NativeNetwork& network, const std::string& path) {
  if (auto good = check_native_vf(network.vf, path); !good) return good;
  if (network.runs_ipam() && !network.addresses.empty())
    return wrong_field(path + ".addresses",
                       "is set, and ipam too, whose plugin gives the addresses: leave one of them out");
  if (has_family(network, true) && network.mtu != 0 && network.mtu < kIpv6MtuMin)
    return wrong_field(path + ".mtu", "is " + std::to_string(network.mtu) +
                                          ", expected at least 1280 for an interface with an IPv6 address");
  for (const auto check : {&check_routes, &check_rules, &check_neighbors, &check_sysctls, &check_type})
    if (auto good = check(network, path); !good) return good;
  return Unit{};
}

std::string native_config(const NativeNetwork& network, const std::string& interface, const std::string& pci,
                          const std::string& rdma_device, const std::string& scalable_function) {
  Json config{Json::Object{{"cniVersion", "1.1.0"}, {"name", "network"}, {"type", "sliced-native"}}};
  // The lower interface has the same key as in the CNI plugins' configs.
  config.set(!network.creates_link()        ? "hostInterface"
             : network.type == "bridgePort" ? "bridge"
                                            : "master",
             Json(interface));
  if (!pci.empty()) config.set("hostPCI", Json(pci));
  if (!rdma_device.empty()) config.set("rdmaDevice", Json(rdma_device));
  if (!scalable_function.empty()) config.set("scalableFunction", Json(scalable_function));
  if (!network.mac.empty()) config.set("mac", Json(network.mac));  // readers look for it in every config
  NativeNetwork rest = network;
  rest.ipam.clear();
  if (const auto ipam = kube::decode_json(network.ipam); network.runs_ipam() && ipam) {
    config.set("ipamPlugin", Json(ipam->text("type")));
    config.set("ipam", *ipam);
    config.set("network", encode_native_network(rest));
    return kube::encode_json(config);
  }
  rest.addresses.clear();
  rest.routes.clear();
  config.set("network", encode_native_network(rest));
  Json::Array addresses, routes;
  for (const std::string& address : network.addresses)
    addresses.push_back(Json::Object{{"address", address}});
  for (const NativeRoute& route : network.routes) {
    Json one{Json::Object{{"dst", route.destination}}};
    if (!route.gateway.empty()) one.set("gw", Json(route.gateway));
    if (route.priority != 0) one.set("priority", Json(route.priority));
    if (route.table != 0) one.set("table", Json(route.table));
    routes.push_back(std::move(one));
  }
  Json ipam{Json::Object{{"type", "static"}}};
  ipam.set("addresses", Json(std::move(addresses)));
  ipam.set("routes", Json(std::move(routes)));
  config.set("ipam", std::move(ipam));
  return kube::encode_json(config);
}

namespace {

// The fields by which a plugin is given the host's interface: one of a plugin with a table, and those that
// canonical_definition() checks of another one.
std::vector<std::string_view> interface_fields(const Json& plugin) {
  if (plugin.text("type") == cni::kNativePlugin) return {"hostInterface", "master", "bridge"};
  const cni::PluginFields* known = cni::plugin_fields(plugin.text("type"));
  if (known == nullptr) return {"device", "master", "bridge"};
  if (known->host_interface.empty()) return {};
  return {known->host_interface};
}

}  // namespace

std::string with_host_names(const std::string& config, const std::string& interface,
                            const std::string& rdma_device, bool* names_interface) {
  auto whole = kube::decode_json(config);
  if (!whole) return config;
  const Json* list = whole->find("plugins");
  const bool is_list = list != nullptr && list->array() != nullptr;
  Json::Array plugins = is_list ? *list->array() : Json::Array{*whole};
  bool is_changed = false;
  const auto set = [&](Json& plugin, std::string_view field, const std::string& value) {
    if (value.empty() || plugin.text(field).empty() || plugin.text(field) == value) return;
    plugin.set(field, Json(value));
    is_changed = true;
  };
  for (Json& plugin : plugins) {
    const bool is_native = plugin.text("type") == cni::kNativePlugin;
    for (const std::string_view field : interface_fields(plugin)) {
      if (names_interface != nullptr) *names_interface |= !is_native && !plugin.text(field).empty();
      set(plugin, field, interface);
    }
    if (is_native) set(plugin, "rdmaDevice", rdma_device);
  }
  if (!is_changed) return config;
  if (is_list)
    whole->set("plugins", Json(std::move(plugins)));
  else
    *whole = std::move(plugins.front());
  return kube::encode_json(*whole);
}

std::string_view plugin_of_type(std::string_view type) {
  if (type == "bridgePort") return "bridge";
  return type == "passthrough" ? "" : type;
}

std::string_view made_by_plugin(const Json& plugin) {
  const std::string_view type = plugin.text("type");
  if (type != "sliced-native") return type;
  const Json* network = plugin.find("network");
  const std::string_view by = network == nullptr ? "" : plugin_of_type(network->text("type"));
  return by.empty() ? type : by;
}

// The oldest version whose results do not distinguish address families. All plugin releases since 2019
// support it.
constexpr std::string_view kIpamCniVersion = "0.4.0";

std::optional<cni::Network> ipam_network_of(const cni::Network& network) {
  const Json& config = network.plugins.front().config;
  const std::string type(config.text("ipamPlugin"));
  const Json* ipam = config.find("ipam");
  if (type.empty() || ipam == nullptr || !cni::is_plugin_type(type)) return std::nullopt;
  return cni::Network{.name = network.name,
                      .cni_version = std::string(kIpamCniVersion),
                      .plugins = {{type, Json(Json::Object{{"type", type}, {"ipam", *ipam}})}}};
}

Result<NativeNetwork> with_ipam_result(NativeNetwork network, const cni::Attached& result) {
  network.ipam.clear();
  Json given{Json::Object{}};
  Json::Array addresses;
  for (const cni::Ip& one : result.ips) addresses.emplace_back(one.address);
  if (addresses.empty()) return Error{Errc::kInvalid, "its result has no address"};
  given.set("addresses", Json(std::move(addresses)));
  auto decoded = decode_native_network(given, "its result");
  if (!decoded) return decoded;
  network.addresses = std::move(decoded->addresses);
  if (result.routes.size() + network.routes.size() > kNativeRoutesMax)
    return Error{Errc::kTooLarge, "its result has " + std::to_string(result.routes.size()) +
                                      " routes, and network " + std::to_string(network.routes.size()) +
                                      ": expected at most " + std::to_string(kNativeRoutesMax) + " together"};
  for (size_t i = 0; i < result.routes.size(); ++i) {
    const cni::Route& one = result.routes[i];
    Json route(Json::Object{{"dst", one.destination}});
    const auto gateway = std::ranges::find_if(result.ips, [&](const cni::Ip& ip) {
      return !ip.gateway.empty() && is_ipv6_text(ip.gateway) == is_ipv6_text(one.destination);
    });
    if (!one.gateway.empty())
      route.set("gw", Json(one.gateway));
    else if (gateway != result.ips.end())
      route.set("gw", Json(gateway->gateway));
    for (const auto& [key, number] :
         {std::pair("mtu", one.mtu), std::pair("advmss", one.advertised_mss),
          std::pair("priority", one.priority), std::pair("table", one.table.value_or(0)),
          std::pair("scope", one.scope.value_or(0))})
      if (number != 0) route.set(key, Json(number));
    auto read = ipam_route_in(route, "its result.routes[" + std::to_string(i) + "]");
    if (!read) return std::move(read.error());
    network.routes.push_back(*std::move(read));
  }
  if (auto good = check_native_network(network, "network"); !good) return std::move(good.error());
  return network;
}

Result<NativeNetwork> network_of_config(const Json& config) {
  const Json* rest = config.find("network");
  auto out = decode_native_network(rest == nullptr ? Json(Json::Object{}) : *rest, "network");
  if (!out) return out;
  if (const Json* ipam = config.find("ipam"); ipam != nullptr && !config.text("ipamPlugin").empty()) {
    out->ipam = kube::encode_json(*ipam);
    return out;
  }
  const auto number_of = [](const Json& value, std::string_view key) {
    const Json* at = value.find(key);
    return at != nullptr && at->integer() != nullptr ? static_cast<int>(*at->integer()) : 0;
  };
  const auto each = [&](const char* key, const auto& visit) {
    const Json* list = config.find({"ipam", key});
    if (list != nullptr && list->array() != nullptr)
      for (const Json& one : *list->array()) visit(one);
  };
  each("addresses", [&](const Json& one) { out->addresses.emplace_back(one.text("address")); });
  each("routes", [&](const Json& one) {
    out->routes.push_back({.destination = std::string(one.text("dst")),
                           .gateway = std::string(one.text("gw")),
                           .priority = number_of(one, "priority"),
                           .table = number_of(one, "table")});
  });
  return out;
}

}  // namespace sliced::kubelet
