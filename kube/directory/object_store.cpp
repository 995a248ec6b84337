#include "kube/directory/object_store.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

constexpr size_t kHistoryMax = 1024, kHistoryBytesMax = size_t{4} << 20;
constexpr std::string_view kFieldPaths[] = {"metadata.name", "metadata.namespace", "spec.driver",
                                            "spec.nodeName"};

std::string_view field_value(const Json& object, std::string_view path) {
  const size_t dot = path.find('.');
  const Json* section = object.find(path.substr(0, dot));
  return section == nullptr ? std::string_view() : section->text(path.substr(dot + 1));
}

void erase_member(Json& object, std::string_view key) {
  if (auto* members = object.object())
    std::erase_if(*members, [&](const auto& member) { return member.first == key; });
}

Json* member(Json& object, std::string_view key) {
  return const_cast<Json*>(std::as_const(object).find(key));
}

/// Returns whether everything except metadata is equal, so that the generation stays.
bool same_outside_metadata(const Json& a, const Json& b) {
  Json left = a, right = b;
  erase_member(left, "metadata");
  erase_member(right, "metadata");
  return left == right;
}

bool is_absent(const Json& metadata, std::string_view name) {
  const Json* value = metadata.find(name);
  return value == nullptr || value->is_null();
}

/// Decodes stored text. Content that JSON cannot express (YAML's infinities) becomes an empty object.
Json read_content(const std::string& content) {
  auto object = decode_json(content, {.size_max = SIZE_MAX, .depth_max = 128, .nodes_max = SIZE_MAX});
  return object && object->object() != nullptr ? std::move(*object) : Json(Json::Object{});
}

/// Returns a text in the form of a UUID, the same for equal keys in every process.
std::string stable_uid(const ObjectKey& key) {
  const std::string all = key.api_version + '\n' + key.kind + '\n' + key.namespace_ + '\n' + key.name;
  const std::string digits = hex(stable_hash(all), 16) + hex(stable_hash("uid\n" + all), 16);
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" +
         digits.substr(16, 4) + "-" + digits.substr(20);
}

}  // namespace

Result<std::vector<FieldTerm>> decode_field_selector(std::string_view text) {
  std::vector<FieldTerm> terms;
  if (text.empty()) return terms;
  for (const auto part : split(text, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return Error{Errc::kInvalid, "field selector " + in_quotes(text) + ": expected field=value"};
    FieldTerm term;
    term.negated = equals > 0 && part[equals - 1] == '!';
    term.path = std::string(part.substr(0, equals - (term.negated ? 1 : 0)));
    term.value = std::string(part.substr(part.substr(equals).starts_with("==") ? equals + 2 : equals + 1));
    if (std::find(std::begin(kFieldPaths), std::end(kFieldPaths), term.path) == std::end(kFieldPaths)) {
      return Error{Errc::kInvalid, "field selector " + in_quotes(text) + ": the field " +
                                       in_quotes(term.path) + " is not supported"};
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

bool ObjectFilter::concerns(const ObjectKey& key) const {
  if (key.kind != scope.resource.kind || key.api_version != api_version(scope.resource)) return false;
  const std::string& in = key.namespace_.empty() ? default_namespace : key.namespace_;
  return !scope.resource.namespaced || scope.namespace_.empty() || in == scope.namespace_;
}

bool ObjectFilter::selects(const ObjectKey& key, const Json& object) const {
  if (!concerns(key)) return false;
  const std::string& in = key.namespace_.empty() ? default_namespace : key.namespace_;
  return std::all_of(fields.begin(), fields.end(), [&](const FieldTerm& term) {
    const std::string_view found = term.path == "metadata.namespace" ? in : field_value(object, term.path);
    return (found == term.value) != term.negated;
  });
}

std::string ObjectFilter::present(const ObjectKey& key, const Json& object) const {
  Json out = object;
  Json* metadata = member(out, "metadata");
  if (scope.resource.namespaced) {
    metadata->set("namespace", key.namespace_.empty() ? default_namespace : key.namespace_);
  } else {
    erase_member(*metadata, "namespace");
  }
  if (!scope.metadata_only) return encode_json(out);
  return encode_json(Json::Object{{"apiVersion", "meta.k8s.io/v1"},
                                  {"kind", "PartialObjectMetadata"},
                                  {"metadata", std::move(*metadata)}});
}

ContentPtr content_of(Json object) {
  if (Json* metadata = member(object, "metadata")) erase_member(*metadata, "resourceVersion");
  return std::make_shared<const std::string>(encode_json(object));
}

Json StoredObject::served() const {
  Json out = read_content(*content);
  Json metadata = out.find("metadata") == nullptr ? Json() : *out.find("metadata");
  if (is_absent(metadata, "uid")) metadata.set("uid", uid);
  if (is_absent(metadata, "generation")) metadata.set("generation", generation);
  metadata.set("resourceVersion", std::to_string(version));
  out.set("metadata", std::move(metadata));
  return out;
}

StoredObject ObjectStore::next(const ObjectKey& key, ContentPtr content) const {
  StoredObject out{std::move(content), stable_uid(key), 1, version_ + 1};
  const auto at = objects_.find(key);
  if (at == objects_.end()) return out;
  const Json served = at->second->served();
  const Json* known = served.find({"metadata", "generation"});
  out.generation = known != nullptr && known->integer() != nullptr ? *known->integer() : 0;
  if (!same_outside_metadata(read_content(*at->second->content), read_content(*out.content)))
    ++out.generation;
  return out;
}

bool ObjectStore::put(const ObjectKey& key, const ContentPtr& content) {
  const auto at = objects_.find(key);
  if (at != objects_.end() && *at->second->content == *content) return false;
  StoredPtr before = at == objects_.end() ? nullptr : at->second;
  auto after = std::make_shared<const StoredObject>(next(key, content));
  objects_[key] = after;
  record(key, std::move(before), std::move(after));
  return true;
}

bool ObjectStore::remove(const ObjectKey& key) {
  const auto at = objects_.find(key);
  if (at == objects_.end()) return false;
  StoredPtr before = std::move(at->second);
  objects_.erase(at);
  record(key, std::move(before), nullptr);
  return true;
}

void ObjectStore::record(const ObjectKey& key, StoredPtr before, StoredPtr after) {
  const auto bytes = [](const ObjectChange& change) {
    return change.before == nullptr ? 0 : change.before->content->size();
  };
  history_.push_back({++version_, key, std::move(before), std::move(after)});
  history_bytes_ += bytes(history_.back());
  while (history_.size() > kHistoryMax || (history_bytes_ > kHistoryBytesMax && history_.size() > 1)) {
    oldest_ = history_.front().version;
    history_bytes_ -= bytes(history_.front());
    history_.pop_front();
  }
}

ObjectPtr ObjectStore::find(const ObjectKey& key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : std::make_shared<const Json>(at->second->served());
}

Json ObjectStore::preview(const ObjectKey& key, Json content) const {
  return next(key, content_of(std::move(content))).served();
}

std::vector<std::pair<ObjectKey, StoredPtr>> ObjectStore::concerned(const ObjectFilter& filter) const {
  std::vector<std::pair<ObjectKey, StoredPtr>> out;
  for (const auto& [key, stored] : objects_)
    if (filter.concerns(key)) out.emplace_back(key, stored);
  return out;
}

const ObjectChange* ObjectStore::change_after(uint64_t version) const {
  const auto at =
      std::upper_bound(history_.begin(), history_.end(), version,
                       [](uint64_t from, const ObjectChange& change) { return from < change.version; });
  return at == history_.end() ? nullptr : &*at;
}

void ObjectStore::forget_history() {
  history_.clear();
  history_bytes_ = 0;
  oldest_ = ++version_;
}

}  // namespace sliced::kube
