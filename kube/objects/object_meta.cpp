#include "kube/objects/object_meta.h"

#include <algorithm>

#include "kube/objects/api_time.h"
#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

Error wrong_kind(std::string_view field, std::string_view expected, const Json& found) {
  return {Errc::kInvalid, std::string(field) + ": must be a " + std::string(expected) + ", not " +
                              std::string(found.kind_name())};
}

/// Reads an optional string member of metadata; null counts as absent.
Result<Unit> read_text(const Json& metadata, std::string_view key, std::string& out) {
  const Json* value = metadata.find(key);
  if (value == nullptr || value->is_null()) return Unit{};
  if (value->string() == nullptr) return wrong_kind("metadata." + std::string(key), "string", *value);
  out = *value->string();
  return Unit{};
}

// Returns 20261122053352 for "2026-11-22T05:33:52Z"; 0 for a text without digits.
int64_t number_of_timestamp(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, 20))
    if (c >= '0' && c <= '9') digits += c;
  return parse_int(digits).value_or(0);
}

Result<Unit> read_map(const Json& metadata, std::string_view key, std::map<std::string, std::string>& out) {
  const Json* value = metadata.find(key);
  if (value == nullptr || value->is_null()) return Unit{};
  const std::string field = "metadata." + std::string(key);
  if (value->object() == nullptr) return wrong_kind(field, "map", *value);
  for (const auto& [name, text] : *value->object()) {
    if (text.string() == nullptr && !text.is_null())
      return wrong_kind(field + "[" + escaped(name) + "]", "string", text);
    out.emplace(name, text.is_null() ? std::string() : *text.string());
  }
  return Unit{};
}

Result<Unit> read_owners(const Json& metadata, std::vector<OwnerReference>& out) {
  const Json* value = metadata.find("ownerReferences");
  if (value == nullptr || value->is_null()) return Unit{};
  if (value->array() == nullptr) return wrong_kind("metadata.ownerReferences", "list", *value);
  for (const auto& item : *value->array()) {
    if (item.object() == nullptr) return wrong_kind("metadata.ownerReferences[]", "map", item);
    const Json* controller = item.find("controller");
    const bool* controls = controller == nullptr ? nullptr : controller->boolean();
    const Json* block = item.find("blockOwnerDeletion");
    const bool* blocks = block == nullptr ? nullptr : block->boolean();
    out.push_back({std::string(item.text("apiVersion")), std::string(item.text("kind")),
                   std::string(item.text("name")), std::string(item.text("uid")),
                   controls != nullptr && *controls,
                   blocks == nullptr ? std::nullopt : std::optional(*blocks)});
  }
  return Unit{};
}

Result<Unit> read_finalizers(const Json& metadata, std::vector<std::string>& out) {
  const Json* value = metadata.find("finalizers");
  if (value == nullptr || value->is_null()) return Unit{};
  if (value->array() == nullptr) return wrong_kind("metadata.finalizers", "list", *value);
  for (const auto& item : *value->array()) {
    if (item.string() == nullptr) return wrong_kind("metadata.finalizers[]", "string", item);
    out.push_back(*item.string());
  }
  return Unit{};
}

Json encode_map(const std::map<std::string, std::string>& map) {
  Json::Object members;
  for (const auto& [key, value] : map) members.emplace_back(key, value);
  return members;
}

}  // namespace

std::string last_manager(const Json& object) {
  constexpr size_t kManagerBytesMax = 128;
  const Json* all = object.find({"metadata", "managedFields"});
  if (all == nullptr || all->array() == nullptr) return {};
  std::string_view name, when;
  for (const Json& one : *all->array()) {
    if (one.object() == nullptr || !one.text("subresource").empty()) continue;
    // Compared as text, because all are UTC in one format.
    if (const std::string_view time = one.text("time"); name.empty() || time >= when)
      name = one.text("manager"), when = time;
  }
  return std::string(name.substr(0, kManagerBytesMax));
}

int64_t last_edited(const Json& object) {
  const Json* all = object.find({"metadata", "managedFields"});
  if (all == nullptr || all->array() == nullptr) return 0;
  int64_t out = 0;
  for (const Json& one : *all->array())
    if (one.object() != nullptr && one.text("subresource").empty())
      out = std::max(out, decode_api_time(one.text("time")).value_or(0));
  return out;
}

std::optional<int64_t> status_written_at(const Json& object, std::string_view field) {
  const Json* all = object.find({"metadata", "managedFields"});
  if (all == nullptr || all->array() == nullptr) return std::nullopt;
  std::optional<int64_t> newest;
  for (const Json& one : *all->array()) {
    if (one.object() == nullptr || one.text("subresource") != "status") continue;
    const std::string member = "f:" + std::string(field);
    if (one.find({"fieldsV1", "f:status", std::string_view(member)}) == nullptr) continue;
    const auto at = decode_api_time(one.text("time"));
    if (at && (!newest || *at > *newest)) newest = at;
  }
  return newest;
}

Result<ObjectMeta> decode_object_meta(const Json& object) {
  const Json* metadata = object.find("metadata");
  if (metadata == nullptr) return Error{Errc::kInvalid, "metadata: is missing"};
  if (metadata->object() == nullptr) return wrong_kind("metadata", "map", *metadata);
  ObjectMeta meta;
  for (const auto& [key, out] : {std::pair<std::string_view, std::string*>{"name", &meta.name},
                                 {"generateName", &meta.generate_name},
                                 {"namespace", &meta.namespace_},
                                 {"uid", &meta.uid},
                                 {"resourceVersion", &meta.resource_version}}) {
    if (auto read = read_text(*metadata, key, *out); !read.ok()) return read.error();
  }
  if (meta.name.empty()) return Error{Errc::kInvalid, "metadata.name: is missing"};
  if (const Json* generation = metadata->find("generation");
      generation != nullptr && !generation->is_null()) {
    if (generation->integer() == nullptr)
      return wrong_kind("metadata.generation", "whole number", *generation);
    meta.generation = *generation->integer();
  }
  meta.created_at = number_of_timestamp(metadata->text("creationTimestamp"));
  if (auto read = read_map(*metadata, "labels", meta.labels); !read.ok()) return read.error();
  if (auto read = read_map(*metadata, "annotations", meta.annotations); !read.ok()) return read.error();
  if (auto read = read_owners(*metadata, meta.owner_references); !read.ok()) return read.error();
  if (auto read = read_finalizers(*metadata, meta.finalizers); !read.ok()) return read.error();
  const Json* deletion = metadata->find("deletionTimestamp");
  meta.being_deleted = deletion != nullptr && !deletion->is_null();
  return meta;
}

Json encode_object_meta(const ObjectMeta& meta) {
  Json out = Json::Object();
  const auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) out.set(key, value);
  };
  text("name", meta.name);
  text("generateName", meta.generate_name);
  text("namespace", meta.namespace_);
  text("uid", meta.uid);
  text("resourceVersion", meta.resource_version);
  if (meta.generation != 0) out.set("generation", meta.generation);
  if (!meta.labels.empty()) out.set("labels", encode_map(meta.labels));
  if (!meta.annotations.empty()) out.set("annotations", encode_map(meta.annotations));
  if (!meta.finalizers.empty()) {
    Json::Array finalizers;
    for (const std::string& finalizer : meta.finalizers) finalizers.emplace_back(finalizer);
    out.set("finalizers", std::move(finalizers));
  }
  if (meta.owner_references.empty()) return out;
  Json::Array owners;
  for (const auto& owner : meta.owner_references) {
    Json value = Json::Object{
        {"apiVersion", owner.api_version}, {"kind", owner.kind}, {"name", owner.name}, {"uid", owner.uid}};
    if (owner.controller) value.set("controller", true);
    if (owner.block_owner_deletion) value.set("blockOwnerDeletion", *owner.block_owner_deletion);
    owners.push_back(std::move(value));
  }
  out.set("ownerReferences", std::move(owners));
  return out;
}

std::string describe_object(const Json& object) {
  const auto api_version = object.text("apiVersion"), kind = object.text("kind");
  const Json* metadata = object.find("metadata");
  const auto namespace_ = metadata == nullptr ? std::string_view() : metadata->text("namespace");
  const auto name = metadata == nullptr ? std::string_view() : metadata->text("name");
  std::string out = api_version.empty() ? "" : escaped(api_version) + " ";
  out += kind.empty() ? "object" : escaped(kind);
  out += ' ';
  if (!namespace_.empty()) out += escaped(namespace_) + "/";
  return out + (name.empty() ? "without a name" : escaped(name));
}

}  // namespace sliced::kube
