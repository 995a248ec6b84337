#include "kubectl/migrate/plugin_config.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "hotplug/facts.h"
#include "kube/objects/names.h"
#include "kube/objects/yaml.h"
#include "kubectl/migrate/plugin_resource.h"
#include "reactor/base/text.h"

namespace sliced::migrate {
namespace {

using kube::Json;

constexpr size_t kResourcesMax = 1'000;  // as many as DeviceExposurePolicies have priorities
constexpr std::string_view kForAllNodes = "config.json";
constexpr std::string_view kOperatorsPrefix = "openshift.io";
constexpr std::string_view kOperatorsMap = "device-plugin-config";
constexpr int kNestingMax = 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view line_of(const Lines& lines, int line) {
  const auto at = static_cast<size_t>(std::max(line, 1) - 1);
  return at < lines.size() ? lines[at] : std::string_view();
}

// Returns true if the scalar that begins in that line is a YAML block. The block's text begins in the next
// line, and keeps its line breaks.
bool begins_block(std::string_view line) {
  line = trim(line);
  while (!line.empty() &&
         (line.back() == '-' || line.back() == '+' || starts_with_digit(line.substr(line.size() - 1))))
    line.remove_suffix(1);
  return line.ends_with('|') || line.ends_with('>');
}

// Converts line numbers of an embedded text to those of the file.
void place_lines(Json& value, int first, bool has_lines) {
  value.set_line(has_lines ? first + value.line() - 1 : first);
  if (value.array() != nullptr)
    for (Json& item : *value.array()) place_lines(item, first, has_lines);
  if (value.object() != nullptr)
    for (auto& [key, member] : *value.object()) place_lines(member, first, has_lines);
}

// The plugin's file has no field beside resourceList (ResourceConfList of its pkg/types).
void refuse_fields_beside_list(const Json& document, const Place& place, Complaints& complaints) {
  bool has_list = false;
  for (const auto& [key, value] : *document.object()) {
    const bool is_list = lower(key) == "resourcelist";
    if (is_list && std::exchange(has_list, true))
      complaints.error({place.file, value.line()},
                       "resourceList is there twice in different cases of letters: keep one");
    if (!is_list)
      complaints.error(
          {place.file, value.line()},
          escaped(key, 64) + " beside resourceList is a field that the plugin ignores: delete it" +
              (lower(key) == "resourceprefix" ? ", and write resourcePrefix in each resource" : ""));
  }
}

void read_document(const Json& document, const PluginSettings& settings, Config& config,
                   Complaints& complaints) {
  const Json* list = folded_member(document, "resourceList");
  if (list == nullptr || list->is_null()) return;
  if (list->array() == nullptr)
    return complaints.error({config.place.file, list->line()},
                            "resourceList is a " + std::string(list->kind_name()) + ", expected a list");
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

// Only the operator writes SelectorObjs: it is an internal field of the plugin that the operator serializes
// by accident.
bool is_by_operator(const Json& document) {
  const Json* list = folded_member(document, "resourceList");
  if (list == nullptr || list->array() == nullptr) return false;
  return std::any_of(list->array()->begin(), list->array()->end(), [](const Json& resource) {
    return folded_member(resource, "selectorObj") != nullptr ||
           folded_member(resource, "selectorObjs") != nullptr;
  });
}

// REQUIRES: the lines of `document` are those of the file.
void read_configuration(const Json& document, const PluginSettings& settings, Config config,
                        std::vector<Config>& out, Complaints& complaints) {
  PluginSettings its = settings;
  if (settings.resource_prefix.empty()) {
    const bool is_operators = config.is_by_operator || is_by_operator(document);
    its.resource_prefix = is_operators ? kOperatorsPrefix : kPluginsPrefix;
    config.is_by_operator = is_operators;
    if (is_operators && std::none_of(out.begin(), out.end(), [&](const Config& one) {
          return one.is_by_operator && one.place.file == config.place.file;
        }))
      complaints.warning(
          config.place,
          config.origin +
              " is written by the SR-IOV network operator: resources without a "
              "resourcePrefix are of " +
              std::string(kOperatorsPrefix) +
              ", as its plugin has them; if the operator has another RESOURCE_PREFIX (NVIDIA: nvidia.com), give "
              "it to migrate by its option --resource-prefix");
  }
  read_document(document, its, config, complaints);
  // A node with an empty list offers nothing. --check compares that, so the configuration is kept.
  const Json* list = folded_member(document, "resourceList");
  const bool is_empty =
      list == nullptr || list->is_null() || (list->array() != nullptr && list->array()->empty());
  if (!config.resources.empty() || (is_empty && !config.nodes.name.empty())) out.push_back(std::move(config));
}

// Returns the offset in the decoder's error ("... at byte 112"), npos if it has none.
size_t offset_of(const std::string& error) {
  constexpr std::string_view kAt = "at byte ";
  const size_t at = error.rfind(kAt);
  if (at == std::string::npos) return std::string::npos;
  const std::string_view rest = std::string_view(error).substr(at + kAt.size());
  const auto offset = parse_int(rest.substr(0, rest.find_first_not_of("0123456789")));
  return offset && *offset >= 0 ? static_cast<size_t>(*offset) : std::string::npos;
}

// A common fault of JSON that people write, at an offset of the text.
struct JsonFault {
  size_t at = 0;
  std::string what;
};

std::string line_text(std::string_view text, size_t at, int first_line) {
  return "line " +
         std::to_string(first_line +
                        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// Returns the first such fault. The decoder stops at it or behind it, and reports only that the structure is wrong.
std::optional<JsonFault> first_fault(std::string_view text, int first_line) {
  std::vector<size_t> open;  // offsets of brackets
  size_t comma = std::string_view::npos;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const size_t start = at;
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at) at += text[at] == '\\';
      if (at >= text.size() || text[at] == '\n')
        return JsonFault{start, "a string that has no closing quote in its line"};
    } else if (c == '#' ||
               (c == '/' && (text.substr(at).starts_with("//") || text.substr(at).starts_with("/*")))) {
      return JsonFault{at, "a comment, which JSON does not have: delete it"};
    } else if (c == '{' || c == '[') {
      open.push_back(at);
    } else if (c == '}' || c == ']') {
      if (comma != std::string_view::npos)
        return JsonFault{comma, "a comma before a closing bracket, where JSON has none: delete it"};
      if (open.empty())
        return JsonFault{at, std::string(1, c) + " closes a bracket that is not open: delete it"};
      if ((text[open.back()] == '{') != (c == '}'))
        return JsonFault{at, std::string(1, c) + " closes " + text[open.back()] + " of " +
                                 line_text(text, open.back(), first_line)};
      open.pop_back();
    }
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') comma = c == ',' ? start : std::string_view::npos;
  }
  if (open.empty()) return std::nullopt;
  return JsonFault{text.size(), std::string("the text ends, and ") + text[open.back()] + " of " +
                                    line_text(text, open.back(), first_line) + " is not closed"};
}

// Adds an error with line, column and the text there. has_lines false (a quoted scalar): line and column are
// those of the JSON.
void complain_of_json(std::string_view text, int first_line, bool has_lines, const Lines& lines,
                      const std::string& error, const std::string& file, Complaints& complaints) {
  std::string what = error;
  int line = 1;
  const auto fault =
      trim(text).starts_with('{') ? first_fault(text, has_lines ? first_line : 1) : std::nullopt;
  size_t offset = offset_of(error);
  if (offset == std::string::npos && fault)
    offset = text.size();  // of an open string the decoder reports none
  if (offset <= text.size()) {
    const bool is_cause = fault && (fault->at <= offset || trim(text.substr(offset)).empty());
    // The last line of a text that ends too early is the one with its last character.
    const size_t at = std::min(is_cause ? fault->at : offset, text.find_last_not_of(" \t\r\n") + 1);
    line =
        1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
    const std::string_view row = text.substr(start, text.find('\n', start) - start);
    size_t column = at - start + 1;
    if (has_lines)  // a block is indented
      if (const auto in_file = line_of(lines, first_line + line - 1); in_file.ends_with(trim(row)))
        column += in_file.size() - row.size() <= in_file.size() ? in_file.size() - row.size() : 0;
    what = std::string(has_lines ? "" : "line " + std::to_string(line) + ", ") + "column " +
           std::to_string(column) + ", at " + in_quotes(trim(row), 96) + ": " +
           (is_cause ? fault->what : error);
  } else if (const auto yaml = kube::decode_yaml(text); !yaml.problems.empty()) {
    line = yaml.problems.front().line;  // JSON is YAML, and the YAML reader reports the line
  } else if (!trim(text).starts_with('{') && !text.starts_with(kByteOrderMark)) {
    what =
        "it is YAML, and the plugin reads JSON alone, so that it does not start with it: write it as JSON (yq -o json)";
  } else if (text.starts_with(kByteOrderMark)) {
    what = "it begins with a byte order mark, with which the plugin does not start: delete it";
  }
  complaints.error({file, has_lines ? first_line + line - 1 : first_line},
                   "is not JSON as the plugin reads it: " + what);
}

bool is_operators_text(std::string_view text) {
  const auto document = kube::decode_json(text);
  return document && is_by_operator(*document);
}

// text: the JSON. first_line: the line of the file in which it begins.
// lines: of the file. A YAML block is indented in them; without them columns are those of the text.
void read_json(std::string_view text, int first_line, bool has_lines, const Lines& lines,
               const PluginSettings& settings, Config config, std::vector<Config>& out,
               Complaints& complaints) {
  auto document = kube::decode_json_with_lines(text);
  if (!document)
    return complain_of_json(text, first_line, has_lines, lines, document.error().what, config.place.file,
                            complaints);
  place_lines(*document, first_line, has_lines);
  if (document->object() != nullptr) refuse_fields_beside_list(*document, config.place, complaints);
  read_configuration(*document, settings, std::move(config), out, complaints);
}

bool has_resource_list(const Json& value) {
  return value.string() != nullptr && lower(*value.string()).find("resourcelist") != std::string::npos;
}

std::string_view text_in(const Json& value) {
  return value.string() != nullptr ? std::string_view(*value.string()) : std::string_view();
}

bool is_file_name(std::string_view key) {
  constexpr std::string_view kEndings[] = {".json", ".yaml", ".yml", ".conf", ".cfg", ".config", ".txt"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return lower(key).ends_with(ending); });
}

// is_nodes: the key is the name of a node; otherwise the configuration is for every node.
void read_key(const std::string& key, const Json& value, bool is_nodes, Config config, const Lines& lines,
              const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints) {
  config.place.line = value.line();
  config.origin += ", key " + escaped(key);
  if (value.string() == nullptr)
    return complaints.error(config.place, "data[" + escaped(key) + "] is a " +
                                              std::string(value.kind_name()) +
                                              ", expected a string with JSON");
  if (!has_resource_list(value))
    return complaints.error(config.place,
                            "data[" + escaped(key) +
                                "] is not a configuration of the device plugin, and other keys are: delete "
                                "the key");
  if (is_nodes) {
    if (!kube::is_dns_subdomain(key))
      return complaints.error(config.place,
                              "data[" + escaped(key) +
                                  "] is neither config.json nor the name of a node: delete the key, or "
                                  "give it the name that the plugin's option --config-file has");
    config.nodes.name = key;
    config.name = dns_name_of(config.name + "-" + key);
  }
  const bool is_block = begins_block(line_of(lines, value.line()));
  read_json(*value.string(), value.line() + (is_block ? 1 : 0), is_block, lines, settings, std::move(config),
            out, complaints);
}

}  // namespace

bool is_plugin_config(const Json& document) {
  return document.find("kind") == nullptr && folded_member(document, "resourceList") != nullptr;
}

bool is_plugin_config_map(const Json& object) {
  const Json* data = object.find("data");
  if (data == nullptr || data->object() == nullptr) return false;
  return std::any_of(data->object()->begin(), data->object()->end(), [](const Json::Member& member) {
    return has_resource_list(member.second) || folded_member(member.second, "resourceList") != nullptr;
  });
}

void read_plugin_config(const std::string& file, std::string_view text, const PluginSettings& settings,
                        std::vector<Config>& out, Complaints& complaints) {
  Config config{.place = {file, 1}, .origin = "the device plugin's configuration", .name = "device-plugin"};
  read_json(text, 1, true, split(text, '\n'), settings, std::move(config), out, complaints);
}

void read_plugin_config_map(const Json& object, const std::string& file, const Lines& lines,
                            const PluginSettings& settings, std::vector<Config>& out,
                            Complaints& complaints) {
  const Json* meta = object.find("metadata");
  const std::string name(meta != nullptr ? meta->text("name") : "");
  const std::string space(meta != nullptr ? meta->text("namespace") : "");
  const Json* data = object.find("data");
  const bool has_all = data->find(kForAllNodes) != nullptr;
  const bool is_operators = name == kOperatorsMap && !has_all;
  const Config config{.place = {file, object.line()},
                      .origin = "ConfigMap " + (space.empty() ? "" : escaped(space) + "/") + escaped(name),
                      .name = dns_name_of(name),
                      .has_own_name = true,
                      .is_by_operator = is_operators};
  const bool is_only = data->object()->size() == 1;
  bool is_nodes_said = false;
  for (const auto& [key, value] : *data->object()) {
    if (has_all && key != kForAllNodes)
      complaints.error({file, value.line()},
                       "data[" + escaped(key) +
                           "] is a key beside config.json, and the plugin reads only the one that its "
                           "--config-file names; delete the others");
    else if (!is_only && is_file_name(key) && key != kForAllNodes)
      complaints.error(
          {file, value.line()},
          "data[" + escaped(key) +
              "] is named as a file, and there are other keys: the plugin reads one file, which its "
              "--config-file says; delete the keys that it does not read");
    // The operator writes a key for each node. Otherwise a single key is the file, under any name.
    const bool writes_by_node = is_operators || !is_only || is_operators_text(text_in(value));
    const bool is_nodes = key != kForAllNodes && !is_file_name(key) && writes_by_node;
    if (is_only && key != kForAllNodes && !is_nodes && !is_file_name(key))
      complaints.warning(
          {file, value.line()},
          "data[" + escaped(key) +
              "] is the only key, and taken for the file that every node's plugin reads; if it is the "
              "name of a node, add a nodeSelector to the printed objects");
    if (is_nodes && !is_operators && !std::exchange(is_nodes_said, true) &&
        !is_operators_text(text_in(value)))
      complaints.warning(
          {file, value.line()},
          "data[" + escaped(key) + "]" + (is_only ? "" : " and the other keys") +
              " are taken for names of nodes, each with the configuration of that node's plugin; if they "
              "are files of several plugins, give the JSON of one of them as FILE");
    read_key(key, value, is_nodes, config, lines, settings, out, complaints);
  }
}

void read_embedded_config(const Json& value, const std::string& file, const std::string& origin,
                          const std::string& name, const Nodes& nodes, const Lines& lines,
                          const PluginSettings& settings, std::vector<Config>& out, Complaints& complaints) {
  Config config{.place = {file, value.line()},
                .origin = origin,
                .name = dns_name_of(name),
                .has_own_name = true,
                .nodes = nodes};
  if (value.string() == nullptr)
    return read_configuration(value, settings, std::move(config), out, complaints);
  const bool is_block = begins_block(line_of(lines, value.line()));
  read_json(*value.string(), value.line() + (is_block ? 1 : 0), is_block, lines, settings, std::move(config),
            out, complaints);
}

std::vector<Embedded> embedded_configs(const Json& value, const std::string& path, int depth) {
  std::vector<Embedded> out;
  if (depth > kNestingMax) return out;
  if (has_resource_list(value)) return {{path, &value}};
  if (value.array() != nullptr)
    for (size_t i = 0; i < value.array()->size(); ++i)
      for (Embedded& one :
           embedded_configs((*value.array())[i], path + "[" + std::to_string(i) + "]", depth + 1))
        out.push_back(std::move(one));
  if (value.object() == nullptr) return out;
  const Json* list = folded_member(value, "resourceList");
  if (list != nullptr && list->array() != nullptr) return {{path, &value}};
  for (const auto& [key, member] : *value.object())
    for (Embedded& one :
         embedded_configs(member, path + (path.empty() ? "" : ".") + escaped(key, 64), depth + 1))
      out.push_back(std::move(one));
  return out;
}

void check_one_config_a_node(const std::vector<Config>& configs, Complaints& complaints) {
  std::map<std::string, const Config*> by_node;
  for (const Config& config : configs) {
    const auto [other, is_new] = by_node.emplace(config.nodes.name, &config);
    const Config* twice = is_new ? nullptr : other->second;
    if (twice == nullptr && configs.size() > 1 && config.nodes.is_all())
      twice = &config == &configs.front() ? &configs.back() : &configs.front();
    if (twice != nullptr)
      complaints.error(
          config.place,
          config.origin + " is for nodes that " + twice->origin + " (" + escaped(twice->place.file) + ":" +
              std::to_string(twice->place.line) +
              ") is for, too: a node's plugin reads one. Migrate each alone, and add to the printed objects a "
              "nodeSelector and names of their own");
  }
}

}  // namespace sliced::migrate
