#include "policy/exposure/decode_policy.h"

#include <algorithm>

#include "policy/exposure/attributes.h"
#include "policy/exposure/decode_exposure.h"
#include "policy/field_reader.h"
#include "policy/prologue.h"
#include "policy/readiness/decode_readiness.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using kube::Json;

// Limits of the kind, equal to config/crd.
constexpr int64_t kExposurePriorityMax = 1000, kExposurePriorityDefault = 100;
constexpr size_t kCelBytesMax = 10 << 10;

const std::initializer_list<std::string_view> kSpecFields = {
    "nodeSelector", "priority",           "selector",       "action", "exposure",
    "allowHostUse", "allowDefaultRoutes", "includeVirtual", "allow",  "readiness"};

// Returns true if an unknown field may have been meant as the action: the policy may then be an exclude,
// independent of the default action.
bool may_be_action(const Json::Member& member) {
  if (std::find(kSpecFields.begin(), kSpecFields.end(), member.first) != kSpecFields.end()) return false;
  const std::string* text = member.second.string();
  const std::string name = lower(member.first);
  // The first comparison decides for nearly all fields.
  return (!nearest(name, {"action"}).empty() && nearest(name, kSpecFields) == "action") ||
         (text != nullptr && !nearest(lower(*text), {name_of(ExposureAction::kExclude)}).empty());
}

ExposureAction read_action(FieldReader& reader, const Json& spec) {
  const Json* value = reader.member("action");
  const std::string text =
      value == nullptr ? std::string(name_of(ExposureAction::kExpose)) : reader.text("action");
  if (text == name_of(ExposureAction::kExclude)) return ExposureAction::kExclude;
  if (text != name_of(ExposureAction::kExpose)) {
    if (value->string() != nullptr)
      reader.problem("action", "is " + in_quotes(text, 64) + ", expected expose or exclude");
    return ExposureAction::kUnknown;
  }
  const bool is_open =
      spec.object() == nullptr || std::any_of(spec.object()->begin(), spec.object()->end(), may_be_action);
  return is_open ? ExposureAction::kUnknown : ExposureAction::kExpose;
}

DeviceSelector read_selector(FieldReader& spec, int line, Problems& problems) {
  if (spec.member("selector") == nullptr) {
    spec.problem("selector", "is missing; expected a map with cel, an expression over device.attributes",
                 line);
    return {};
  }
  FieldReader reader(spec.member("selector"), "spec.selector", problems);
  reader.only({"cel"});
  const Json* value = reader.member("cel");
  DeviceSelector selector{reader.text("cel"), value == nullptr ? 0 : value->line()};
  if (const size_t size = selector.cel.size(); size > kCelBytesMax) {
    reader.problem("cel", "has " + std::to_string(size) + " bytes, at most " + std::to_string(kCelBytesMax) +
                              " are allowed; split the policy");
    selector.cel = {};
  } else if (trim(selector.cel).empty() && (value == nullptr || value->string() != nullptr))
    reader.problem("cel", "is missing; to select every device write \"true\"");
  return selector;
}

}  // namespace

ExposurePolicy decode_exposure_policy(const Json& object, const std::string& driver,
                                      const Result<kube::ObjectMeta>& its_meta) {
  ExposurePolicy policy;
  const kube::ObjectMeta meta = meta_of(its_meta, object, policy.problems);
  policy.id = {meta.name};
  policy.uid = meta.uid;
  policy.generation = meta.generation;
  policy.manager = kube::last_manager(object);
  const bool is_whole = check_members(object, policy.problems);  // otherwise an action may be beside spec
  const Json* spec = spec_of(object, policy.problems);
  if (spec == nullptr) return policy;
  FieldReader reader(spec, "spec", policy.problems);
  reader.only(kSpecFields);
  policy.action = read_action(reader, *spec);
  if (!is_whole && policy.action == ExposureAction::kExpose) policy.action = ExposureAction::kUnknown;
  policy.priority = reader.integer("priority", 0, kExposurePriorityMax, kExposurePriorityDefault);
  policy.host_use = {reader.boolean("allowHostUse", false), decode_allowed_routes(reader)};
  policy.include_virtual = reader.boolean("includeVirtual", false);
  policy.allow = decode_allow(*spec, reader);
  policy.readiness = decode_readiness(reader.member("readiness"), "spec.readiness", policy.problems);
  const size_t before = policy.problems.size();
  policy.node_selector = reader.node_selector("nodeSelector");
  if (policy.problems.size() > before) policy.node_selector = {};
  policy.selector = read_selector(reader, spec->line(), policy.problems);
  if (policy.action != ExposureAction::kExclude)
    policy.exposure = decode_exposure(reader.member("exposure"), policy.id.name, driver, policy.problems);
  else if (reader.member("exposure") != nullptr)
    reader.problem("exposure", "has no effect with action exclude: remove one of them");
  return policy;
}

Problems warnings_of(const ExposurePolicy& policy) {
  Problems out;
  if (!policy.problems.empty()) return out;  // it offers nothing
  for (const KnownAttribute& known : known_attributes())
    if (!known.is_published && policy.selector.cel.find(known.id) != std::string::npos)
      out.push_back({"spec.selector.cel",
                     "asks for " + std::string(known.id) +
                         ", which depends on the link state: devices are added and withdrawn with it",
                     policy.selector.line});
  if (policy.action == ExposureAction::kExclude) {
    if (policy.host_use.is_any) out.push_back({"spec.allowHostUse", "has no effect with action exclude"});
    if (policy.host_use.routes != AllowedRoutes::kNone)
      out.push_back({"spec.allowDefaultRoutes", "has no effect with action exclude"});
    if (policy.allow) out.push_back({"spec.allow", "has no effect with action exclude"});
    if (policy.readiness != Readiness{})
      out.push_back({"spec.readiness", "has no effect with action exclude"});
    if (policy.include_virtual)
      out.push_back(
          {"spec.includeVirtual", "has no effect with action exclude, which takes links of every type"});
    return out;
  }
  const Exposure& exposure = policy.exposure;
  const auto warn_of_shared = [&](const char* field) {
    out.push_back({field, "has no effect: a shared device is offered while the host uses it, too"});
  };
  if (policy.host_use.is_any && exposure.allow_multiple_allocations) warn_of_shared("spec.allowHostUse");
  if (policy.host_use.routes != AllowedRoutes::kNone && exposure.allow_multiple_allocations)
    warn_of_shared("spec.allowDefaultRoutes");
  for (const char* type : {"bond", "bridge"}) {
    const std::string& cel = policy.selector.cel;
    const bool is_named = cel.find('"' + std::string(type) + '"') != std::string::npos ||
                          cel.find('\'' + std::string(type) + '\'') != std::string::npos;
    if (is_named && is_moved(exposure))
      out.push_back({"spec.exposure.supportedCNIPlugins",
                     "has a plugin that moves the interface into the pod: the kernel does not move a " +
                         std::string(type) + ", which is not offered"});
  }
  if (!exposure.name_suffix.empty() && exposure.name_suffix.front() != '-')
    out.push_back({"spec.exposure.deviceNameSuffix",
                   "does not begin with -: the names of devices run into it, as in \"0000-03-00-0" +
                       exposure.name_suffix + "\""});
  return out;
}

std::vector<std::string> exposure_policy_fields() {
  std::vector<std::string> out;
  for (const std::string_view field : kSpecFields) {
    if (field == "selector")
      out.emplace_back("spec.selector.cel");
    else if (field == "exposure")
      for (std::string& path : exposure_fields()) out.push_back(std::move(path));
    else if (field == "readiness")
      for (std::string& path : readiness_fields()) out.push_back(std::move(path));
    else
      out.push_back("spec." + std::string(field));
  }
  return out;
}

}  // namespace sliced::policy
