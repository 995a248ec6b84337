#include "kube/object_store.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::kube {

namespace {

constexpr size_t kHistoryMax = 1024;
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

/// Everything but metadata equal: the generation stays.
bool same_outside_metadata(const Json& a, const Json& b) {
  Json left = a, right = b;
  erase_member(left, "metadata");
  erase_member(right, "metadata");
  return left == right;
}

/// A text in the shape of a UUID, the same for the same key everywhere.
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
      return Error{Errc::kInvalid, "field selector " + in_quotes(text) + ": want field=value"};
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

bool ObjectFilter::selects(const ObjectKey& key, const Json& object) const {
  if (key.kind != scope.resource.kind || key.api_version != api_version(scope.resource)) return false;
  const std::string& in = key.namespace_.empty() ? default_namespace : key.namespace_;
  if (scope.resource.namespaced && !scope.namespace_.empty() && in != scope.namespace_) return false;
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

Json ObjectStore::dress(const ObjectKey& key, Json content, uint64_t version) const {
  const auto at = objects_.find(key);
  Json* metadata = member(content, "metadata");
  const auto absent = [&](std::string_view name) {
    const Json* value = metadata->find(name);
    return value == nullptr || value->is_null();
  };
  if (absent("uid")) metadata->set("uid", stable_uid(key));
  if (absent("generation")) {
    int64_t generation = 1;
    if (at != objects_.end()) {
      const Json* known = at->second.served->find({"metadata", "generation"});
      generation = known != nullptr && known->integer() != nullptr ? *known->integer() : 0;
      if (!same_outside_metadata(at->second.content, content)) ++generation;
    }
    metadata->set("generation", generation);
  }
  metadata->set("resourceVersion", std::to_string(version));
  return content;
}

bool ObjectStore::put(const ObjectKey& key, Json content) {
  erase_member(*member(content, "metadata"), "resourceVersion");
  const auto at = objects_.find(key);
  if (at != objects_.end() && at->second.content == content) return false;
  const ObjectPtr before = at == objects_.end() ? nullptr : at->second.served;
  auto after = std::make_shared<const Json>(dress(key, content, version_ + 1));
  objects_[key] = {std::move(content), after};
  record(key, before, std::move(after));
  return true;
}

bool ObjectStore::remove(const ObjectKey& key) {
  const auto at = objects_.find(key);
  if (at == objects_.end()) return false;
  const ObjectPtr before = at->second.served;
  objects_.erase(at);
  record(key, before, nullptr);
  return true;
}

void ObjectStore::record(const ObjectKey& key, ObjectPtr before, ObjectPtr after) {
  history_.push_back({++version_, key, std::move(before), std::move(after)});
  if (history_.size() <= kHistoryMax) return;
  oldest_ = history_.front().version;
  history_.pop_front();
}

ObjectPtr ObjectStore::find(const ObjectKey& key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : at->second.served;
}

Json ObjectStore::preview(const ObjectKey& key, Json content) const {
  erase_member(*member(content, "metadata"), "resourceVersion");
  return dress(key, std::move(content), version_ + 1);
}

std::vector<std::pair<ObjectKey, ObjectPtr>> ObjectStore::select(const ObjectFilter& filter) const {
  std::vector<std::pair<ObjectKey, ObjectPtr>> out;
  for (const auto& [key, entry] : objects_) {
    if (filter.selects(key, *entry.served)) out.emplace_back(key, entry.served);
  }
  return out;
}

const ObjectChange* ObjectStore::change_after(uint64_t version) const {
  const auto at =
      std::upper_bound(history_.begin(), history_.end(), version,
                       [](uint64_t wanted, const ObjectChange& change) { return wanted < change.version; });
  return at == history_.end() ? nullptr : &*at;
}

void ObjectStore::forget_history() {
  history_.clear();
  oldest_ = ++version_;
}

}  // namespace sliced::kube
