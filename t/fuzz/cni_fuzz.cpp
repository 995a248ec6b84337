// What CNI plugins say, and what authors of NetworkAttachmentDefinitions write.
#include <algorithm>
#include <set>
#include <vector>

#include "kubelet/cni/definition.h"
#include "kubelet/cni/network.h"
#include "kubelet/cni/record.h"
#include "kubelet/interfaces/networks.h"
#include "t/fuzz/fuzz.h"

namespace sliced::fuzz::cni_target {

namespace {

void check_network(std::string_view text) {
  const auto network = cni::decode_network(text, "nad");
  if (!network) return fuzz::check(network.error());
  fuzz::must(cni::is_cni_name(network->name) && !network->plugins.empty(),
             "a network has a name and plugins");
  const cni::Attachment attachment{.container_id = "c",
                                   .interface = "net1",
                                   .device = "0000:3b:01.0",
                                   .capabilities = *kube::decode_json(R"({"mac":"02:00:00:00:00:01"})")};
  for (size_t i = 0; i < network->plugins.size(); ++i) {
    fuzz::must(network->plugins[i].type.find('/') == std::string::npos, "a plugin is a bare file name");
    const auto input =
        kube::decode_json(cni::input_for(*network, i, attachment, cni::Attached{.cni_version = "1.0.0"}));
    fuzz::must(input.ok() && input->text("name") == network->name, "what a plugin is told is JSON");
  }
}

void check_result(std::string_view text) {
  const auto result = cni::decode_result(text, "1.0.0");
  if (!result) return fuzz::check(result.error());
  const auto again = cni::decode_result(kube::encode_json(cni::encode_result(*result)), "");
  fuzz::must(again.ok(), "a result that is passed on is one");
  fuzz::must(cni::encode_result(*again) == cni::encode_result(*result), "and says the same");
}

// ---- definitions

using kube::Json;

constexpr const char* kOwnPci = "0000:3b:01.0";
constexpr const char* kOwnInterface = "ens1f0v0";
constexpr const char* kAddressDirectory = "/var/lib/cni/sliced/networks/ns";

// As encoding/json compares keys, written independently of cni::folded_key().
std::string folded(std::string_view key) {
  std::string out;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key.substr(i, 2) == "\xc5\xbf")
      out += 's', i += 1;
    else if (key.substr(i, 3) == "\xe2\x84\xaa")
      out += 'k', i += 2;
    else
      out += key[i] >= 'A' && key[i] <= 'Z' ? static_cast<char>(key[i] - 'A' + 'a') : key[i];
  }
  return out;
}

bool is_name_of_table(std::string_view key) { return cni::reserved_spelling(key) == key; }

// has_table: a plugin of ours, whose every key at every depth is one of the tables. The names of sysctls are no fields.
void check_keys_of(const Json& value, bool has_table, std::string_view text) {
  if (value.array() != nullptr)
    for (const Json& item : *value.array()) check_keys_of(item, has_table, text);
  if (value.object() == nullptr) return;
  std::set<std::string> seen;
  for (const auto& [key, member] : *value.object()) {
    fuzz::must(seen.insert(folded(key)).second, "no two keys are one to a plugin", text);
    fuzz::must(!has_table || is_name_of_table(key), "each key is one of the tables", text);
    fuzz::must(cni::reserved_spelling(key).empty() || is_name_of_table(key),
               "a name that is checked has one spelling", text);
    if (!(has_table && key == "sysctl")) check_keys_of(member, has_table, text);
  }
}

bool has_field(const cni::PluginFields& table, std::string_view key) {
  const auto in = [&](std::span<const cni::Field> fields) {
    return std::any_of(fields.begin(), fields.end(), [&](const auto& field) { return field.name == key; });
  };
  return in(table.fields) || in(cni::common_fields()) || (table.has_ipam && key == "ipam") ||
         (!table.host_interface.empty() && key == table.host_interface);
}

void check_ipam(const Json& ipam, std::string_view text) {
  const cni::PluginFields* table = cni::ipam_fields(ipam.text("type"));
  for (const auto& [key, value] : *ipam.object()) {
    fuzz::must(table == nullptr || key == "type" || has_field(*table, key) || key == "dns",
               "an IPAM plugin gets the fields of its table", text);
    fuzz::must(!value.is_null(), "no field is null", text);
  }
}

struct Case {
  cni::DefinitionRules rules;
  cni::DefinitionDevice device{.pci = kOwnPci, .interface = kOwnInterface};
};

Case case_of(uint8_t flags) {
  Case out;
  if (flags & 1) out.rules.author = cni::Author::kAdministrator;
  if (flags & 2) out.device.is_exclusive = false;
  if (flags & 4) out.device.pci.clear();
  if (flags & 8) out.device.interface.clear();
  if (flags & 16) out.rules.settings.emplace();
  if (flags & 32) out.rules.address_directory = kAddressDirectory;
  const kubelet::NetworkSettings defaults;
  out.rules.plugins_source = "the list";
  if ((flags & 192) == 64)
    out.rules.plugins = out.device.is_exclusive ? defaults.exclusive_plugins : defaults.shared_plugins;
  if ((flags & 192) == 128) {
    out.rules.plugins.emplace();
    for (const cni::PluginFields& plugin : cni::all_plugins()) out.rules.plugins->emplace_back(plugin.type);
  }
  return out;
}

// What no author says: another source is us, or nothing.
void check_plugin(const Json& plugin, const Case& one, std::string_view text) {
  const cni::PluginFields* table = cni::plugin_fields(plugin.text("type"));
  check_keys_of(plugin, table != nullptr, text);
  for (const auto& [key, value] : *plugin.object()) {
    fuzz::must(!value.is_null(), "no field is null", text);
    const bool is_envelope = key == "type" || key == "name" || key == "cniVersion" || key == "capabilities" ||
                             key == "disableCheck";
    fuzz::must(table == nullptr || is_envelope || has_field(*table, key),
               "a plugin gets the fields of its table", text);
    for (const char* ours : {"runtimeConfig", "prevResult", "args", "deviceID", "pciBusID", "hwaddr"})
      fuzz::must(key != ours, "what we set is not the author's", text);
    fuzz::must(!key.starts_with("delegate") || one.rules.author == cni::Author::kAdministrator,
               "a delegate is an administrator's", text);
    if (table == nullptr && one.rules.author != cni::Author::kAdministrator && !is_envelope && key != "ipam")
      fuzz::must(value.string() == nullptr, "text for a plugin without a table is an administrator's", text);
    const bool is_interface = table != nullptr ? key == table->host_interface
                                               : key == "device" || key == "master" || key == "bridge";
    if (is_interface)
      fuzz::must(value == Json(one.device.interface), "an interface of the host is the device's own", text);
  }
  if (const Json* ipam = plugin.find("ipam"); ipam != nullptr && ipam->object() != nullptr)
    check_ipam(*ipam, text);
}

// host-local's directory is ours, and nothing that a namespace user may write.
Json without_our_directory(Json config) {
  const auto strip = [](Json& plugin) {
    const Json* ipam = plugin.find("ipam");
    if (ipam == nullptr || ipam->text("dataDir") != kAddressDirectory) return;
    Json::Object kept;
    for (const auto& member : *ipam->object())
      if (member.first != "dataDir") kept.push_back(member);
    plugin.set("ipam", Json(std::move(kept)));
  };
  const Json* plugins = config.find("plugins");
  if (plugins == nullptr) return strip(config), config;
  Json::Array all = *plugins->array();
  for (Json& plugin : all) strip(plugin);
  config.set("plugins", Json(std::move(all)));
  return config;
}

// kubelet/interfaces takes the same text for a claim's device, from the policy's list or the daemon's options.
void check_network_for(std::string_view text, const Case& one, const Result<std::string>& canonical) {
  kubelet::PreparedDevice device{.device = "dev",
                                 .pci = one.device.pci,
                                 .interface = one.device.interface,
                                 .config = {.nad_namespace = "ns", .nad_name = "nad"}};
  device.config.is_nad_administrators = one.rules.author == cni::Author::kAdministrator;
  device.holding.is_exclusive = one.device.is_exclusive;
  kubelet::KnownEntry known;
  known.device.type = hotplug::DeviceType::kBridge;
  known.vf_settings = one.rules.settings;
  if (one.rules.plugins) known.cni_plugins = *one.rules.plugins;
  const auto network = kubelet::network_for(device, known, text);
  if (!network) fuzz::check(network.error());
  if (network)
    fuzz::must(network->size() <= kubelet::kNetworkBytesMax && cni::decode_network(*network, "nad").ok(),
               "what is kept with a claim can be read again", *network);
  if (one.rules.plugins && one.rules.address_directory == kAddressDirectory)
    fuzz::must(network.ok() == canonical.ok() && (!network || *network == *canonical),
               "a claim's network is the definition in its canonical form", text);
}

void check_definition(std::string_view text, const Case& one) {
  const auto canonical = cni::canonical_definition(text, "nad", one.rules, one.device);
  const auto checked = cni::canonical_definition(text, "nad", one.rules, std::nullopt);
  if (!checked) fuzz::check(checked.error());
  check_network_for(text, one, canonical);
  if (!canonical) return fuzz::check(canonical.error());
  fuzz::must(checked.ok(), "what is accepted for a device is accepted by validate", text);
  const auto value = kube::decode_json(*canonical);
  const auto network = cni::decode_network(*canonical, "nad");
  fuzz::must(value.ok() && network.ok(), "what is passed on is a network", *canonical);
  for (const cni::PluginConfig& plugin : network->plugins) check_plugin(plugin.config, one, *canonical);

  const std::string own = kube::encode_json(without_our_directory(*value));
  const auto again = cni::canonical_definition(own, "nad", one.rules, one.device);
  fuzz::must(again.ok(), "what is accepted is accepted again", again ? "" : own + " " + again.error().what);
  fuzz::must(*kube::decode_json(*again) == *value, "and says the same", *canonical);

  auto administrator = one.rules;
  administrator.author = cni::Author::kAdministrator;
  fuzz::must(cni::canonical_definition(text, "nad", administrator, one.device).ok(),
             "an administrator may write what a user of a namespace may", text);
  auto listed = one.rules;
  listed.plugins = kubelet::NetworkSettings{}.exclusive_plugins;
  for (const std::string& name : kubelet::NetworkSettings{}.shared_plugins) listed.plugins->push_back(name);
  for (const std::string& name : cni::names_to_list(text)) listed.plugins->push_back(name);
  fuzz::must(cni::canonical_definition(text, "nad", listed, one.device).ok(),
             "what would have to be listed is said", text);
}

// Texts of JSON of which some are good for each field; hostile ones are among them.
constexpr const char* kValues[] = {"true",
                                   "false",
                                   "null",
                                   "0",
                                   "1",
                                   "5",
                                   "100",
                                   "4095",
                                   "-1",
                                   "1.5",
                                   "\"\"",
                                   "\"on\"",
                                   "\"auto\"",
                                   "\"l2\"",
                                   "\"l3\"",
                                   "\"bridge\"",
                                   "\"passthru\"",
                                   "\"802.1q\"",
                                   "\"debug\"",
                                   "\"error\"",
                                   "\"0x7fff\"",
                                   "\"iptables\"",
                                   "\"open\"",
                                   "\"kubernetes\"",
                                   "\"192.0.2.7\"",
                                   "\"192.0.2.0/24\"",
                                   "\"192.0.2.7/24\"",
                                   "\"02:00:00:00:00:01\"",
                                   "\"/evil\"",
                                   "\"/a/../b\"",
                                   "\"ens1f0v0\"",
                                   "\"eno1\"",
                                   "\"0000:3b:01.0\"",
                                   "\"0000:66:00.6\"",
                                   "[]",
                                   "{}",
                                   "[\"192.0.2.1\"]",
                                   "[\"192.0.2.0/30\"]",
                                   "{\"mac\":true}",
                                   "{\"mac\":true,\"portMappings\":true}",
                                   "[{\"address\":\"192.0.2.7/24\",\"gateway\":\"192.0.2.1\"}]",
                                   "[[{\"subnet\":\"192.0.2.0/24\",\"rangeStart\":\"192.0.2.9\"}]]",
                                   "[{\"dst\":\"0.0.0.0/0\",\"gw\":\"192.0.2.1\",\"mtu\":1400}]",
                                   "[{\"dst\":\"0.0.0.0/0\",\"Gw\":\"192.0.2.1\"}]",
                                   "{\"net.ipv4.conf.IFNAME.arp_filter\":\"1\"}",
                                   "{\"net.ipv4.ip_forward\":\"1\",\"net.ipv4.IP_forward\":\"1\"}",
                                   "[{\"minID\":1,\"maxID\":5}]",
                                   "[{\"range\":\"192.0.2.0/24\",\"exclude\":[\"192.0.2.0/30\"]}]",
                                   "[{\"option\":\"12\",\"fromArg\":\"K8S_POD_NAME\"}]",
                                   "[{\"option\":\"host-name\",\"value\":\"a\"}]",
                                   "[{\"skipDefault\":true,\"option\":\"121\"}]",
                                   "{\"kubeconfig\":\"/etc/k\"}",
                                   "{\"nameservers\":[\"192.0.2.1\"],\"search\":[\"a.test\"]}",
                                   "{\"type\":\"portmap\",\"a\":{\"master\":\"eno1\"}}"};

std::string quoted(std::string_view text) {
  std::string out;
  kube::append_json_string(out, text);
  return out;
}

// A key in another spelling, mostly not.
std::string spelled(std::string_view name, uint8_t how) {
  std::string out(name);
  if (how % 16 == 1) out[0] = static_cast<char>(out[0] ^ 0x20);
  if (how % 16 == 2)
    for (const auto& [letter, rune] : {std::pair{'s', "\xc5\xbf"}, std::pair{'k', "\xe2\x84\xaa"}})
      if (const size_t at = out.find(letter); at != std::string::npos) out.replace(at, 1, rune);
  return out;
}

// A value that the field takes, where there is one and the input asks for it.
std::string value_for(const cni::Field& field, const Case& one, fuzz::Input& input) {
  const uint8_t which = input.byte();
  if (which % 8 == 0) return kValues[input.byte() % std::size(kValues)];
  const cni::FieldContext context{.rules = one.rules, .is_shared = !one.device.is_exclusive};
  std::vector<std::string_view> good;
  for (const char* value : kValues)
    if (const auto read = field.read(*kube::decode_json(value), "", context); read && !read->is_null())
      good.emplace_back(value);
  return good.empty() ? "null" : std::string(good[which % good.size()]);
}

std::string fields_for(std::span<const cni::Field> fields, const Case& one, fuzz::Input& input) {
  std::string out;
  for (size_t count = fields.empty() ? 0 : input.byte() % 6; count > 0; --count) {
    const cni::Field& field = fields[input.byte() % fields.size()];
    out += "," + quoted(spelled(field.name, input.byte())) + ":" + value_for(field, one, input);
  }
  return out;
}

// A plugin's configuration from its table, with members of other tables and of the reserved names now and then.
std::string plugin_for(const Case& one, fuzz::Input& input) {
  const auto plugins = cni::all_plugins();
  const auto ipams = cni::all_ipam_plugins();
  const size_t which = input.byte() % (plugins.size() + 1);
  const std::string_view type = which < plugins.size() ? plugins[which].type : "own";
  std::string out = "{" + quoted(spelled("type", input.byte())) + ":" + quoted(type);
  if (which < plugins.size()) out += fields_for(plugins[which].fields, one, input);
  const uint8_t more = input.byte();
  if (more & 1) {
    const cni::PluginFields& ipam = ipams[input.byte() % ipams.size()];
    out += ",\"ipam\":{\"type\":" + quoted(ipam.type) + fields_for(ipam.fields, one, input) + "}";
  }
  constexpr const char* kNames[] = {
      "device",        "hwaddr",     "pciBusID", "deviceID",     "master", "bridge",
      "runtimeConfig", "prevResult", "args",     "delegates",    "name",   "cniVersion",
      "capabilities",  "dns",        "ipam",     "disableCheck", "x"};
  if (more & 2)
    out += "," + quoted(spelled(kNames[input.byte() % std::size(kNames)], input.byte())) + ":" +
           kValues[input.byte() % std::size(kValues)];
  return out + "}";
}

std::string definition_for(const Case& one, fuzz::Input& input) {
  const uint8_t shape = input.byte();
  if (shape % 4 == 0) return plugin_for(one, input);
  std::string plugins;
  for (int i = 0; i < shape % 4; ++i) plugins += (i == 0 ? "" : ",") + plugin_for(one, input);
  return R"({"cniVersion":"1.0.0","name":"net","plugins":[)" + plugins + "]}";
}

}  // namespace

FUZZ_TARGET(cni) {
  fuzz::Input input(data, size);
  switch (input.byte() % 8) {
    case 0:
      check_network(input.rest);
      break;
    case 1:
      check_result(input.rest);
      break;
    case 2:
      if (const auto said = cni::decode_plugin_error(input.rest)) fuzz::check_text(*said);
      break;
    case 4:
    case 5: {
      const Case one = case_of(input.byte());
      check_definition(input.rest, one);
      break;
    }
    case 6:
    case 7: {
      const Case one = case_of(input.byte());
      check_definition(definition_for(one, input), one);
      break;
    }
    default: {
      const auto record = cni::decode_record(input.rest);
      if (!record) return fuzz::check(record.error()), 0;
      fuzz::must(cni::record_name(record->attachment).find('/') == std::string::npos,
                 "a record's name is one");
    }
  }
  return 0;
}

}  // namespace sliced::fuzz::cni_target
