#include "kube/directory/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"

namespace sliced::kube {

namespace {

bool is_near_exposure_policy(const Json& object) { return mentions_exposure_policy(object.text("kind")); }

/// Reports an item that was left out, because its kind is unknown or it is a list of such items. Files of
/// kustomize have neither kind nor spec.
bool may_hold_exposure_policy(const Json& object) {
  const std::string_view kind = object.text("kind");
  if (kind.empty()) return object.find("spec") != nullptr;
  if (kind.ends_with("List")) return mentions_exposure_policy(encode_json(object));
  return is_near_exposure_policy(object);
}

/// An item of a typed list does not repeat its kind: "ResourceSliceList" holds "ResourceSlice".
void inherit_kind(Json& item, std::string_view api_version, std::string_view kind) {
  if (item.object() == nullptr || kind == "List") return;
  const int line = item.line();
  if (item.find("kind") == nullptr) item.set("kind", kind.substr(0, kind.size() - 4));
  if (item.find("apiVersion") == nullptr) item.set("apiVersion", api_version);
  item.set_line(line);
}

class ManifestDecoder {
 public:
  explicit ManifestDecoder(std::string_view default_namespace) : default_namespace_(default_namespace) {}

  void add_document(Json document, bool nested) {
    const std::string kind(document.text("kind")), api_version(document.text("apiVersion"));
    Json* items = nested || !kind.ends_with("List") ? nullptr : items_of(document);
    if (items == nullptr) return take_object(std::move(document));
    for (auto& item : *items->array()) {
      inherit_kind(item, api_version, kind);
      add_document(std::move(item), true);
    }
  }

  Manifest out;

 private:
  static Json* items_of(Json& document) {
    for (auto& [key, value] : *document.object()) {
      if (key == "items" && value.array() != nullptr) return &value;
    }
    return nullptr;
  }

  void take_object(Json object) {
    const int line = object.line();
    const auto leave_out = [&](std::string why) {
      if (!out.possible_exclude && object.object() != nullptr && may_hold_exposure_policy(object))
        out.possible_exclude = {line, why};
      out.remarks.push_back({line, std::move(why)});
    };
    if (object.object() == nullptr) return leave_out("no object: a " + std::string(object.kind_name()));
    ObjectKey key{std::string(object.text("apiVersion")), std::string(object.text("kind")), "", ""};
    if (key.api_version.empty() || key.kind.empty())
      return leave_out("no object: apiVersion or kind is missing");
    auto meta = decode_object_meta(object);
    if (!meta.ok()) return leave_out(describe_object(object) + ": " + meta.error().what);
    const Resource& policies = kDeviceExposurePolicies;
    const bool is_policy = key.kind == policies.kind && key.api_version == api_version(policies);
    if (!is_policy && is_near_exposure_policy(object))
      return leave_out(describe_object(object) + ": there is no such kind; it is " + api_version(policies) +
                       " " + policies.kind);
    key.name = std::move(meta->name);
    if (meta->namespace_ != default_namespace_) key.namespace_ = std::move(meta->namespace_);
    out.objects.push_back({std::move(key), std::move(object)});
  }

  const std::string_view default_namespace_;
};

Error io_error(const std::string& path, int code) {
  const Errc ours = code == ENOENT || code == ENOTDIR ? Errc::kNotFound
                    : code == EACCES || code == EPERM ? Errc::kDenied
                                                      : Errc::kIo;
  return {ours, in_quotes(path) + ": " + std::strerror(code)};
}

Result<std::string> read_all(int fd, const std::string& path, size_t size_max) {
  std::string bytes;
  char buffer[16384];
  while (true) {
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error(path, errno);
    if (size == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(size));
    if (bytes.size() > size_max) {
      return Error{Errc::kTooLarge, in_quotes(path) + ": larger than " + std::to_string(size_max) + " bytes"};
    }
  }
}

}  // namespace

std::string describe(const ObjectKey& key) {
  return escaped(key.api_version) + " " + escaped(key.kind) + " " +
         (key.namespace_.empty() ? "" : escaped(key.namespace_) + "/") + escaped(key.name);
}

Manifest decode_manifest(std::string_view text, std::string_view default_namespace,
                         const JsonLimits& limits) {
  YamlDocuments decoded = decode_yaml(text, limits);
  ManifestDecoder decoder(default_namespace);
  for (auto& document : decoded.documents) decoder.add_document(std::move(document), false);
  decoder.out.problems = std::move(decoded.problems);
  return std::move(decoder.out);
}

bool mentions_exposure_policy(std::string_view text) {
  return lower(text).find("deviceexposurepolic") != std::string::npos;
}

Manifest::Object placeholder_for(const std::string& file, std::string_view why) {
  const std::string name = "unreadable-file-" + hex(stable_hash(file), 8),
                    version = api_version(kDeviceExposurePolicies);
  return {{version, kDeviceExposurePolicies.kind, "", name},
          Json::Object{{"apiVersion", version},
                       {"kind", kDeviceExposurePolicies.kind},
                       {"metadata", Json::Object{{"name", name}}},
                       {"spec", "(" + std::string(why) + ": " + printable(file, 256) + ")"}}};
}

Manifest manifest_of(std::vector<Json> objects, std::string_view default_namespace) {
  ManifestDecoder decoder(default_namespace);
  for (Json& object : objects) decoder.add_document(std::move(object), false);
  return std::move(decoder.out);
}

bool is_manifest_name(std::string_view name) {
  if (name.starts_with('.') || name.starts_with('#') || name.ends_with('~') || name.ends_with('#'))
    return false;
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

Result<std::string> read_manifest(const std::string& path) {
  const reactor::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return io_error(path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return io_error(path, errno);
  if (!S_ISREG(status.st_mode)) return Error{Errc::kInvalid, in_quotes(path) + ": not a regular file"};
  return read_all(file.get(), path, JsonLimits().size_max);
}

}  // namespace sliced::kube
