#include "kubelet/interfaces/default_routes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "kubelet/cni/network.h"
#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace {

using kube::Json;
using RouteKey = std::tuple<bool, int64_t, int64_t>;  // is IPv6; table; priority: 0 if not set

int64_t number_of(const Json& route, std::string_view key) {
  const Json* value = route.find(key);
  return value != nullptr && value->integer() != nullptr ? *value->integer() : 0;
}

// Returns the key with the kernel's defaults: IP6_RT_PRIO_USER, and table main.
RouteKey key_of(bool is_ipv6, int64_t table, int64_t priority) {
  constexpr int64_t kMain = 254, kIpv6Priority = 1'024;
  return {is_ipv6, table == 0 ? kMain : table, is_ipv6 && priority == 0 ? kIpv6Priority : priority};
}

bool is_default(std::string_view destination) { return destination.ends_with("/0"); }

// Families of the addresses that the IPAM plugin gives.
void add_families(const Json& value, std::set<bool>& families) {
  if (value.string() != nullptr && value.string()->find('/') != std::string::npos)
    families.insert(value.string()->find(':') != std::string::npos);
  if (value.array() != nullptr)
    for (const Json& one : *value.array()) add_families(one, families);
  if (value.object() != nullptr)
    for (const auto& [key, one] : *value.object())
      if (key != "routes") add_families(one, families);
}

std::set<RouteKey> default_routes_of(const RequiredInterface& wanted) {
  std::set<RouteKey> out;
  const auto network = cni::decode_network(wanted.config, wanted.network);
  if (!network || network->plugins.empty()) return out;
  if (std::ranges::any_of(network->plugins, [](const auto& one) { return one.type == "sbr"; })) return out;
  const Json& plugin = network->plugins.front().config;
  const Json* ipam = plugin.find("ipam");
  const Json* routes = ipam == nullptr ? nullptr : ipam->find("routes");
  if (routes != nullptr && routes->array() != nullptr)
    for (const Json& route : *routes->array())
      if (const auto destination = route.text("dst"); is_default(destination))
        out.insert(key_of(destination.find(':') != std::string_view::npos, number_of(route, "table"),
                          number_of(route, "priority")));
  // The routes of a VfConfig, in addition to those of its ipam.
  routes = plugin.find({"network", "routes"});
  if (routes != nullptr && routes->array() != nullptr)
    for (const Json& route : *routes->array())
      if (const auto destination = route.text("destination"); is_default(destination))
        out.insert(key_of(destination.find(':') != std::string_view::npos, number_of(route, "table"),
                          number_of(route, "priority")));
  const Json* gateway = plugin.find("isDefaultGateway");
  if (gateway != nullptr && gateway->boolean() != nullptr && *gateway->boolean()) {
    std::set<bool> families;
    if (ipam != nullptr) add_families(*ipam, families);
    for (const bool is_ipv6 : families) out.insert(key_of(is_ipv6, 0, 0));
  }
  return out;
}

}  // namespace

std::string default_route_conflict(const std::vector<RequiredInterface>& interfaces) {
  std::map<RouteKey, const RequiredInterface*> owners;
  // Each text is decoded once: a pod may have a thousand interfaces of one definition.
  std::unordered_map<std::string_view, std::set<RouteKey>> decoded;
  for (const RequiredInterface& one : interfaces) {
    const auto [routes, is_new] = decoded.try_emplace(one.config);
    if (is_new) routes->second = default_routes_of(one);
    for (const RouteKey& key : routes->second) {
      const auto [at, is_first] = owners.try_emplace(key, &one);
      if (is_first || at->second == &one) continue;
      const auto named = [](const RequiredInterface& wanted) {
        return "interface " + escaped(wanted.interface) + " of " + wanted.claim_text + " (" +
               (wanted.users_definition.empty() ? "network " + escaped(wanted.network, 64)
                                                : wanted.users_definition) +
               ")";
      };
      return "two interfaces of the pod set an " + std::string(std::get<0>(key) ? "IPv6" : "IPv4") +
             " default route: " + named(*at->second) + " and " + named(one) +
             "; let one network set it, or give the routes different tables or priorities";
    }
  }
  return "";
}

}  // namespace sliced::kubelet
