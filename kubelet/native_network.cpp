#include "kubelet/native_network.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "kubelet/mac_requests.h"
#include "kubelet/native_vf.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;

constexpr int64_t kNativeMtuMin = 68, kNativeMtuMax = 65'535, kIpv6MtuMin = 1'280;  // RFC 791, RFC 8200
const std::vector<std::string_view> kNetworkFields = {"mtu", "mac", "addresses", "routes"};
const std::vector<std::string_view> kRouteFields = {"destination", "gateway", "priority"};

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

// nullopt: not said.
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

Result<NativeRoute> route_in(const Json& value, const std::string& path) {
  if (auto good = only_fields(value, kRouteFields, path); !good) return std::move(good.error());
  const auto destination = string_in(value, "destination", path), gateway = string_in(value, "gateway", path);
  if (!destination) return destination.error();
  if (!gateway) return gateway.error();
  const auto prefix = IpPrefix::decode(*destination);
  if (!prefix)
    return wrong_field(
        path + ".destination",
        "is " + in_quotes(*destination, 64) +
            ", expected a network with its prefix length, such as 198.51.100.0/24 or 0.0.0.0/0");
  const IpPrefix network{prefix->first(), prefix->length};
  if (!prefix->is_network())
    return wrong_field(path + ".destination", "is " + in_quotes(*destination, 64) +
                                                  ", which has bits behind its prefix; expected " +
                                                  network.text());
  if (network.address.is_multicast() || (network.address.is_loopback() && network.length > 0) ||
      network.address.is_ipv4_mapped())
    return wrong_field(path + ".destination",
                       "is " + in_quotes(*destination, 64) + ", expected a unicast network");
  NativeRoute out{.destination = network.text()};
  if (!gateway->empty()) {
    const auto address = IpAddress::decode(*gateway);
    if (!address || address->is_ipv6() != network.address.is_ipv6() || !is_unicast(*address))
      return wrong_field(path + ".gateway", "is " + in_quotes(*gateway, 64) + ", expected a unicast " +
                                                (network.address.is_ipv6() ? "IPv6" : "IPv4") + " address");
    out.gateway = address->text();
  }
  const auto priority = number_in(value, "priority", 1, 0x7fffffff, path);
  if (!priority) return priority.error();
  out.priority = static_cast<int>(priority->value_or(0));
  return out;
}

}  // namespace

Result<NativeNetwork> decode_native_network(const Json& value, const std::string& path) {
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
  const auto mac = string_in(value, "mac", path);
  if (!mac) return mac.error();
  if (!mac->empty()) {
    auto decoded = decode_mac(*mac);
    if (!decoded)
      return wrong_field(path + ".mac", "is " + in_quotes(*mac, 64) +
                                            ", expected a unicast MAC address, such as 02:00:00:00:00:05");
    out.mac = *std::move(decoded);
  }
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
  const auto routes = list_in(value, "routes", kNativeRoutesMax, path);
  if (!routes) return routes.error();
  for (size_t i = 0; i < routes->size(); ++i) {
    auto route = route_in((*routes)[i], path + ".routes[" + std::to_string(i) + "]");
    if (!route) return std::move(route.error());
    out.routes.push_back(*std::move(route));
  }
  return out;
}

Json encode_native_network(const NativeNetwork& network) {
  Json out{Json::Object{}};
  if (network.mtu != 0) out.set("mtu", Json(network.mtu));
  if (!network.mac.empty()) out.set("mac", Json(network.mac));
  Json::Array addresses, routes;
  for (const std::string& address : network.addresses) addresses.emplace_back(address);
  for (const NativeRoute& route : network.routes) {
    Json one{Json::Object{{"destination", route.destination}}};
    if (!route.gateway.empty()) one.set("gateway", Json(route.gateway));
    if (route.priority != 0) one.set("priority", Json(route.priority));
    routes.push_back(std::move(one));
  }
  if (!addresses.empty()) out.set("addresses", Json(std::move(addresses)));
  if (!routes.empty()) out.set("routes", Json(std::move(routes)));
  encode_native_vf(network.vf, out);
  return out;
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
        merge("routes", by_class.routes, by_claim.routes, out.routes, std::vector<NativeRoute>())})
    if (!merged) return std::move(merged.error());
  return out;
}

Result<Unit> check_native_network(const NativeNetwork& network, const std::string& path) {
  if (auto good = check_native_vf(network.vf, path); !good) return good;
  bool has_ipv6 = false;
  for (const std::string& address : network.addresses) has_ipv6 |= address.find(':') != std::string::npos;
  if (has_ipv6 && network.mtu != 0 && network.mtu < kIpv6MtuMin)
    return wrong_field(path + ".mtu", "is " + std::to_string(network.mtu) +
                                          ", expected at least 1280 for an interface with an IPv6 address");
  std::set<std::pair<std::string, int>> seen;
  for (size_t i = 0; i < network.routes.size(); ++i) {
    const NativeRoute& route = network.routes[i];
    const std::string at = path + ".routes[" + std::to_string(i) + "]";
    if (!seen.emplace(route.destination, route.priority).second)
      return wrong_field(
          at + ".destination",
          "is " + in_quotes(route.destination, 64) +
              ", which another route with the same priority has: leave one out, or set priority");
    const bool is_ipv6 = route.destination.find(':') != std::string::npos;
    const auto is_of_family = [&](const std::string& address) {
      return (address.find(':') != std::string::npos) == is_ipv6;
    };
    if (std::ranges::none_of(network.addresses, is_of_family))
      return wrong_field(at + ".destination",
                         "is " + in_quotes(route.destination, 64) + ", and the interface has no " +
                             (is_ipv6 ? "IPv6" : "IPv4") + " address: add one to addresses");
    const auto gateway = IpAddress::decode(route.gateway);
    if (!gateway || gateway->is_link_local_ipv6()) continue;
    const bool is_on_link = std::ranges::any_of(network.addresses, [&](const std::string& address) {
      const auto prefix = IpPrefix::decode(address);
      return prefix && prefix->contains(*gateway);
    });
    if (!is_on_link)
      return wrong_field(
          at + ".gateway",
          "is " + in_quotes(route.gateway, 64) +
              ", which is on the subnet of none of the addresses: the kernel would refuse the route");
  }
  return Unit{};
}

std::string native_config(const NativeNetwork& network, const std::string& interface) {
  Json config{Json::Object{{"cniVersion", "1.1.0"}, {"name", "network"}, {"type", "sliced-native"}}};
  config.set("hostInterface", Json(interface));
  if (network.mtu != 0) config.set("mtu", Json(network.mtu));
  if (!network.mac.empty()) config.set("mac", Json(network.mac));
  Json::Array addresses, routes;
  for (const std::string& address : network.addresses)
    addresses.push_back(Json::Object{{"address", address}});
  for (const NativeRoute& route : network.routes) {
    Json one{Json::Object{{"dst", route.destination}}};
    if (!route.gateway.empty()) one.set("gw", Json(route.gateway));
    if (route.priority != 0) one.set("priority", Json(route.priority));
    routes.push_back(std::move(one));
  }
  Json ipam{Json::Object{{"type", "static"}}};
  ipam.set("addresses", Json(std::move(addresses)));
  ipam.set("routes", Json(std::move(routes)));
  config.set("ipam", std::move(ipam));
  encode_native_vf(network.vf, config);
  return kube::encode_json(config);
}

}  // namespace sliced::kubelet
