#include "snapshot/snapshot.h"

#include <utility>

#include "kube/names.h"
#include "reactor/base/text.h"
#include "snapshot/aliases.h"
#include "snapshot/archive.h"

namespace sliced::snapshot {
namespace {

using kube::Json;

constexpr const char *kAbout = "about.json", *kHost = "host.json", *kObjects = "objects.json";
constexpr kube::JsonLimits kLimits{.size_max = kUnpackedBytesMax, .nodes_max = 3'000'000};
constexpr const char* kBootAlias = "00000000-0000-4000-8000-000000000001";

// What the kernel says that is known by its file alone.
void add_ids(const Recording& host, Aliases& aliases) {
  for (const auto& [path, answer] : host.reads) {
    if (!answer) continue;
    if (path.ends_with("/phys_switch_id")) aliases.add_digits(*answer);
    if (path.ends_with("/boot_id")) aliases.add_word(*answer, kBootAlias);
  }
}

Result<Json> member(const Members& members, const char* name) {
  const auto found = members.find(name);
  if (found == members.end()) return Error{Errc::kInvalid, std::string("is no snapshot: it has no ") + name};
  auto json = kube::decode_json(found->second, kLimits);
  if (!json) return std::move(json.error()).in(name);
  return json;
}

}  // namespace

std::string encode(const Snapshot& snapshot, const std::vector<std::string>& words) {
  Json about = Json::Object{};
  about.set("format", 1);
  about.set("version", snapshot.version);
  about.set("node", snapshot.node);
  about.set("server", snapshot.server);
  about.set("raw", snapshot.is_raw);
  Members members = {{kAbout, kube::encode_json_pretty(about)},
                     {kHost, kube::encode_json(encode(snapshot.host))},
                     {kObjects, kube::encode_json(Json(Json::Array(snapshot.objects)))}};
  if (snapshot.is_raw) return pack(members);
  Aliases aliases;
  aliases.add_word(snapshot.node, kNodeAlias);
  for (const std::string& word : words) aliases.add_word(word, kNodeAlias);
  add_ids(snapshot.host, aliases);
  for (const char* name : {kHost, kObjects, kAbout}) members[name] = aliases.replaced(members[name]);
  return pack(members);
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
    return Error{Errc::kInvalid, "its objects are no list, or too many"};
  out.objects = std::move(*objects->array());
  return out;
}

}  // namespace sliced::snapshot
