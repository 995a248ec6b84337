#include "kubelet/cdi/spec.h"

#include <algorithm>
#include <set>

#include "kube/objects/json.h"
#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::cdi {
namespace {

using kube::Json;

constexpr kube::JsonLimits kLimits{.size_max = kSpecBytesMax, .depth_max = 16, .nodes_max = 100'000};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

Error invalid(const std::string& field, std::string_view value, const std::string& rule) {
  return {Errc::kInvalid, "CDI spec: " + field + " is " + in_quotes(value) + ", expected " + rule};
}

// A class is a letter, then letters, digits, "_" and "-".
bool is_class(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && (is_letter(text.back()) || is_digit(text.back())) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

bool is_absolute(std::string_view path) {
  return path.starts_with('/') && path.find('\0') == std::string_view::npos && is_utf8(path);
}

Result<Unit> check_edits(const Edits& edits, const std::string& field) {
  if (edits == Edits{})
    return Error{Errc::kInvalid, "CDI spec: " + field + " is empty, expected container edits"};
  for (const std::string& one : edits.env) {
    const size_t equals = one.find('=');
    if (equals == 0 || equals == std::string::npos || one.find('\0') != std::string::npos || !is_utf8(one))
      return invalid(field + ".env", one, "NAME=value");
  }
  for (const DeviceNode& node : edits.nodes)
    for (const std::string& path : {node.path, node.host_path})
      if (!is_absolute(path)) return invalid(field + ".deviceNodes", path, "an absolute path");
  for (const Mount& mount : edits.mounts)
    for (const std::string& path : {mount.host_path, mount.container_path})
      if (!is_absolute(path)) return invalid(field + ".mounts", path, "an absolute path");
  return Unit{};
}

// Stricter than check(), which also accepts specs of earlier versions. A VM launcher may read its environment
// by lines.
Result<Unit> check_names_of_env(const Spec& spec) {
  const auto is_printable = [](char c) { return c > ' ' && c < 0x7f; };
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
  for (const Device& device : spec.devices)
    for (const std::string& one : device.edits.env) {
      const std::string_view name = std::string_view(one).substr(0, one.find('='));
      if (!std::all_of(name.begin(), name.end(), is_printable) ||
          std::any_of(one.begin(), one.end(), is_control))
        return invalid("devices[" + device.name + "].containerEdits.env", one,
                       "a name of printable ASCII without space, and a value of one line");
    }
  return Unit{};
}

Result<Unit> check(const Spec& spec) {
  const size_t slash = spec.kind.find('/');
  if (slash == std::string::npos || !kube::is_dns_subdomain(spec.kind.substr(0, slash)) ||
      !is_class(std::string_view(spec.kind).substr(slash + 1)))
    return invalid("kind", spec.kind, "vendor/class");
  std::set<std::string_view> names;
  for (const Device& device : spec.devices) {
    if (!is_device_name(device.name))
      return invalid("devices[].name", device.name, "letters and digits at both ends, and _ - . : between");
    if (!names.insert(device.name).second)
      return invalid("devices[].name", device.name, "a name that no other device of the spec has");
    if (auto checked = check_edits(device.edits, "devices[" + device.name + "].containerEdits"); !checked)
      return checked;
  }
  if (spec.devices.empty()) return Error{Errc::kInvalid, "CDI spec: devices is empty, expected at least one"};
  return Unit{};
}

Json texts(const std::vector<std::string>& all) { return Json::Array(all.begin(), all.end()); }

Json encode(const Edits& edits) {
  Json::Object out;
  if (!edits.env.empty()) out.emplace_back("env", texts(edits.env));
  Json::Array nodes, mounts;
  for (const DeviceNode& node : edits.nodes)
    nodes.push_back(Json::Object{{"path", node.path}, {"hostPath", node.host_path}, {"type", "c"}});
  for (const Mount& mount : edits.mounts)
    mounts.push_back(Json::Object{{"hostPath", mount.host_path},
                                  {"containerPath", mount.container_path},
                                  {"options", texts(mount.options)}});
  if (!nodes.empty()) out.emplace_back("deviceNodes", std::move(nodes));
  if (!mounts.empty()) out.emplace_back("mounts", std::move(mounts));
  return out;
}

template <class Visit>
void each(const Json& parent, std::string_view key, const Visit& visit) {
  const Json* list = parent.find(key);
  if (list == nullptr || list->array() == nullptr) return;
  for (const Json& one : *list->array()) visit(one);
}

std::vector<std::string> texts_in(const Json& parent, std::string_view key) {
  std::vector<std::string> out;
  each(parent, key, [&](const Json& one) {
    if (one.string() != nullptr) out.push_back(*one.string());
  });
  return out;
}

Edits decode_edits(const Json& value) {
  Edits out;
  out.env = texts_in(value, "env");
  each(value, "deviceNodes", [&](const Json& node) {
    out.nodes.push_back({std::string(node.text("path")), std::string(node.text("hostPath"))});
  });
  each(value, "mounts", [&](const Json& mount) {
    out.mounts.push_back({std::string(mount.text("hostPath")), std::string(mount.text("containerPath")),
                          texts_in(mount, "options")});
  });
  return out;
}

}  // namespace

std::string_view version_of(const Spec& spec) {
  const bool wants_050 = std::any_of(spec.devices.begin(), spec.devices.end(), [](const Device& device) {
    return !device.edits.nodes.empty() || (!device.name.empty() && is_digit(device.name.front()));
  });
  return wants_050 ? "0.5.0" : "0.3.0";
}

Result<std::string> encode_spec(const Spec& spec) {
  if (auto checked = check(spec); !checked) return std::move(checked.error());
  if (auto checked = check_names_of_env(spec); !checked) return std::move(checked.error());
  Json::Array devices;
  for (const Device& device : spec.devices)
    devices.push_back(Json::Object{{"name", device.name}, {"containerEdits", encode(device.edits)}});
  std::string text = kube::encode_json_pretty(
      Json::Object{{"cdiVersion", version_of(spec)}, {"kind", spec.kind}, {"devices", std::move(devices)}});
  if (text.size() > kSpecBytesMax)
    return Error{Errc::kTooLarge, "CDI spec: it has " + std::to_string(text.size()) + " bytes, at most " +
                                      std::to_string(kSpecBytesMax) + " are written"};
  return text;
}

Result<Spec> decode_spec(std::string_view text) {
  const auto value = kube::decode_json(text, kLimits);
  if (!value) return Error(value.error()).in("CDI spec");
  Spec spec{.kind = std::string(value->text("kind"))};
  each(*value, "devices", [&](const Json& one) {
    const Json* edits = one.find("containerEdits");
    spec.devices.push_back(
        {std::string(one.text("name")), edits == nullptr ? Edits{} : decode_edits(*edits)});
  });
  if (auto checked = check(spec); !checked) return std::move(checked.error());
  return spec;
}

std::string qualified_name(std::string_view kind, std::string_view device) {
  return std::string(kind) + "=" + std::string(device);
}

std::string transient_file(std::string_view kind, std::string_view id) {
  std::string name = std::string(kind) + "_" + std::string(id);
  std::replace(name.begin(), name.end(), '/', '-');
  return name + ".yaml";
}

std::string metadata_file(std::string_view kind, std::string_view id) {
  std::string name = std::string(kind) + "_" + std::string(id);
  std::replace(name.begin(), name.end(), '/', '_');
  return name + ".json";
}

bool is_device_name(std::string_view text) {
  const auto is_end = [](char c) { return is_letter(c) || is_digit(c); };
  return !text.empty() && is_end(text.front()) && is_end(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_end(c) || c == '_' || c == '-' || c == '.' || c == ':'; });
}

}  // namespace sliced::cdi
