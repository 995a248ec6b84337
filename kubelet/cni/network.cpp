#include "kubelet/cni/network.h"

#include <algorithm>

#include "kubelet/cni/plugin_fields.h"
#include "reactor/base/text.h"

namespace sliced::cni {
namespace {

using kube::Json;

constexpr kube::JsonLimits kConfigLimits{.size_max = kConfigBytesMax, .depth_max = 24, .nodes_max = 20'000};
constexpr size_t kArgumentsBytesMax = 4'096;

Error wrong(std::string_view field, const std::string& what) {
  return {Errc::kInvalid, std::string(field) + " " + what};
}

std::string joined(const std::vector<std::string_view>& texts) {
  return join(std::vector<std::string>(texts.begin(), texts.end()), ", ");
}

// The oldest version that all current plugins support, and whose results name interfaces.
constexpr std::string_view kVersionOfNone = "0.3.1";

// "1.0.0" before "1.1.0": numbers of one digit compare as text.
Result<std::string> version_of(const Json& config) {
  const auto& known = known_versions();
  const auto is_known = [&](std::string_view text) {
    return std::find(known.begin(), known.end(), text) != known.end();
  };
  std::string best;
  const Json* one = config.find("cniVersion");
  if (one != nullptr && one->string() == nullptr)
    return wrong("cniVersion", "is a " + std::string(one->kind_name()) + ", expected a string");
  if (one != nullptr && is_known(*one->string())) best = *one->string();
  const Json* many = config.find("cniVersions");
  if (many != nullptr && many->array() == nullptr) return wrong("cniVersions", "is not a list");
  for (const Json& item : many != nullptr ? *many->array() : Json::Array{}) {
    if (item.string() == nullptr) return wrong("cniVersions", "has an item that is not a string");
    if (is_known(*item.string())) best = std::max(best, *item.string());
  }
  const bool is_unset = one == nullptr || one->string()->empty();
  if (is_unset && (many == nullptr || many->array()->empty())) return std::string(kVersionOfNone);
  if (best.empty())
    return wrong("cniVersion",
                 "is " + in_quotes(config.text("cniVersion")) + ": expected one of " + joined(known));
  return best;
}

// libcni also accepts the string "true".
Result<bool> flag_of(const Json& config, std::string_view key) {
  const Json* value = config.find(key);
  if (value == nullptr) return false;
  if (value->boolean() != nullptr) return *value->boolean();
  const std::string text = value->string() != nullptr ? lower(*value->string()) : "";
  if (text == "true" || text == "false") return text == "true";
  return wrong(key, "is neither true nor false");
}

// Members that sliced sets. An author's value is ignored, also in records of earlier versions.
bool is_ours(std::string_view key) {
  for (const std::string_view one : {"runtimeConfig", "prevResult", "deviceID", "pciBusID"})
    if (key == one) return true;
  return false;
}

Result<PluginConfig> plugin_of(const Json& config) {
  if (config.object() == nullptr)
    return wrong("the plugin", "is a " + std::string(config.kind_name()) + ", expected a map");
  const std::string_view type = config.text("type");
  if (!is_plugin_type(type))
    return wrong("type",
                 "is " + in_quotes(type) + ": expected the bare file name of a plugin, such as sriov");
  const Json* capabilities = config.find("capabilities");
  if (capabilities != nullptr && !capabilities->is_null()) {
    if (capabilities->object() == nullptr) return wrong("capabilities", "is not a map");
    for (const auto& [key, value] : *capabilities->object())
      if (value.boolean() == nullptr)
        return wrong("capabilities." + escaped(key), "is neither true nor false");
  }
  return PluginConfig{std::string(type), config};
}

Result<Unit> add_plugins(const Json& config, Network& network) {
  const Json* list = config.find("plugins");
  if (list == nullptr) {
    auto plugin = plugin_of(config);
    if (!plugin) return std::move(plugin.error());
    network.plugins.push_back(*std::move(plugin));
    return Unit{};
  }
  if (list->array() == nullptr || list->array()->empty() || list->array()->size() > kPluginsMax)
    return wrong("plugins", "is not a list of 1 to " + std::to_string(kPluginsMax) + " plugins");
  for (size_t i = 0; i < list->array()->size(); ++i) {
    auto plugin = plugin_of((*list->array())[i]);
    if (!plugin) return std::move(plugin.error()).in("plugins[" + std::to_string(i) + "]");
    network.plugins.push_back(*std::move(plugin));
  }
  return Unit{};
}

// Replaces the byte in an error of decode_json() by line and column, which an editor shows, and the text
// there.
Error json_mistake(std::string_view config, const Error& error) {
  constexpr std::string_view kStart = "not valid JSON: ", kByte = " at byte ";
  constexpr size_t kShownMax = 40;
  if (error.code != Errc::kInvalid) return Error(error).in("spec.config");
  std::string what = error.what.starts_with(kStart) ? error.what.substr(kStart.size()) : error.what;
  const size_t marked = what.rfind(kByte);
  const auto offset =
      marked == std::string::npos ? std::nullopt : parse_int(what.substr(marked + kByte.size()));
  std::string place;
  if (offset && *offset >= 0 && static_cast<size_t>(*offset) <= config.size()) {
    const size_t byte = static_cast<size_t>(*offset);
    const std::string_view before = config.substr(0, byte);
    const size_t newline = before.rfind('\n');
    const size_t column = newline == std::string_view::npos ? byte + 1 : byte - newline;
    const std::string_view rest = config.substr(byte, config.find('\n', byte) - byte);
    place = " at line " + std::to_string(std::count(before.begin(), before.end(), '\n') + 1) + ", column " +
            std::to_string(column) + ", " +
            (trim(rest).empty() ? "at its end" : "before " + printable(trim(rest), kShownMax));
    what.erase(marked);
  }
  return wrong("spec.config", "is not valid JSON" + place + ": " + what);
}

}  // namespace

Result<Network> decode_network(std::string_view config, std::string_view name) {
  auto json = kube::decode_json(config, kConfigLimits);
  if (!json) return json_mistake(config, json.error());
  if (json->object() == nullptr)
    return wrong("spec.config", "is a " + std::string(json->kind_name()) + ", expected a map");
  if (auto good = check_keys(*json, ""); !good) return std::move(good.error()).in("spec.config");
  const Json* own = json->find("name");
  if (own != nullptr && own->string() == nullptr) return wrong("spec.config: name", "is not a string");
  Network network{.name = std::string(own != nullptr && !own->string()->empty() ? *own->string() : name)};
  if (!is_cni_name(network.name))
    return wrong("spec.config: name",
                 "is " + in_quotes(network.name) +
                     ": expected at most 128 letters, digits and \"_.-\", the first none of \"_.-\"");
  auto version = version_of(*json);
  if (!version) return std::move(version.error()).in("spec.config");
  network.cni_version = *std::move(version);
  const auto disabled = flag_of(*json, "disableCheck");
  if (!disabled) return Error(disabled.error()).in("spec.config");
  network.is_check_disabled = *disabled;
  if (auto plugins = add_plugins(*json, network); !plugins)
    return std::move(plugins.error()).in("spec.config");
  return network;
}

Result<std::string> config_of_definition(const Json& object) {
  if (object.text("kind") != "NetworkAttachmentDefinition" ||
      object.text("apiVersion") != "k8s.cni.cncf.io/v1")
    return wrong("the object", "is not a NetworkAttachmentDefinition of k8s.cni.cncf.io/v1");
  const Json* config = object.find({"spec", "config"});
  if (config == nullptr || config->string() == nullptr || trim(*config->string()).empty())
    return wrong("spec.config",
                 "is not there: files of the node are not read; write the network's JSON there");
  if (config->string()->size() > kConfigBytesMax)
    return Error{Errc::kTooLarge, "spec.config has more than " + std::to_string(kConfigBytesMax) + " bytes"};
  return *config->string();
}

Result<Unit> check(const Attachment& attachment) {
  if (!is_cni_name(attachment.container_id))
    return wrong("the container's id", "is " + in_quotes(attachment.container_id));
  if (!is_interface_name(attachment.interface))
    return wrong("the interface's name", "is " + in_quotes(attachment.interface) +
                                             ": expected 1 to 15 bytes without \"/\", \":\" and white space");
  if (attachment.network_namespace.find('\0') != std::string::npos)
    return wrong("the network namespace", "is not a path");
  size_t size = 0;
  for (const auto& [key, value] : attachment.arguments) {
    size += key.size() + value.size() + 2;
    const auto is_plain = [](std::string_view text) {
      return std::none_of(text.begin(), text.end(), [](char c) { return c == ';' || c == '=' || c == '\0'; });
    };
    if (key.empty() || !is_plain(key) || !is_plain(value))
      return wrong("the argument", in_quotes(key) + " or its value has a \";\" or \"=\"");
  }
  if (size > kArgumentsBytesMax) return wrong("the arguments", "are longer than can be passed on");
  return Unit{};
}

std::string_view name_of(Command command) {
  switch (command) {
    case Command::kAdd:
      return "ADD";
    case Command::kCheck:
      return "CHECK";
    case Command::kDel:
      return "DEL";
  }
  return "";
}

std::string input_for(const Network& network, size_t index, const Attachment& attachment,
                      const std::optional<Attached>& previous) {
  const PluginConfig& plugin = network.plugins[index];
  Json::Object own;
  for (const auto& member : *plugin.config.object())
    if (!is_ours(member.first)) own.push_back(member);
  Json input(std::move(own));
  input.set("name", Json(network.name));
  input.set("cniVersion", Json(network.cni_version));
  if (previous) input.set("prevResult", encode_result(*previous));
  for (const char* key : {"deviceID", "pciBusID"})
    if (!attachment.device.empty()) input.set(key, Json(attachment.device));
  Json passed{Json::Object{}};
  const Json* listed = plugin.config.find("capabilities");
  for (const auto& [key, wanted] : listed && listed->object() ? *listed->object() : Json::Object{})
    if (const Json* value = attachment.capabilities.find(key); *wanted.boolean() && value != nullptr)
      passed.set(key, *value);
  if (!passed.object()->empty()) input.set("runtimeConfig", std::move(passed));
  return kube::encode_json(input);
}

std::vector<std::string> environment_for(Command command, const Attachment& attachment,
                                         const std::vector<std::string>& directories,
                                         const std::vector<std::string>& ours) {
  std::vector<std::string> arguments;
  for (const auto& [key, value] : attachment.arguments) arguments.push_back(key + "=" + value);
  const std::vector<std::pair<std::string, std::string>> of_call{
      {"CNI_COMMAND", std::string(name_of(command))}, {"CNI_CONTAINERID", attachment.container_id},
      {"CNI_NETNS", attachment.network_namespace},    {"CNI_ARGS", join(arguments, ";")},
      {"CNI_IFNAME", attachment.interface},           {"CNI_PATH", join(directories, ":")}};
  std::vector<std::string> all;
  for (const std::string& variable : ours)
    if (std::none_of(of_call.begin(), of_call.end(),
                     [&](const auto& own) { return variable.starts_with(own.first + "="); }))
      all.push_back(variable);
  for (const auto& [key, value] : of_call) all.push_back(key + "=" + value);
  return all;
}

}  // namespace sliced::cni
