#include "migrate/plugin_config.h"

#include <algorithm>
#include <map>
#include <set>

#include "hotplug/facts.h"
#include "kube/names.h"
#include "kube/yaml.h"
#include "migrate/plugin_resource.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr size_t kResourcesMax = 1'000;  // as many priorities as a DeviceExposurePolicy has
constexpr std::string_view kForAllNodes = "config.json";

std::string_view line_of(const Lines& lines, int line) {
  const auto at = static_cast<size_t>(std::max(line, 1) - 1);
  return at < lines.size() ? lines[at] : std::string_view();
}

// Whether the scalar that begins in that line is a block: then its text begins in the next one, and has its lines.
bool begins_block(std::string_view line) {
  line = trim(line);
  while (!line.empty() &&
         (line.back() == '-' || line.back() == '+' || starts_with_digit(line.substr(line.size() - 1))))
    line.remove_suffix(1);
  return line.ends_with('|') || line.ends_with('>');
}

// Lines of a text inside a text become those of the file.
void place_lines(Json& value, int first, bool has_lines) {
  value.set_line(has_lines ? first + value.line() - 1 : first);
  if (value.array() != nullptr)
    for (Json& item : *value.array()) place_lines(item, first, has_lines);
  if (value.object() != nullptr)
    for (auto& [key, member] : *value.object()) place_lines(member, first, has_lines);
}

void read_document(const Json& document, const PluginSettings& settings, Config& config,
                   Complaints& complaints) {
  const Json* list = folded_member(document, "resourceList");
  if (list == nullptr || list->is_null()) return;
  if (list->array() == nullptr)
    return complaints.error({config.place.file, list->line()},
                            "resourceList is a " + std::string(list->kind_name()) + ", wants a list");
  if (list->array()->size() > kResourcesMax)
    return complaints.error({config.place.file, list->line()},
                            "resourceList has " + std::to_string(list->array()->size()) +
                                " resources, at most " + std::to_string(kResourcesMax) +
                                " can be carried over: split it by nodes");
  std::set<std::string> names;
  for (const Json& item : *list->array()) {
    auto resource = read_plugin_resource(item, config.place.file, settings, complaints);
    if (!resource) continue;
    if (!names.insert(resource->name).second)
      complaints.error(resource->place,
                       "resource " + escaped(resource->name) +
                           " is there twice, so that the plugin does not start: give one another "
                           "name, or one list of selectors to both");
    config.resources.push_back(std::move(*resource));
  }
}

// text: the JSON, whose first line is that line of the file.
void read_json(std::string_view text, int first_line, bool has_lines, const PluginSettings& settings,
               Config config, std::vector<Config>& out, Complaints& complaints) {
  auto document = kube::decode_json_with_lines(text);
  if (!document) {
    // JSON is YAML, whose reader tells the line; what it takes beside that is wrong all the same.
    const auto yaml = kube::decode_yaml(text);
    const int line = yaml.problems.empty() ? 1 : yaml.problems.front().line;
    return complaints.error({config.place.file, has_lines ? first_line + line - 1 : first_line},
                            "is not JSON as the plugin reads it: " + document.error().what);
  }
  place_lines(*document, first_line, has_lines);
  const size_t before = config.resources.size();
  read_document(*document, settings, config, complaints);
  if (config.resources.size() > before) out.push_back(std::move(config));
}

void read_key(const std::string& key, const Json& value, Config config, const Lines& lines,
              const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints) {
  config.place.line = value.line();
  config.origin += ", key " + escaped(key);
  if (value.string() == nullptr)
    return complaints.error(config.place, "data[" + escaped(key) + "] is a " +
                                              std::string(value.kind_name()) + ", wants a string with JSON");
  if (key != kForAllNodes) {
    if (!kube::is_dns_subdomain(key))
      return complaints.error(config.place,
                              "data[" + escaped(key) +
                                  "] is neither config.json nor the name of a node: delete the key, or "
                                  "give it the name of what --config-file of the plugin says");
    config.nodes.name = key;
    config.name = dns_name_of(config.name + "-" + key);
  }
  const bool is_block = begins_block(line_of(lines, value.line()));
  read_json(*value.string(), value.line() + (is_block ? 1 : 0), is_block, settings, std::move(config), out,
            complaints);
}

}  // namespace

bool is_plugin_config(const Json& document) {
  return document.find("kind") == nullptr && folded_member(document, "resourceList") != nullptr;
}

bool is_plugin_config_map(const Json& object) {
  const Json* data = object.find("data");
  if (data == nullptr || data->object() == nullptr) return false;
  return std::any_of(data->object()->begin(), data->object()->end(), [](const Json::Member& member) {
    return member.second.string() != nullptr &&
           lower(*member.second.string()).find("resourcelist") != std::string::npos;
  });
}

void read_plugin_config(const std::string& file, std::string_view text, const PluginSettings& settings,
                        std::vector<Config>& out, Complaints& complaints) {
  Config config{.place = {file, 1}, .origin = "the device plugin's configuration", .name = "device-plugin"};
  read_json(text, 1, true, settings, std::move(config), out, complaints);
}

void read_plugin_config_map(const Json& object, const std::string& file, const Lines& lines,
                            const PluginSettings& settings, std::vector<Config>& out,
                            Complaints& complaints) {
  const Json* meta = object.find("metadata");
  const std::string name(meta != nullptr ? meta->text("name") : "");
  const std::string space(meta != nullptr ? meta->text("namespace") : "");
  const Config config{.place = {file, object.line()},
                      .origin = "ConfigMap " + (space.empty() ? "" : escaped(space) + "/") + escaped(name),
                      .name = dns_name_of(name)};
  const Json* data = object.find("data");
  const bool has_all = data->find(kForAllNodes) != nullptr;
  for (const auto& [key, value] : *data->object()) {
    if (has_all && key != kForAllNodes)
      complaints.error({file, value.line()},
                       "data[" + escaped(key) +
                           "] stands beside config.json: the plugin reads one of them, which its "
                           "--config-file says; delete the keys that it does not read");
    read_key(key, value, config, lines, settings, out, complaints);
  }
}

void check_one_config_a_node(const std::vector<Config>& configs, Complaints& complaints) {
  std::map<std::string, const Config*> by_node;
  for (const Config& config : configs) {
    const auto [other, is_new] = by_node.emplace(config.nodes.name, &config);
    const Config* twice = is_new ? nullptr : other->second;
    if (twice == nullptr && configs.size() > 1 && config.nodes.is_all())
      twice = &config == &configs.front() ? &configs.back() : &configs.front();
    if (twice != nullptr)
      complaints.error(config.place,
                       config.origin + " is for nodes that " + twice->origin + " (" +
                           escaped(twice->place.file) + ":" + std::to_string(twice->place.line) +
                           ") is for, too: a node's plugin reads one; migrate them one after the other");
  }
}

}  // namespace sliced::migrate
