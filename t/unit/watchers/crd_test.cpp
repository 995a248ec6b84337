// The CRDs of config/crd as the server will serve them: what they name, and that they keep what they do not
// name.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "kube/objects/kinds.h"
#include "kube/objects/yaml.h"
#include "policy/exposure/decode_policy.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"
#include "watchers/served_schema.h"

namespace sliced::watchers {
namespace {

using kube::Json;

std::string source(const std::string& path) {
  std::ifstream file(std::string(SLICED_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json load_crd(const std::string& name) {
  kube::YamlDocuments yaml = kube::decode_yaml(source("config/crd/" + name));
  EXPECT_TRUE(yaml.problems.empty()) << yaml.problems.front().what;
  EXPECT_EQ(yaml.documents.size(), 1u) << name;
  return yaml.documents.empty() ? Json() : yaml.documents.front();
}

const Json& version_of(const Json& crd) { return crd.find({"spec", "versions"})->array()->front(); }

/// The OpenAPI document that the API server makes of a CRD.
std::string served(const Json& crd, const kube::Resource& kind, bool preserve_unknown) {
  Json schema = *version_of(crd).find({"schema", "openAPIV3Schema"});
  std::function<void(Json&)> strip = [&](Json& value) {
    if (Json::Array* items = value.array())
      for (Json& item : *items) strip(item);
    if (Json::Object* members = value.object()) {
      std::erase_if(*members, [](const auto& member) {
        return member.first == "x-kubernetes-preserve-unknown-fields";
      });
      for (auto& [key, member] : *members) strip(member);
    }
  };
  if (!preserve_unknown) strip(schema);
  Json name{
      Json::Object{{"group", Json(kind.group)}, {"version", Json(kind.version)}, {"kind", Json(kind.kind)}}};
  schema.set("x-kubernetes-group-version-kind", Json(Json::Array{name}));
  Json schemas, components, document;
  schemas.set("x", schema);
  components.set("schemas", schemas);
  document.set("components", components);
  return kube::encode_json(document);
}

std::vector<std::string> dropped(const Json& crd, const kube::Resource& kind, bool preserve_unknown,
                                 const std::vector<std::string>& paths) {
  auto result = fields_dropped_by_schema(served(crd, kind, preserve_unknown), kind, paths);
  EXPECT_TRUE(result) << result.error().what;
  return result.ok() ? *result : std::vector<std::string>{"error"};
}

const std::string kFilter = "spec.configs[].resourceFilters[].";

TEST(Crd, NamesEveryFieldOfASriovResourcePolicy) {
  EXPECT_EQ(dropped(load_crd("sriovresourcepolicies.yaml"), kube::kSriovResourcePolicies,
                    /*preserve_unknown=*/false, policy::sriov_policy_fields()),
            std::vector<std::string>{});
}

TEST(Crd, NamesEveryFieldOfAnExposure) {
  EXPECT_EQ(dropped(load_crd("deviceexposurepolicies.yaml"), kube::kDeviceExposurePolicies,
                    /*preserve_unknown=*/false, policy::exposure_policy_fields()),
            std::vector<std::string>{});
}

// Returns the names directly below a path: "exposure" of "spec.exposure.capacity", below "spec.".
std::set<std::string> fields_below(const std::vector<std::string>& paths, const std::string& parent) {
  std::set<std::string> out;
  for (const std::string& path : paths)
    if (path.starts_with(parent))
      out.insert(path.substr(parent.size(), path.find_first_of(".[", parent.size()) - parent.size()));
  return out;
}

// Returns the names in quotes of a list in CEL: "['vendors', 'devices']".
std::set<std::string> names_in(std::string_view list) {
  std::set<std::string> out;
  const auto parts = split(list, '\'');
  for (size_t i = 1; i < parts.size(); i += 2) out.emplace(parts[i]);
  return out;
}

// Red when a new field of a policy is not in refuse-unknown-fields.yaml, which then refuses it, or has no row in
// docs/policy-reference.md.
TEST(Crd, TheAdmissionPolicyAndTheReferenceNameEveryField) {
  const std::vector<std::string> sriov = policy::sriov_policy_fields();
  const std::vector<std::string> exposure = policy::exposure_policy_fields();
  const struct {
    const kube::Resource& kind;
    const char* variable;
    const std::vector<std::string>& paths;
    std::string parent;
  } rows[] = {
      {kube::kSriovResourcePolicies, "specFields", sriov, "spec."},
      {kube::kSriovResourcePolicies, "configFields", sriov, "spec.configs[]."},
      {kube::kSriovResourcePolicies, "filterFields", sriov, kFilter},
      {kube::kSriovResourcePolicies, "readinessFields", sriov, "spec.readiness."},
      {kube::kDeviceExposurePolicies, "specFields", exposure, "spec."},
      {kube::kDeviceExposurePolicies, "exposureFields", exposure, "spec.exposure."},
      {kube::kDeviceExposurePolicies, "pluginFields", exposure, "spec.exposure.supportedCNIPlugins[]."},
      {kube::kDeviceExposurePolicies, "readinessFields", exposure, "spec.readiness."},
  };
  const kube::YamlDocuments admission = kube::decode_yaml(source("config/crd/refuse-unknown-fields.yaml"));
  const std::string reference = source("docs/policy-reference.md");
  for (const auto& row : rows) {
    std::set<std::string> named;
    for (const Json& document : admission.documents) {
      const Json* variables = document.find({"spec", "variables"});
      if (variables == nullptr ||
          document.find("metadata")->text("name") != row.kind.plural + "." + row.kind.group)
        continue;
      for (const Json& variable : *variables->array())
        if (variable.text("name") == row.variable) named = names_in(variable.text("expression"));
    }
    EXPECT_EQ(named, fields_below(row.paths, row.parent)) << row.kind.plural << " " << row.variable;
    for (const std::string& field : named) {
      const bool is_explained = reference.find('`' + field + '`') != std::string::npos ||
                                reference.find('`' + field + '.') != std::string::npos ||
                                reference.find(field + ": ") != std::string::npos;
      EXPECT_TRUE(is_explained) << row.parent << field;
    }
  }
}

TEST(Crd, PreservesATypoThatWouldWiden) {
  const std::vector<std::string> typos{"spec.nodeSelectr",
                                       "spec.nodeSelector.matchLabel.x",
                                       "spec.readiness.requires",
                                       "spec.configs[].resourceFilter",
                                       kFilter + "vendor",
                                       kFilter + "pfName",
                                       "spec.configs[].deviceAttributesSelector.matchLabel"};
  EXPECT_EQ(dropped(load_crd("sriovresourcepolicies.yaml"), kube::kSriovResourcePolicies, true, typos),
            std::vector<std::string>{});
  EXPECT_EQ(
      dropped(load_crd("deviceattributes.yaml"), kube::kDeviceAttributes, true, {"spec.attributes.x.strng"}),
      std::vector<std::string>{});
  const std::vector<std::string> exposure_typos{"spec.actoin",
                                                "spec.nodeSelector.matchLabel.x",
                                                "spec.selector.cell",
                                                "spec.readiness.mtu",
                                                "spec.exposure.allowMultipleAllocation",
                                                "spec.exposure.capacity.x.requestPolcy",
                                                "spec.exposure.capacity.x.requestPolicy.validRang",
                                                "spec.exposure.capacity.x.requestPolicy.validRange.maximum",
                                                "spec.exposure.supportedCNIPlugins[].exclusiv",
                                                "spec.exposure.additionalAttributes.x.strng"};
  EXPECT_EQ(
      dropped(load_crd("deviceexposurepolicies.yaml"), kube::kDeviceExposurePolicies, true, exposure_typos),
      std::vector<std::string>{});
}

/// Everything that lacks a bound or a description, by path.
void find_careless(const Json& schema, const std::string& path, std::vector<std::string>& found) {
  const std::string type(schema.text("type"));
  const auto lacks = [&](const char* key) { return schema.find(key) == nullptr; };
  if (type == "array" && lacks("maxItems")) found.push_back(path + ": maxItems");
  if (type == "string" && lacks("maxLength")) found.push_back(path + ": maxLength");
  const bool open = !lacks("additionalProperties") || !lacks("x-kubernetes-preserve-unknown-fields");
  if (type == "object" && open && lacks("maxProperties")) found.push_back(path + ": maxProperties");
  if (const Json* properties = schema.find("properties"))
    for (const auto& [key, member] : *properties->object()) {
      if (key != "metadata" && member.text("description").empty())
        found.push_back(path + "." + key + ": description");
      find_careless(member, path + "." + key, found);
    }
  for (const char* inner : {"items", "additionalProperties"})
    if (const Json* next = schema.find(inner)) find_careless(*next, path + "[]", found);
}

TEST(Crd, EveryListMapAndTextIsBoundedAndEveryFieldDescribed) {
  for (const char* name :
       {"sriovresourcepolicies.yaml", "deviceattributes.yaml", "deviceexposurepolicies.yaml"}) {
    std::vector<std::string> found;
    find_careless(*version_of(load_crd(name)).find({"schema", "openAPIV3Schema"}), name, found);
    EXPECT_EQ(found, std::vector<std::string>{});
  }
}

TEST(Crd, DefinesTheWatchedKind) {
  for (const auto& kind :
       {kube::kSriovResourcePolicies, kube::kDeviceAttributes, kube::kDeviceExposurePolicies}) {
    const Json crd = load_crd(kind.plural + ".yaml");
    EXPECT_EQ(crd.find("metadata")->text("name"), kind.plural + "." + kind.group);
    EXPECT_EQ(crd.find("spec")->text("group"), kind.group);
    EXPECT_EQ(crd.find({"spec", "names"})->text("kind"), kind.kind);
    EXPECT_EQ(crd.find({"spec", "names"})->text("plural"), kind.plural);
    EXPECT_EQ(crd.find("spec")->text("scope") == "Namespaced", kind.namespaced);
    EXPECT_EQ(version_of(crd).text("name"), kind.version);
  }
}

}  // namespace
}  // namespace sliced::watchers
