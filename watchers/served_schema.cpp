#include "watchers/served_schema.h"

#include <algorithm>
#include <utility>

#include "kube/objects/json.h"
#include "reactor/base/text.h"

namespace sliced::watchers {
namespace {

using kube::Json;

constexpr int kReferencesMax = 16;  // nesting of $ref and allOf; a schema may refer to itself
constexpr kube::JsonLimits kLimits{.size_max = 16u << 20, .depth_max = 128, .nodes_max = 2'000'000};

struct Step {
  std::string_view key;
  size_t lists = 0;  // "[]" behind the key
};

std::vector<Step> steps_of(std::string_view path) {
  std::vector<Step> steps;
  for (std::string_view part : split(path, '.')) {
    Step step{part, 0};
    for (; step.key.ends_with("[]"); ++step.lists) step.key.remove_suffix(2);
    steps.push_back(step);
  }
  return steps;
}

class Schemas {
 public:
  explicit Schemas(const Json& document) : all_(document.find({"components", "schemas"})) {}

  const Json* of_kind(const kube::Resource& kind) const {
    if (all_ == nullptr || all_->object() == nullptr) return nullptr;
    for (const auto& [name, schema] : *all_->object()) {
      const Json* names = schema.find("x-kubernetes-group-version-kind");
      if (names == nullptr || names->array() == nullptr) continue;
      for (const Json& one : *names->array())
        if (one.text("group") == kind.group && one.text("version") == kind.version &&
            one.text("kind") == kind.kind)
          return &schema;
    }
    return nullptr;
  }

  bool keeps(const Json& schema, const std::vector<Step>& steps, size_t at, int references = 0) const {
    if (at == steps.size()) return true;
    if (references > kReferencesMax) return false;
    for (const Json* alternative : alternatives(schema))
      if (alternative != nullptr && keeps(*alternative, steps, at, references + 1)) return true;
    return keeps_at(schema, steps, at, references);
  }

 private:
  /// Returns the target of $ref, and the parts of allOf.
  std::vector<const Json*> alternatives(const Json& schema) const {
    std::vector<const Json*> found;
    constexpr std::string_view kPrefix = "#/components/schemas/";
    if (const std::string_view target = schema.text("$ref"); target.starts_with(kPrefix) && all_ != nullptr)
      found.push_back(all_->find(target.substr(kPrefix.size())));
    if (const Json* parts = schema.find("allOf"); parts != nullptr && parts->array() != nullptr)
      for (const Json& part : *parts->array()) found.push_back(&part);
    return found;
  }

  bool keeps_at(const Json& schema, const std::vector<Step>& steps, size_t at, int references) const {
    const Step& step = steps[at];
    const Json* next = schema.find({"properties", step.key});
    if (next == nullptr) {
      const Json* others = schema.find("additionalProperties");
      if (others == nullptr) return preserves_unknown(schema);
      if (others->boolean() != nullptr) return *others->boolean() || preserves_unknown(schema);
      next = others;
    }
    for (size_t list = 0; list < step.lists; ++list) {
      const Json* items = next->find("items");
      if (items == nullptr) return preserves_unknown(*next);
      next = items;
    }
    return keeps(*next, steps, at + 1, references);
  }

  static bool preserves_unknown(const Json& schema) {
    const Json* flag = schema.find("x-kubernetes-preserve-unknown-fields");
    return flag != nullptr && flag->boolean() != nullptr && *flag->boolean();
  }

  const Json* all_;
};

}  // namespace

Result<std::vector<std::string>> fields_dropped_by_schema(std::string_view openapi,
                                                          const kube::Resource& kind,
                                                          const std::vector<std::string>& paths) {
  std::vector<std::string> dropped;
  if (openapi.empty()) return dropped;
  Result<Json> document = kube::decode_json(openapi, kLimits);
  if (!document.ok())
    return std::move(document.error()).in("OpenAPI document of " + kind.group + "/" + kind.version);
  const Schemas schemas(*document);
  const Json* schema = schemas.of_kind(kind);
  if (schema == nullptr)
    return Error{Errc::kNotFound,
                 "OpenAPI document of " + kind.group + "/" + kind.version + ": no schema of " + kind.kind};
  for (const std::string& path : paths)
    if (!schemas.keeps(*schema, steps_of(path), 0)) dropped.push_back(path);
  return dropped;
}

std::string remedy_for_dropped(const std::vector<std::string>& dropped) {
  std::string out = "install the CRD of this version";
  const auto drops = [&](std::string_view prefix) {
    return std::any_of(dropped.begin(), dropped.end(),
                       [&](const std::string& field) { return field.starts_with(prefix); });
  };
  if (drops("spec.allow") || drops("spec.readiness")) out += "; until then set";
  if (drops("spec.allow")) out += " --vf-settings none in place of spec.allow";
  if (drops("spec.allow") && drops("spec.readiness")) out += " and";
  if (drops("spec.readiness")) out += " --readiness in place of spec.readiness";
  return out;
}

}  // namespace sliced::watchers
