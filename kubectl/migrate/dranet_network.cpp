#include "kubectl/migrate/dranet_network.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "kube/objects/kinds.h"
#include "kubelet/native_network.h"
#include "kubelet/vf_config.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr int64_t kScopeLink = 253;  // RT_SCOPE_LINK

// Fields that have no counterpart for any value.
struct NoCounterpart {
  std::string_view field, why, remedy;
};
constexpr std::string_view kOnHost =
    "set it on the host before pods get the device (ip link set): it stays when the interface moves";
constexpr NoCounterpart kWithoutCounterpart[] = {
    {"profile", "sliced asks no cloud provider or webhook for configurations",
     "write the addresses and routes into the claim"},
    {"interface.gsoMaxSize", "sliced sets no segmentation offload sizes", kOnHost},
    {"interface.groMaxSize", "sliced sets no receive offload sizes", kOnHost},
    {"interface.gsoIPv4MaxSize", "sliced sets no segmentation offload sizes", kOnHost},
    {"interface.groIPv4MaxSize", "sliced sets no receive offload sizes", kOnHost},
    {"interface.vrf", "sliced makes no VRF in the pod, and its routes would be in the main table",
     "give the pod one interface for each routing domain, or make the VRF in the pod (CAP_NET_ADMIN)"},
    {"ethtool.features", "sliced sets no offload features",
     "set them on the host before pods get the device (ethtool -K), or in the pod (CAP_NET_ADMIN)"},
    {"ethtool.privateFlags", "sliced sets no private flags of drivers",
     "set them on the host before pods get the device"},
};

const std::vector<std::string_view> kConfigFields = {"profile", "interface", "routes",
                                                     "rules",   "neighbors", "ethtool"};
const std::vector<std::string_view> kInterfaceFields = {"name",           "addresses",
                                                        "dhcp",           "mtu",
                                                        "hardwareAddr",   "gsoMaxSize",
                                                        "groMaxSize",     "gsoIPv4MaxSize",
                                                        "groIPv4MaxSize", "disableEbpfPrograms",
                                                        "forwarding",     "arpIgnore",
                                                        "arpAnnounce",    "vrf"};
const std::vector<std::string_view> kEthtoolFields = {"features", "privateFlags"};
const std::vector<std::string_view> kRouteFieldsOfDranet = {"destination", "gateway", "source", "scope",
                                                            "table"};
const std::vector<std::string_view> kRuleFieldsOfDranet = {"priority", "source", "destination", "table"};
const std::vector<std::string_view> kNeighborFieldsOfDranet = {"destination", "hardwareAddr"};

// Returns the value in YAML's flow style, shortened.
std::string shown(const Json& value) {
  if (value.string() != nullptr) return in_quotes(*value.string(), 64);
  if (value.object() == nullptr) return escaped(kube::encode_json(value), 96);
  std::vector<std::string> members;
  constexpr size_t kMembersMax = 6;
  for (const auto& [key, member] : *value.object()) {
    if (members.size() == kMembersMax) break;
    members.push_back(escaped(key, 32) + ": " +
                      (member.string() != nullptr ? escaped(*member.string(), 64)
                                                  : escaped(kube::encode_json(member), 32)));
  }
  return "{" + join(members, ", ") + (value.object()->size() > kMembersMax ? ", ..." : "") + "}";
}
bool is_true(const Json* value) {
  return value != nullptr && value->boolean() != nullptr && *value->boolean();
}

class NetworkConverter {
 public:
  explicit NetworkConverter(const Json& config) : config_(config) {}

  ConvertedNetwork run(const std::string& only_interface) {
    check_fields(config_, kConfigFields, "");
    static const Json none;
    const Json* found = config_.find("interface");
    const Json& interface = found == nullptr ? none : *found;
    check_fields(interface, kInterfaceFields, "interface.");
    if (const Json* ethtool = config_.find("ethtool")) check_fields(*ethtool, kEthtoolFields, "ethtool.");
    for (const NoCounterpart& one : kWithoutCounterpart) lose_whole(one);
    name(interface, only_interface);
    copy(interface, "mtu", "mtu");
    mac(interface);
    addresses(interface);
    switches(interface);
    routes(interface.find("vrf") != nullptr);
    rules();
    neighbors();
    Json parameters = Json::Object{};
    parameters.set("apiVersion", kube::api_version(kube::kSriovResourcePolicies));
    parameters.set("kind", "VfConfig");
    if (!if_name_.empty()) parameters.set("ifName", if_name_);
    parameters.set("network", network_);
    out_.parameters = std::move(parameters);
    return std::move(out_);
  }

 private:
  void lose(const Json& value, const std::string& field, std::string why, std::string remedy,
            bool is_error = false) {
    out_.lost.push_back({is_error, value.line(), field, shown(value), std::move(why), std::move(remedy)});
  }

  // dranet decodes with sigs.k8s.io/json, UnmarshalStrict: field names are case-sensitive.
  void check_fields(const Json& value, const std::vector<std::string_view>& known, const std::string& path) {
    if (value.is_null()) return;
    if (value.object() == nullptr)
      return lose(value, path.empty() ? "parameters" : path.substr(0, path.size() - 1), "it is not a map",
                  "write a map, or leave it out", true);
    for (const auto& [key, member] : *value.object()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      // dranet's documentation writes ipAddress.
      const std::string near = key == "ipAddress" ? "destination" : nearest(key, known);
      lose(member, path + escaped(key, 64), "dranet has no such field, and refuses a claim with it",
           near.empty() ? "delete it" : "did you mean " + near + "?", true);
    }
  }

  void lose_whole(const NoCounterpart& one) {
    const size_t dot = one.field.find('.');
    const Json* at = dot == std::string_view::npos
                         ? config_.find(one.field)
                         : config_.find({one.field.substr(0, dot), one.field.substr(dot + 1)});
    const bool is_empty = at == nullptr || at->is_null() ||
                          (at->object() != nullptr && at->object()->empty()) ||
                          (at->string() != nullptr && at->string()->empty());
    if (is_empty) return;
    const bool is_map_of_settings = one.field.starts_with("ethtool.") && at->object() != nullptr;
    if (!is_map_of_settings)
      return lose(*at, std::string(one.field), std::string(one.why), std::string(one.remedy));
    for (const auto& [key, value] : *at->object())
      lose(value, std::string(one.field) + "." + escaped(key, 64), std::string(one.why),
           std::string(one.remedy));
  }

  void name(const Json& interface, const std::string& only_interface) {
    const std::string given(interface.text("name"));
    const std::string& wanted = given.empty() ? only_interface : given;
    if (wanted.empty()) return;
    const std::string why = why_not_name(wanted);
    if (why.empty()) {
      if_name_ = wanted;
      out_.names_interface = true;
      return;
    }
    if (!given.empty())
      lose(*interface.find("name"), "interface.name", why,
           "give another name, such as net1; without one it is vfnet0, vfnet1, ...");
  }

  // Returns why a VfConfig cannot have the name, "" if it can.
  static std::string why_not_name(const std::string& name) {
    Json parameters = Json::Object{};
    parameters.set("apiVersion", kube::api_version(kube::kSriovResourcePolicies));
    parameters.set("kind", "VfConfig");
    parameters.set("ifName", name);
    kubelet::AllocatedConfig config;
    config.has_opaque = true;
    config.driver = "d";
    config.path = "c";
    config.parameters = std::move(parameters);
    kubelet::Claim claim;
    claim.configs.push_back(std::move(config));
    const auto decoded = kubelet::VfConfigs::decode(claim, "d");
    if (decoded) return "";
    const std::string& what = decoded.error().what;
    const size_t comma = what.find("\", ");
    std::string why = comma == std::string::npos ? what : what.substr(comma + 3);
    if (why.starts_with("which "))
      why = "a name" + why.substr(5);  // "which the kernel may take for a pattern"
    return "sliced refuses the name: " + why;
  }

  // Sets the field if `network` is valid with it. Returns why it is not, "" if the field was set.
  std::string try_set(std::string_view field, Json value) {
    Json with = network_;
    with.set(field, std::move(value));
    auto decoded = kubelet::decode_native_network(with, "network");
    if (!decoded) return decoded.error().what;
    if (const auto checked = kubelet::check_native_network(*decoded, "network"); !checked)
      return checked.error().what;
    network_ = std::move(with);
    return "";
  }
  std::string try_append(std::string_view field, Json value) {
    Json list = Json::Array{};
    if (const Json* present = network_.find(field)) list = *present;
    list.array()->push_back(std::move(value));
    return try_set(field, std::move(list));
  }
  void copy(const Json& interface, std::string_view from, std::string_view to) {
    const Json* at = interface.find(from);
    if (at == nullptr || at->is_null()) return;
    if (const std::string why = try_set(to, *at); !why.empty())
      lose(*at, "interface." + std::string(from), "sliced refuses it: " + why,
           "write a value that is accepted");
  }

  // dranet's parser (net.ParseMAC) also accepts 00-00-5e-00-53-01 and 0000.5e00.5301.
  static std::string mac_text(std::string_view of) {
    std::string digits, text;
    for (const char c : of)
      if (c != ':' && c != '-' && c != '.') digits += c;
    for (size_t i = 0; i < digits.size(); ++i)
      text += (i > 0 && i % 2 == 0 ? ":" : "") + std::string(1, digits[i]);
    return lower(text);
  }

  void mac(const Json& interface) {
    const Json* at = interface.find("hardwareAddr");
    if (at == nullptr || at->string() == nullptr) return;
    if (const std::string why = try_set("mac", mac_text(*at->string())); !why.empty())
      lose(*at, "interface.hardwareAddr", "sliced refuses it: " + why,
           "write a unicast address of six bytes");
    out_.sets_mac = network_.find("mac") != nullptr;
  }

  void addresses(const Json& interface) {
    const Json* list = interface.find("addresses");
    if (list != nullptr && list->array() != nullptr)
      for (size_t i = 0; i < list->array()->size(); ++i)
        if (const std::string why = try_append("addresses", (*list->array())[i]); !why.empty())
          lose((*list->array())[i], "interface.addresses[" + std::to_string(i) + "]",
               "sliced refuses it: " + why, "write an address that is accepted");
    out_.has_addresses = network_.find("addresses") != nullptr;
    if (const Json* dhcp = interface.find("dhcp"); is_true(dhcp)) {
      lose(
          *dhcp, "interface.dhcp", "sliced itself asks no DHCP server",
          "use a NetworkAttachmentDefinition with the plugin host-device and ipam dhcp (netAttachDefName in place of network)");
    }
  }

  // Converts the kernel settings of one interface in the pod.
  void switches(const Json& interface) {
    if (const Json* programs = interface.find("disableEbpfPrograms"); is_true(programs))
      lose(*programs, "interface.disableEbpfPrograms",
           "sliced detaches no eBPF programs of the host from an interface",
           "keep the program that attaches them from the device (of Cilium: --devices)");
    if (const Json* forwarding = interface.find("forwarding"); is_true(forwarding))
      for (const char* name : {"net.ipv4.conf.IFNAME.forwarding", "net.ipv6.conf.IFNAME.forwarding"})
        sysctl(*forwarding, "forwarding", name, "1");
    for (const auto& [field, name] : {std::pair("arpIgnore", "net.ipv4.conf.IFNAME.arp_ignore"),
                                      std::pair("arpAnnounce", "net.ipv4.conf.IFNAME.arp_announce")})
      if (const Json* at = interface.find(field); at != nullptr && at->integer() != nullptr)
        sysctl(*at, field, name, std::to_string(*at->integer()));
  }
  void sysctl(const Json& at, const std::string& field, const char* name, const std::string& value) {
    Json sysctls = Json::Object{};
    if (const Json* present = network_.find("sysctls")) sysctls = *present;
    sysctls.set(name, value);
    if (const std::string why = try_set("sysctls", std::move(sysctls)); !why.empty())
      lose(at, "interface." + field, "sliced refuses it: " + why, "write a value that is accepted");
  }

  void routes(bool has_vrf) {
    const Json* list = config_.find("routes");
    if (list == nullptr || list->array() == nullptr) return;
    // Routes without a gateway come first: a gateway may be reachable only by one of them.
    std::vector<size_t> order(list->array()->size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_partition(order,
                                  [&](size_t i) { return (*list->array())[i].text("gateway").empty(); });
    for (const size_t i : order) route((*list->array())[i], "routes[" + std::to_string(i) + "]", has_vrf);
  }

  void route(const Json& value, const std::string& field, bool has_vrf) {
    if (value.object() == nullptr) return lose(value, field, "it is not a map", "write a map", true);
    check_fields(value, kRouteFieldsOfDranet, field + ".");
    if (has_vrf)
      return lose(
          value, field,
          "it is of the VRF's table, and sliced makes no VRF: in the main table it would carry other traffic",
          "add it to network.routes where the main table is right");
    const Json* table = value.find("table");
    const bool is_main =
        table == nullptr || table->integer() == nullptr || *table->integer() == 0 || *table->integer() == 254;
    if (const std::string source(value.text("source")); !source.empty())
      lose(*value.find("source"), field + ".source",
           "a route has no source address here: the kernel chooses one",
           "give the interface that address alone");
    const std::string gateway(value.text("gateway"));
    const Json* scope = value.find("scope");
    if (!gateway.empty() && scope != nullptr && scope->integer() != nullptr &&
        *scope->integer() == kScopeLink)
      return lose(value, field, "a route of scope link has no gateway, and the kernel refuses it",
                  "delete scope or gateway");
    Json out = Json::Object{};
    out.set("destination", network_of_text(value.text("destination")));
    if (!gateway.empty()) out.set("gateway", gateway);
    if (!is_main) out.set("table", *table);
    if (const std::string why = try_append("routes", std::move(out)); !why.empty())
      lose(value, field, "sliced refuses it: " + why, "correct it, and add it to network.routes");
  }

  // dranet clears the host bits (net.ParseCIDR). The decoder's error names the network address.
  static std::string network_of_text(std::string_view text) {
    Json route = Json::Object{};
    route.set("destination", std::string(text));
    Json probe = Json::Object{};
    probe.set("routes", Json::Array{std::move(route)});
    const auto decoded = kubelet::decode_native_network(probe, "network");
    if (decoded) return std::string(text);
    constexpr std::string_view kExpected = "behind its prefix; expected ";
    const size_t at = decoded.error().what.find(kExpected);
    return at == std::string::npos ? std::string(text) : decoded.error().what.substr(at + kExpected.size());
  }

  void rules() {
    const Json* list = config_.find("rules");
    if (list == nullptr || list->array() == nullptr) return;
    for (size_t i = 0; i < list->array()->size(); ++i) {
      const Json& rule = (*list->array())[i];
      const std::string field = "rules[" + std::to_string(i) + "]";
      check_fields(rule, kRuleFieldsOfDranet, field + ".");
      Json out = Json::Object{};
      for (const std::string_view key : {"source", "destination"})
        if (const std::string_view text = rule.text(key); !text.empty()) out.set(key, network_of_text(text));
      for (const std::string_view key : {"table", "priority"})
        if (const Json* number = rule.find(key)) out.set(key, *number);
      if (const std::string why = try_append("rules", std::move(out)); !why.empty())
        lose(rule, field, "sliced refuses it: " + why, "correct it, and add it to network.rules");
    }
  }

  void neighbors() {
    const Json* list = config_.find("neighbors");
    if (list == nullptr || list->array() == nullptr) return;
    for (size_t i = 0; i < list->array()->size(); ++i) {
      const Json& neighbor = (*list->array())[i];
      const std::string field = "neighbors[" + std::to_string(i) + "]";
      check_fields(neighbor, kNeighborFieldsOfDranet, field + ".");
      Json out = Json::Object{};
      out.set("address", std::string(neighbor.text("destination")));
      out.set("mac", mac_text(neighbor.text("hardwareAddr")));
      if (const std::string why = try_append("neighbors", std::move(out)); !why.empty())
        lose(neighbor, field, "sliced refuses it: " + why, "correct it, and add it to network.neighbors");
    }
  }

  const Json& config_;
  std::string if_name_;
  Json network_ = Json::Object{};
  ConvertedNetwork out_;
};

}  // namespace

ConvertedNetwork convert_network(const Json& parameters, const std::string& only_interface) {
  static const Json none = Json::Object{};
  return NetworkConverter(parameters.is_null() ? none : parameters).run(only_interface);
}

}  // namespace sliced::migrate
