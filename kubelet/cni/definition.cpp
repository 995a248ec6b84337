#include "kubelet/cni/definition.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "kubelet/cni/network.h"
#include "reactor/base/ip_address.h"
#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

using kube::Json;

Error refused(std::string what) { return {Errc::kInvalid, std::move(what)}; }

std::string text_or_json(const Json* value) {
  if (value == nullptr || value->is_null()) return "";
  return value->string() != nullptr ? *value->string() : kube::encode_json(*value);
}

Error names_another(std::string_view field, std::string_view value_text, std::string_view allocated) {
  return refused(std::string(field) + " is " + in_quotes(value_text, 64) + ", and the claim was allocated " +
                 (allocated.empty() ? "no such thing" : in_quotes(allocated, 64)) + ": leave " +
                 std::string(field) + " out");
}

// Refused for every author: these members are set by the runtime or by another plugin.
Result<Unit> refuse_ours(const Json& plugin) {
  for (const std::string_view field : {"runtimeConfig", "prevResult", "args"})
    if (const Json* value = plugin.find(field); value != nullptr && !value->is_null())
      return refused(std::string(field) + " is set by sliced alone: leave it out");
  return Unit{};
}

Result<Json> capabilities_in(const Json& value, const FieldContext& context) {
  Json::Object out;
  const auto known = capability_names();
  for (const auto& [name, wanted] : value.object() != nullptr ? *value.object() : Json::Object{}) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return unknown_field("capabilities", name, {known.begin(), known.end()}, "");
    if (auto allowed = check_capability(name, wanted, context); !allowed) return std::move(allowed.error());
    out.emplace_back(name, wanted);
  }
  return Json(std::move(out));
}

class DefinitionReader {
 public:
  DefinitionReader(const DefinitionRules& rules, const std::optional<DefinitionDevice>& device)
      : rules_(rules), device_(device) {}

  /// index: its place in the chain.
  Result<Json> plugin(const Json& config, size_t index) const {
    const std::string type(config.text("type"));
    const PluginFields* known = plugin_fields(type);
    if (type == kNativePlugin)
      return refused("type is " + in_quotes(type, 64) +
                     ", which only a VfConfig's network has: write network in the VfConfig, without "
                     "netAttachDefName");
    if (auto runs = may_run(type, known, index); !runs) return std::move(runs.error());
    if (auto good = refuse_ours(config); !good) return std::move(good.error());
    if (auto good = check_addresses(config, known); !good) return std::move(good.error());
    Json::Object envelope{{"type", type}};
    Json::Object rest;
    for (const auto& [key, value] : *config.object()) {
      if (is_of_envelope(key)) continue;
      if (value.is_null() && (key == "capabilities" || key == "ipam")) continue;
      if (key == "capabilities") {
        auto read = capabilities_in(value, context_of(type));
        if (!read) return read;
        if (!read->object()->empty()) envelope.emplace_back(key, *std::move(read));
      } else if (key == "ipam" && (known == nullptr || known->has_ipam)) {
        auto read = ipam(value, type);
        if (!read) return std::move(read.error()).in("ipam");
        envelope.emplace_back(key, *std::move(read));
      } else if (!names_host_interface(key, known)) {
        rest.emplace_back(key, value);
      }
    }
    auto fields = fields_of(Json(std::move(rest)), type, known);
    if (!fields) return fields;
    for (auto& field : *fields->object()) envelope.push_back(std::move(field));
    Json out(std::move(envelope));
    if (auto good = check_vlan(type, out); !good) return std::move(good.error());
    if (auto set = set_host_interface(config, known, out); !set) return std::move(set.error());
    return out;
  }

  Result<Json> ipam(const Json& value, const std::string& plugin) const {
    if (value.object() == nullptr) return wrong_value("ipam", value, "a map");
    if (value.object()->empty()) return value;
    const Json* type = value.find("type");
    if (type == nullptr || type->string() == nullptr || !is_plugin_type(*type->string()))
      return wrong_value("type", type == nullptr ? Json("") : *type,
                         "static, host-local, whereabouts or dhcp");
    const PluginFields* known = ipam_fields(*type->string());
    const bool is_listed = rules_.lists(*type->string()) && plugin_fields(*type->string()) == nullptr;
    if (known == nullptr && !is_listed)
      return wrong_value(
          "type", *type,
          "static, host-local, whereabouts or dhcp" +
              (rules_.plugins_source.empty() ? std::string()
                                             : ", or one that is listed (" + rules_.plugins_source + ")"));
    Json::Object others;
    for (const auto& [key, member] : *value.object())
      if (key != "type") others.emplace_back(key, member);
    const Json rest(std::move(others));
    auto fields = known != nullptr
                      ? read_fields(rest, known->fields, "", context_of("IPAM " + *type->string()))
                      : read_free(rest, "", context_of(plugin));
    if (!fields) return fields;
    if (known != nullptr && known->type == "whereabouts")
      if (auto few = check_excluded(*fields); !few) return std::move(few.error());
    Json::Object all{{"type", *type}};
    for (auto& member : *fields->object()) all.push_back(std::move(member));
    Json out(std::move(all));
    if (known != nullptr && known->type == "host-local" && rules_.author == Author::kNamespaceUser &&
        !rules_.address_directory.empty())
      out.set("dataDir", Json(rules_.address_directory));
    return out;
  }

 private:
  FieldContext context_of(std::string_view plugin) const {
    return {.rules = rules_, .is_shared = device_ && !device_->is_exclusive, .plugin = plugin};
  }

  static bool is_of_envelope(std::string_view key) {
    for (const std::string_view one :
         {"type", "name", "cniVersion", "cniVersions", "disableCheck", "disableGC", "deviceID", "pciBusID",
          "runtimeConfig", "prevResult", "args"})
      if (key == one) return true;
    return false;
  }

  static bool names_host_interface(std::string_view key, const PluginFields* known) {
    if (known != nullptr) return !known->host_interface.empty() && key == known->host_interface;
    return key == "device" || key == "master" || key == "bridge";
  }

  Result<Unit> may_run(const std::string& type, const PluginFields* known, size_t index) const {
    const bool is_companion = known != nullptr && known->use == Use::kCompanion && index > 0;
    if (!is_companion && !rules_.lists(type))
      return refused(
          "type is " + in_quotes(type, 64) + ", and " + rules_.plugins_source + " allows " +
          (rules_.plugins->empty() ? "none" : join(*rules_.plugins, ", ")) +
          (index > 0 ? ", and behind another plugin tuning, sbr, vrf, route-override and rdma" : ""));
    if (known != nullptr && known->puts_addresses_on_host && rules_.author != Author::kAdministrator)
      return refused("type is " + in_quotes(type, 64) +
                     ", by which the host gets routes or rules for the addresses of ipam, and only an "
                     "administrator chooses these: leave it out, or have a DeviceClass name a definition of "
                     "another namespace");
    if (known != nullptr && known->takes_whole && device_ && !device_->is_exclusive)
      return refused(
          "type is " + in_quotes(type, 64) +
          ", which takes the device as a whole, and other claims may have it, too: use macvlan, ipvlan, "
          "vlan or bridge");
    // The plugin would create a bridge of the interface's name on the host if the interface is missing for a
    // moment.
    if (known != nullptr && type == "bridge" && device_ && device_->is_no_bridge)
      return refused("type is \"bridge\", and the device is not a bridge: use macvlan, ipvlan or vlan");
    // After a plugin that moves no interface, a companion would change an existing interface of the pod.
    if (is_companion && device_ && device_->is_on_vfio)
      return refused(
          "type is " + in_quotes(type, 64) +
          ", which changes the pod's interface, and a device on vfio-pci has none there: leave it out");
    if (known != nullptr && type == "rdma" && device_ && device_->pci.empty())
      return refused("type is \"rdma\", which takes a device by its PCI address, and the device has none");
    return Unit{};
  }

  // sliced's address replaces the written one. But a device that other claims share must not be named.
  Result<Unit> check_addresses(const Json& config, const PluginFields* known) const {
    for (const char* field : {"deviceID", "pciBusID"}) {
      const Json* value = config.find(field);
      if (value == nullptr || value->is_null()) continue;
      if (value->string() == nullptr) return wrong_value(field, *value, "a string");
      const bool is_given = !device_ || (!device_->pci.empty() && device_->is_exclusive);
      if (!is_given && !value->string()->empty()) return names_another(field, *value->string(), device_->pci);
    }
    if (known == nullptr || known->type == "host-device")
      for (const char* field : {"hwaddr", "kernelpath"})
        if (const std::string value_text = text_or_json(config.find(field)); !value_text.empty())
          return names_another(field, value_text, "");
    return Unit{};
  }

  // The default of the plugin is VLAN 0. The kernel passes frames with a priority tag and without a VLAN to
  // an interface of VLAN 0 instead of the device.
  Result<Unit> check_vlan(const std::string& type, const Json& plugin) const {
    if (type != "vlan" || rules_.author != Author::kNamespaceUser) return Unit{};
    const Json* id = plugin.find("vlanId");
    if (id != nullptr && *id != Json(0)) return Unit{};
    return refused("vlanId is " + std::string(id == nullptr ? "missing" : "0") +
                   ", which is not a VLAN: expected 1 to 4094");
  }

  Result<Json> fields_of(const Json& rest, const std::string& type, const PluginFields* known) const {
    if (known == nullptr) return read_free(without_empty_selectors(rest), "", context_of(type));
    std::vector<Field> fields(known->fields.begin(), known->fields.end());
    fields.insert(fields.end(), common_fields().begin(), common_fields().end());
    return read_fields(without_empty_selectors(rest), fields, "", context_of(type));
  }

  static Json without_empty_selectors(const Json& rest) {
    Json::Object out;
    for (const auto& member : *rest.object())
      if (!((member.first == "hwaddr" || member.first == "kernelpath") &&
            text_or_json(&member.second).empty()))
        out.push_back(member);
    return Json(std::move(out));
  }

  Result<Unit> set_host_interface(const Json& config, const PluginFields* known, Json& out) const {
    if (known == nullptr) return check_free_interfaces(config, out);
    if (known->host_interface.empty()) return Unit{};
    const Json* value = config.find(known->host_interface);
    const std::string value_text = text_or_json(value);
    if (value != nullptr && !value->is_null() && value->string() == nullptr)
      return device_ ? names_another(known->host_interface, value_text, device_->interface)
                     : wrong_value(std::string(known->host_interface), *value, "a string");
    if (!device_) return Unit{};
    if (!value_text.empty() && value_text != device_->interface)
      return names_another(known->host_interface, value_text, device_->interface);
    // The plugin gets the function's address.
    if (known->type == "host-device" && !device_->pci.empty()) return Unit{};
    if (device_->interface.empty())
      return refused(
          "type is " + in_quotes(known->type) +
          ", which needs an interface on the host, and the device has none: use a plugin for PCI functions, such as sriov");
    out.set(known->host_interface, Json(device_->interface));
    return Unit{};
  }

  // A plugin without a table may name its parent interface if that is the device's.
  Result<Unit> check_free_interfaces(const Json& config, Json& out) const {
    for (const char* field : {"device", "master", "bridge"}) {
      const std::string value_text = text_or_json(config.find(field));
      if (value_text.empty()) continue;
      if (device_ && value_text != device_->interface)
        return names_another(field, value_text, device_->interface);
      if (device_) out.set(field, Json(device_->interface));
    }
    return Unit{};
  }

  const DefinitionRules& rules_;
  const std::optional<DefinitionDevice>& device_;
};

const std::vector<std::string_view> kListFields = {"cniVersion",   "cniVersions", "name",
                                                   "disableCheck", "disableGC",   "plugins"};

// libcni's own members; the remaining members of a single plugin are the plugin's.
void set_envelope(const Json& config, const Network& network, Json& out) {
  const auto says = [&](std::string_view key) {
    const Json* value = config.find(key);
    return value != nullptr && !value->is_null();
  };
  if (says("cniVersion") || says("cniVersions")) out.set("cniVersion", Json(network.cni_version));
  if (says("name")) out.set("name", Json(network.name));
  if (network.is_check_disabled) out.set("disableCheck", Json(true));
}

Result<Unit> check_envelope(const Json& plugin) {
  for (const char* key : {"name", "cniVersion"})
    if (const Json* value = plugin.find(key);
        value != nullptr && !value->is_null() && value->string() == nullptr)
      return wrong_value(key, *value, "a string");
  return Unit{};
}

// Each would create or move an interface of the same name. DEL of the second would delete the link of the
// host that the first moved.
Result<Unit> check_place(std::string_view type, size_t index) {
  const PluginFields* known = plugin_fields(type);
  if (index == 0 || known == nullptr || !known->has_ipam) return Unit{};
  return refused(
      "type is " + in_quotes(type, 64) +
      ", which makes or moves the pod's interface, and only the first plugin of a definition does that: "
      "write a definition, and a request of the claim, for each interface");
}

// Returns the members of a plugin's map that are valid individually. first: a member that all others require;
// "" if none.
Json good_members(const DefinitionReader& reader, const Json& type, std::string_view key, const Json& map,
                  std::string_view first, size_t index) {
  Json::Object base;
  if (const Json* needed = first.empty() ? nullptr : map.find(first); needed != nullptr)
    base.emplace_back(std::string(first), *needed);
  const auto is_good = [&](const Json::Object& members) {
    return reader.plugin(Json(Json::Object{{"type", type}, {std::string(key), Json(members)}}), index).ok();
  };
  Json out{Json::Object{}};
  if (!is_good(base)) return out;
  for (const auto& member : base) out.set(member.first, member.second);
  for (const auto& [name, value] : *map.object()) {
    Json::Object with = base;
    if (name != first) with.emplace_back(name, value);
    if (is_good(with)) out.set(name, value);
  }
  return out;
}

Result<Json> reduced_plugin(const DefinitionReader& reader, const Json& config, size_t index) {
  const Json type = *config.find("type");
  Json good(Json::Object{{"type", type}});
  for (const auto& [key, value] : *config.object()) {
    if (key == "type") continue;
    const bool is_map = value.object() != nullptr && (key == "ipam" || key == "capabilities");
    if (is_map) {
      Json members = good_members(reader, type, key, value, key == "ipam" ? "type" : "", index);
      if (!members.object()->empty()) good.set(key, std::move(members));
    } else if (reader.plugin(Json(Json::Object{{"type", type}, {key, value}}), index)) {
      good.set(key, value);
    }
  }
  auto out = reader.plugin(good, index);
  if (!out) return out;
  const PluginFields* known = plugin_fields(config.text("type"));
  if (known == nullptr || known->host_interface.empty() || known->type == "host-device") return out;
  if (const Json* parent = config.find(known->host_interface);
      parent != nullptr && parent->string() != nullptr && is_interface_name(*parent->string()))
    out->set(known->host_interface, *parent);
  return out;
}

// Both ends included, as in Range.Canonicalize() of host-local.
struct AddressRange {
  IpAddress first, last;
  bool overlaps(const AddressRange& other) const {
    return first.is_ipv6() == other.first.is_ipv6() && first <= other.last && other.first <= last;
  }
};
using RangeSet = std::vector<AddressRange>;

// IPv4-mapped addresses are IPv4 addresses to Go.
bool has_mapped_addresses(const IpPrefix& network) {
  static const IpAddress kMapped = *IpAddress::decode("::ffff:0:0");
  return network.contains(kMapped);
}

Result<AddressRange> range_in(const Json& range, const std::string& path) {
  const std::string_view text = range.text("subnet");
  const auto subnet = IpPrefix::decode(text);
  const auto wrong = [&](std::string_view field, std::string_view value, const std::string& what) {
    return refused(path + std::string(field) + " is " + (value.empty() ? "missing" : in_quotes(value, 64)) +
                   what);
  };
  if (!subnet) return wrong("subnet", text, ", expected a network such as 10.0.0.0/24");
  if (!subnet->is_network())
    return wrong(
        "subnet", text,
        ", which has bits behind its prefix: expected " + IpPrefix{subnet->first(), subnet->length}.text());
  if (subnet->length > subnet->address.bits() - 2 || has_mapped_addresses(*subnet))
    return wrong("subnet", text, ", expected a unicast network of four addresses or more");
  const IpAddress last = subnet->last();
  AddressRange out{subnet->first().next(), last.is_ipv6() ? last : last.previous()};
  for (const auto& [field, end] : {std::pair("rangeStart", &out.first), std::pair("rangeEnd", &out.last)}) {
    const std::string_view said = range.text(field);
    if (said.empty()) continue;
    const auto address = IpAddress::decode(said);
    if (!address || !subnet->contains(*address))
      return wrong(field, said, ", expected an address in " + subnet->text());
    *end = *address;
  }
  if (out.first > out.last)
    return wrong("rangeEnd", out.last.text(), ", expected an address that is not before " + out.first.text());
  return out;
}

bool overlap(const RangeSet& some, const RangeSet& others) {
  return std::any_of(some.begin(), some.end(), [&](const AddressRange& one) {
    return std::any_of(others.begin(), others.end(),
                       [&](const AddressRange& other) { return one.overlaps(other); });
  });
}

Result<RangeSet> range_set_in(const Json& set, const std::string& path) {
  RangeSet out;
  for (size_t i = 0; set.array() != nullptr && i < set.array()->size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    auto range = range_in((*set.array())[i], at + ".");
    if (!range) return std::move(range.error());
    if (overlap(out, {*range}))
      return refused(at + " has addresses of another range of the list: leave one out");
    if (!out.empty() && out.front().first.is_ipv6() != range->first.is_ipv6())
      return refused(at + " is of another family than the ranges before: write a list for each family");
    out.push_back(*std::move(range));
  }
  if (out.empty()) return refused(path + " is empty, expected ranges with a subnet each");
  return out;
}

// host-local refuses these ranges at ADD, and at DEL, which would never succeed (LoadIPAMConfig()).
Result<Unit> check_host_local(const Json& ipam, const std::string& path) {
  if (ipam.text("type") != "host-local") return Unit{};
  std::vector<RangeSet> sets;
  if (!ipam.text("subnet").empty()) {
    auto range = range_in(ipam, path);
    if (!range) return std::move(range.error());
    sets.push_back({*std::move(range)});
  }
  const Json* ranges = ipam.find("ranges");
  for (size_t i = 0; ranges != nullptr && ranges->array() != nullptr && i < ranges->array()->size(); ++i) {
    const std::string at = path + "ranges[" + std::to_string(i) + "]";
    auto set = range_set_in((*ranges->array())[i], at);
    if (!set) return std::move(set.error());
    for (const RangeSet& before : sets)
      if (overlap(before, *set)) return refused(at + " has addresses of another range: leave one out");
    sets.push_back(*std::move(set));
  }
  if (sets.empty()) return refused(path + "subnet is missing, and so is ranges: set one of them");
  return Unit{};
}

Result<Unit> check_ipam_of(const Json& plugin) {
  const Json* ipam = plugin.find("ipam");
  return ipam == nullptr ? Result<Unit>(Unit{}) : check_host_local(*ipam, "ipam.");
}

}  // namespace

Result<std::string> canonical_definition(std::string_view config, std::string_view name,
                                         const DefinitionRules& rules,
                                         const std::optional<DefinitionDevice>& device) {
  const auto network = decode_network(config, name);
  if (!network) return Error(network.error());
  const auto json = kube::decode_json(config);
  if (!json) return Error(json.error()).in("spec.config");
  const DefinitionReader reader(rules, device);
  Json out{Json::Object{}};
  set_envelope(*json, *network, out);
  const bool is_list = json->find("plugins") != nullptr;
  if (!is_list) {
    auto plugin = reader.plugin(network->plugins[0].config, 0);
    if (!plugin) return std::move(plugin.error()).in("spec.config");
    if (auto good = check_ipam_of(*plugin); !good) return std::move(good.error()).in("spec.config");
    Json::Object all = *out.object();
    for (auto& member : *plugin->object()) all.push_back(std::move(member));
    return kube::encode_json(Json(std::move(all)));
  }
  for (const auto& [key, value] : *json->object())
    if (std::find(kListFields.begin(), kListFields.end(), key) == kListFields.end())
      return unknown_field("", key, kListFields, "").in("spec.config");
  Json::Array plugins;
  for (size_t i = 0; i < network->plugins.size(); ++i) {
    const std::string place = "spec.config: plugins[" + std::to_string(i) + "]";
    if (auto good = check_envelope(network->plugins[i].config); !good)
      return std::move(good.error()).in(place);
    auto plugin = reader.plugin(network->plugins[i].config, i);
    if (!plugin) return std::move(plugin.error()).in(place);
    if (auto good = check_place(network->plugins[i].type, i); !good) return std::move(good.error()).in(place);
    if (auto good = check_ipam_of(*plugin); !good) return std::move(good.error()).in(place);
    plugins.push_back(*std::move(plugin));
  }
  out.set("plugins", Json(std::move(plugins)));
  return kube::encode_json(out);
}

Result<Json> canonical_ipam(const Json& ipam, const DefinitionRules& rules) {
  if (auto good = check_keys(ipam, ""); !good) return std::move(good.error());
  const Json* type = ipam.find("type");
  if (type == nullptr || type->string() == nullptr || ipam_fields(*type->string()) == nullptr)
    return wrong_value("type", type == nullptr ? Json("") : *type, "static, host-local or whereabouts");
  const std::optional<DefinitionDevice> device;
  auto out = DefinitionReader(rules, device).ipam(ipam, std::string(kNativePlugin));
  if (!out) return out;
  if (auto good = check_host_local(*out, ""); !good) return std::move(good.error());
  return out;
}

Result<std::string> reduced_definition(std::string_view config, std::string_view name) {
  const auto network = decode_network(config, name);
  if (!network) return Error(network.error());
  const auto json = kube::decode_json(config);
  if (!json) return Error(json.error()).in("spec.config");
  const DefinitionRules rules{.author = Author::kAdministrator};
  const std::optional<DefinitionDevice> device;
  const DefinitionReader reader(rules, device);
  Json out{Json::Object{}};
  set_envelope(*json, *network, out);
  Json::Array plugins;
  for (size_t i = 0; i < network->plugins.size(); ++i) {
    auto plugin = reduced_plugin(reader, network->plugins[i].config, i);
    if (!plugin) return std::move(plugin.error()).in("spec.config: plugins[" + std::to_string(i) + "]");
    plugins.push_back(*std::move(plugin));
  }
  if (json->find("plugins") != nullptr)
    out.set("plugins", Json(std::move(plugins)));
  else
    for (auto& [key, value] : *plugins[0].object()) out.set(key, std::move(value));
  return kube::encode_json(out);
}

namespace {

bool is_on(const Json* value) { return value != nullptr && !value->is_null() && *value != Json(false); }

bool is_listed(const Field& field) {
  return field.writer == Field::Writer::kListed || field.writer == Field::Writer::kListedHost;
}

// Visits the fields of a plugin without a table.
void visit_listed_fields(const Json& value, const std::function<void(std::string_view)>& add) {
  if (value.array() != nullptr)
    for (const Json& one : *value.array()) visit_listed_fields(one, add);
  if (value.object() == nullptr) return;
  for (const auto& [key, member] : *value.object()) {
    if (const Field* field = permitted_field(key); field != nullptr && is_listed(*field) && is_on(&member))
      add(field->condition);
    visit_listed_fields(member, add);
  }
}

}  // namespace

std::vector<std::string> names_to_list(std::string_view config) {
  std::vector<std::string> out;
  const auto network = decode_network(config, "unnamed");
  if (!network) return out;
  const auto add = [&](std::string_view name) {
    if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
  };
  for (size_t i = 0; i < network->plugins.size(); ++i) {
    const PluginConfig& plugin = network->plugins[i];
    const PluginFields* known = plugin_fields(plugin.type);
    const bool is_behind = i > 0 && known != nullptr && known->use == Use::kCompanion;
    if (known == nullptr || (known->use != Use::kMain && !is_behind)) add(plugin.type);
    for (const Field& field : known == nullptr ? std::span<const Field>() : known->fields)
      if (is_listed(field) && is_on(plugin.config.find(field.name))) add(field.condition);
    if (known == nullptr) visit_listed_fields(plugin.config, add);
    const kube::Json* ipam = plugin.config.find("ipam");
    if (ipam != nullptr && !ipam->text("type").empty() && ipam_fields(ipam->text("type")) == nullptr) {
      add(ipam->text("type"));
      visit_listed_fields(*ipam, add);
    }
  }
  return out;
}

}  // namespace sliced::cni
