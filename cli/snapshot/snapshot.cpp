#include "cli/snapshot/snapshot.h"

#include <algorithm>
#include <utility>

#include "cli/snapshot/aliases.h"
#include "cli/snapshot/archive.h"
#include "kube/objects/names.h"
#include "reactor/base/text.h"

namespace sliced::snapshot {
namespace {

using kube::Json;

constexpr const char *kAbout = "about.json", *kHost = "host.json", *kObjects = "objects.json";
constexpr kube::JsonLimits kLimits{.size_max = kUnpackedBytesMax, .nodes_max = 3'000'000};
constexpr const char* kBootAlias = "00000000-0000-4000-8000-000000000001";

// Ids that only the file's path identifies.
void add_ids(const Recording& host, Aliases& aliases) {
  for (const auto& [path, answer] : host.reads) {
    if (!answer) continue;
    if (path.ends_with("/phys_switch_id")) aliases.add_digits(*answer);
    if (path.ends_with("/boot_id")) aliases.add_word(*answer, kBootAlias);
  }
}

constexpr std::string_view kHostNameLabel = "kubernetes.io/hostname", kNameField = "metadata.name";

// Adds a machine's name, and its first part if it has several; an IP address is not a name.
void add_name(const std::string& name, const std::string& alias, Aliases& aliases) {
  aliases.add_word(name, alias);
  const std::string first = name.substr(0, name.find('.'));
  if (first.find_first_not_of("0123456789") != std::string::npos) aliases.add_word(first, alias);
}

// Finds names of nodes in selectors at any depth.
void find_node_names(const Json& value, std::vector<std::string>& out) {
  if (const Json::Array* items = value.array())
    for (const Json& item : *items) find_node_names(item, out);
  const Json::Object* members = value.object();
  if (members == nullptr) return;
  const std::string_view key = value.text("key");
  const Json* values = value.find("values");
  if ((key == kHostNameLabel || key == kNameField) && values != nullptr && values->array() != nullptr)
    for (const Json& item : *values->array())
      if (item.string() != nullptr) out.push_back(*item.string());
  for (const auto& [name, member] : *members) {
    if (name == kHostNameLabel && member.string() != nullptr) out.push_back(*member.string());
    find_node_names(member, out);
  }
}

// The first alias of a name counts, so the node's own names come first.
void add_names(const Snapshot& snapshot, const std::vector<std::string>& words, Aliases& aliases) {
  add_name(snapshot.node, kNodeAlias, aliases);
  for (const std::string& word : words) add_name(word, kNodeAlias, aliases);
  std::vector<std::string> others;
  for (const Json& object : snapshot.objects) {
    const Json* labels = object.find({"metadata", "labels"});
    if (labels != nullptr && object.text("kind") == "Node")
      add_name(std::string(labels->text(kHostNameLabel)), kNodeAlias, aliases);
    find_node_names(object, others);
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  for (size_t i = 0; i < others.size(); ++i) add_name(others[i], "node-" + std::to_string(i + 2), aliases);
}

void note_all(const Json& value, Aliases& aliases) {
  if (const std::string* text = value.string()) aliases.note(*text);
  if (const Json::Array* items = value.array())
    for (const Json& item : *items) note_all(item, aliases);
  if (const Json::Object* members = value.object())
    for (const auto& [key, member] : *members) {
      aliases.note(key);
      note_all(member, aliases);
    }
}

// Returns whether users choose the names of the members of this map.
bool is_peoples(std::string_view key) {
  return key == "labels" || key == "annotations" || key == "matchLabels" || key == "nodeSelector";
}

// place: kind of the texts. keys: kind of the field names.
Json replaced_in(const Json& value, Aliases& aliases, Place place, Place keys = Place::kNames) {
  if (const std::string* text = value.string()) return aliases.replaced(*text, place);
  if (const Json::Array* items = value.array()) {
    Json::Array out;
    for (const Json& item : *items) out.push_back(replaced_in(item, aliases, place));
    return out;
  }
  const Json::Object* members = value.object();
  if (members == nullptr) return value;
  Json::Object out;
  for (const auto& [key, member] : *members) {
    std::string its = aliases.replaced(key, keys);
    // Two names of one machine become equal; a member's key is unique.
    if (std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.first == its; })) continue;
    const bool is_type = key == "kind" || key == "apiVersion";
    out.emplace_back(std::move(its), is_type ? member
                                             : replaced_in(member, aliases, place,
                                                           is_peoples(key) ? Place::kText : Place::kNames));
  }
  return out;
}

Result<Json> member(const Members& members, const char* name) {
  const auto found = members.find(name);
  if (found == members.end())
    return Error{Errc::kInvalid, std::string("is not a snapshot: it has no ") + name};
  auto json = kube::decode_json(found->second, kLimits);
  if (!json) return std::move(json.error()).in(name);
  return json;
}

}  // namespace

std::string encode(const Snapshot& snapshot, const std::vector<std::string>& words) {
  Json about = Json::Object{}, host = encode(snapshot.host), objects = Json(Json::Array(snapshot.objects));
  about.set("format", 1);
  about.set("version", snapshot.version);
  about.set("node", snapshot.is_raw ? snapshot.node : kNodeAlias);
  about.set("server", snapshot.server);
  about.set("raw", snapshot.is_raw);
  if (!snapshot.is_raw) {
    Aliases aliases;
    add_names(snapshot, words, aliases);
    add_ids(snapshot.host, aliases);
    note_all(host, aliases);
    note_all(objects, aliases);
    host = replaced_in(host, aliases, Place::kNames);
    objects = replaced_in(objects, aliases, Place::kText);
  }
  return pack({{kAbout, kube::encode_json_pretty(about)},
               {kHost, kube::encode_json(host)},
               {kObjects, kube::encode_json(objects)}});
}

Result<Snapshot> decode(std::string_view bytes) {
  auto members = unpack(bytes);
  if (!members) return std::move(members.error());
  auto about = member(*members, kAbout), host = member(*members, kHost), objects = member(*members, kObjects);
  for (auto* one : {&about, &host, &objects})
    if (!*one) return std::move(one->error());
  Snapshot out;
  const Json* format = about->find("format");
  if (format == nullptr || format->integer() == nullptr || *format->integer() != 1)
    return Error{Errc::kInvalid, "is of another version of sliced, which is needed to read it"};
  out.version = cut(std::string(about->text("version")), 64);
  out.server = cut(std::string(about->text("server")), 64);
  out.node = about->text("node");
  if (!kube::is_dns_subdomain(out.node)) return Error{Errc::kInvalid, "names no node"};
  const Json* raw = about->find("raw");
  out.is_raw = raw != nullptr && raw->boolean() != nullptr && *raw->boolean();
  auto recording = decode_recording(*host);
  if (!recording) return std::move(recording.error());
  out.host = std::move(*recording);
  if (objects->array() == nullptr || objects->array()->size() > kObjectsMax)
    return Error{Errc::kInvalid, "its objects are not a list, or too many"};
  out.objects = std::move(*objects->array());
  return out;
}

}  // namespace sliced::snapshot
