#include "controller/webhook/judgement.h"

#include <utility>

#include "controller/webhook/claim_judgement.h"
#include "controller/webhook/class_judgement.h"
#include "controller/webhook/network_judgement.h"
#include "kube/objects/kinds.h"
#include "kube/objects/object_meta.h"
#include "policy/exposure/decode_policy.h"
#include "policy/exposure/policy.h"
#include "policy/exposure/programs.h"
#include "policy/prologue.h"
#include "policy/sriov/policy.h"
#include "reactor/base/text.h"

namespace sliced::webhook {
namespace {

using kube::Json;

constexpr std::string_view kClaimGroup = "resource.k8s.io/";
constexpr std::string_view kFilterKind = "SriovResourceFilter";
constexpr std::string_view kTemplateKind = "ResourceClaimTemplate";

Judgement about(std::string who, const Json& object) {
  return {.who = std::move(who), .line = object.line()};
}

Judgement judge_sriov(const Json& object) {
  const policy::SriovPolicy policy = policy::decode_sriov_policy(object);
  Judgement out = about("SriovResourcePolicy " + escaped(policy.id.name), object);
  out.errors = problems_of(policy);
  out.warnings = warnings_of(policy);
  return out;
}

Judgement judge_attributes(const Json& object, const Drivers& drivers) {
  policy::DeviceAttributes attributes = policy::decode_device_attributes(object, drivers.sriov);
  Judgement out = about("DeviceAttributes " + escaped(attributes.id.name), object);
  out.errors = std::move(attributes.problems);
  return out;
}

// Adds the cost of the selector, with a warning near the limit.
void add_cost(const cel::Program& program, const policy::ExposurePolicy& policy, const Drivers& drivers,
              Judgement& out) {
  const policy::MaxCost its = policy::static_cost(program, drivers.exposure);
  out.selector_work += its.work;
  out.dearest = its;
  if (its.is_near())
    out.warnings.push_back({"spec.selector.cel",
                            "costs " + its.text() + ", compiling it " + std::to_string(its.compile_steps) +
                                " of " + std::to_string(cel::kCompileStepsMax) + ": " +
                                std::string(policy::kNearLimit),
                            policy.selector.line});
}

Judgement judge_exposure(const Json& object, const Drivers& drivers, bool may_work) {
  policy::ExposurePolicy policy = policy::decode_exposure_policy(object, drivers.exposure);
  Judgement out = about("DeviceExposurePolicy " + escaped(policy.id.name), object);
  policy::CompiledSelector compiled;
  if (may_work)
    compiled = policy::check_selector(policy, drivers.exposure);
  else
    out.is_selector_unchecked = true;
  out.selector_work = compiled.steps;
  out.warnings = warnings_of(policy);
  if (compiled.program != nullptr) add_cost(*compiled.program, policy, drivers, out);
  out.errors = std::move(policy.problems);
  return out;
}

// Adds the API server's own errors for names. Policies check theirs themselves (policy/prologue.h).
std::optional<Judgement> with_name(std::optional<Judgement> judged, const Json& object) {
  if (judged) policy::check_names(object, judged->errors);
  return judged;
}

// Returns the resource of a policy kind, with its group.
const kube::Resource* resource_of(std::string_view kind) {
  for (const kube::Resource* one :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies})
    if (one->kind == kind) return one;
  return nullptr;
}

// The API server stores such an object, and no daemon reads it.
void check_namespace(const Json& object, const Drivers& drivers, const std::string& namespace_,
                     Judgement& out) {
  const Json* meta = object.find("metadata");
  std::string home = meta == nullptr ? "" : std::string(meta->text("namespace"));
  if (home.empty()) home = namespace_;
  if (drivers.policies.empty() || home.empty() || home == drivers.policies) return;
  out.warnings.push_back({"metadata.namespace", "is " + in_quotes(home, 64) +
                                                    ", and the daemons use policies of namespace " +
                                                    in_quotes(drivers.policies, 64) +
                                                    " only (--namespace): this object has no effect there"});
}

Judgement not_read(std::string who, const Json& object, std::string field, std::string what) {
  Judgement out = about(std::move(who), object);
  out.is_read = false;
  out.errors.push_back({std::move(field), std::move(what)});
  return out;
}

}  // namespace

std::optional<Judgement> judge(const kube::Json& object, const Drivers& drivers,
                               const std::string& namespace_, bool may_work, uint64_t claim_steps_max) {
  const std::string_view kind = object.text("kind"), group = object.text("apiVersion");
  if (const kube::Resource* resource = resource_of(kind)) {
    if (group != kube::api_version(*resource))
      return not_read(std::string(kind), object, "apiVersion",
                      "is " + in_quotes(group) + ", expected " + kube::api_version(*resource));
    if (resource == &kube::kDeviceExposurePolicies) return judge_exposure(object, drivers, may_work);
    Judgement out =
        resource == &kube::kSriovResourcePolicies ? judge_sriov(object) : judge_attributes(object, drivers);
    check_namespace(object, drivers, namespace_, out);
    return out;
  }
  if (kind.empty() || group.empty())
    return not_read("", object, "", "is not a Kubernetes object: apiVersion or kind is missing");
  if (group.starts_with(kClaimGroup) && (kind == kube::kResourceClaims.kind || kind == kTemplateKind))
    return with_name(judge_claim(object, kind, drivers, namespace_, may_work ? claim_steps_max : 0), object);
  if (group.starts_with(kClaimGroup) && kind == kube::kDeviceClasses.kind)
    return with_name(judge_class(object, drivers, may_work), object);
  if (kind == kube::kNetworkAttachmentDefinitions.kind &&
      group.starts_with(kube::kNetworkAttachmentDefinitions.group + "/"))
    return with_name(judge_network(object, namespace_), object);
  if (kind == kFilterKind && group.starts_with("sriovnetwork."))
    return not_read(
        "", object, "kind",
        "is " + in_quotes(kind) +
            ", of the first versions of dra-driver-sriov, which sliced does not read: kubectl sliced migrate FILE "
            "prints a SriovResourcePolicy for it");
  const std::string near = nearest(kind, {kube::kSriovResourcePolicies.kind, kube::kDeviceAttributes.kind,
                                          kube::kDeviceExposurePolicies.kind});
  if (near.empty()) return std::nullopt;
  return not_read("", object, "kind", "is " + in_quotes(kind) + "; did you mean " + near + "?");
}

std::string text_of(const Judgement& judgement, const policy::Problem& problem) {
  return (judgement.who.empty() ? "" : judgement.who + ": ") +
         (problem.field.empty() ? "" : problem.field + " ") + problem.what;
}

}  // namespace sliced::webhook
