#include "kubectl/fleet/fleet_policies.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>

#include "kube/directory/manifest.h"
#include "kube/objects/kinds.h"
#include "policy/decide.h"
#include "policy/exposure/attributes.h"
#include "policy/exposure/decode_policy.h"
#include "policy/identity.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

using policy::Outcome;
using reports::PolicyRef;

PolicyRef ref_of(const policy::SriovPolicy& policy) {
  return {kube::kSriovResourcePolicies.kind, policy.id.namespace_, policy.id.name};
}
PolicyRef ref_of(const policy::ExposurePolicy& policy) {
  return {kube::kDeviceExposurePolicies.kind, "", policy.id.name};
}

bool selects(const kube::NodeSelector& selector, const kube::NodeView& node) {
  return kube::match_node(selector, node).matched;
}

std::string short_name(const PolicyRef& policy) {
  return policy.namespace_.empty() ? policy.name : policy.namespace_ + "/" + policy.name;
}

template <class Policy>
void write_problems(const std::string& name, const Policy& policy, std::vector<std::string>& out) {
  for (const policy::Problem& problem : policy)
    out.push_back(name + " " + problem.field + ": " + problem.what);
  if (policy.more() > 0) out.push_back(name + ": " + and_more(policy.more()));
}

// Removes the server's fields.
policy::SriovPolicy without_metadata(policy::SriovPolicy policy) {
  policy.uid.clear();
  policy.manager.clear();
  policy.generation = 0;
  return policy;
}
policy::ExposurePolicy without_metadata(policy::ExposurePolicy policy) {
  policy.uid.clear();
  policy.manager.clear();
  policy.generation = 0;
  return policy;
}
policy::DeviceAttributes without_metadata(policy::DeviceAttributes attributes) { return attributes; }

// The line in a file is not part of the content.
void forget_lines(kube::Json& value) {
  value.set_line(0);
  if (value.array() != nullptr)
    for (kube::Json& item : *value.array()) forget_lines(item);
  if (value.object() != nullptr)
    for (auto& [key, member] : *value.object()) forget_lines(member);
}

bool is_of_ours(const kube::ObjectKey& key) {
  for (const auto* kind :
       {&kube::kSriovResourcePolicies, &kube::kDeviceAttributes, &kube::kDeviceExposurePolicies})
    if (key.kind == kind->kind && key.api_version == kube::api_version(*kind)) return true;
  return false;
}

// Gates that depend on time have no facts here: the node's daemon has already decided the same.
std::shared_ptr<policy::Inputs> inputs_of(const reports::NodeReport& report, const kube::NodeView& node,
                                          const policy::PolicySetPtr& policies, const FleetDrivers& drivers) {
  auto inventory = std::make_shared<hotplug::Inventory>();
  for (const reports::DeviceGroup& group : report.groups)
    for (hotplug::HostDevice& device : reports::devices_of(group)) {
      std::string id = device.id.text;
      inventory->devices[id] = std::move(device);
    }
  auto out = std::make_shared<policy::Inputs>();
  out->inventory = std::move(inventory);
  out->policies = policies;
  out->node = node;
  out->settings.sriov_driver = drivers.sriov;
  out->settings.exposure_driver = drivers.exposure;
  return out;
}

void add_entry(const policy::Decision& decision, JudgedEntry entry, JudgedNode& out) {
  const auto pools = decision.pools.find(entry.driver);
  if (pools == decision.pools.end()) return;
  for (const policy::DesiredPool& pool : pools->second) {
    const auto at = std::lower_bound(
        pool.devices.begin(), pool.devices.end(), entry.name,
        [](const kube::DevicePtr& device, const std::string& name) { return device->name < name; });
    if (at == pool.devices.end() || (*at)->name != entry.name) continue;
    entry.entry = *at;
    std::pair<std::string, std::string> key{entry.driver, entry.name};
    out.entries.insert_or_assign(std::move(key), std::move(entry));
    return;
  }
}

// Returns whether the expression contains the word, not as a part of another one.
bool names(std::string_view expression, std::string_view word) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t at = expression.find(word); at != std::string_view::npos; at = expression.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_part(expression[at - 1])) && (end == expression.size() || !is_part(expression[end])))
      return true;
  }
  return false;
}

// Attributes for selectors (docs/attributes.md) that DeviceGroup contains. Selectors that ask for any other
// one cannot be judged by a report.
constexpr std::string_view kReported[] = {
    "pciBusID",    "pciAddress",      "type",         "ifName",          "driver",  "vendor",
    "product",     "numaNode",        "pfName",       "pfPciAddress",    "vfIndex", "numVFs",
    "totalVFs",    "sriovCapable",    "rdma",         "linkType",        "mtu",     "bondMaster",
    "eswitchMode", "subsystemVendor", "masterBridge", "subsystemProduct"};

bool is_wanted(policy::Disposition disposition) {
  return disposition == policy::Disposition::kOffered || disposition == policy::Disposition::kHeldBack;
}

// Compares the report's verdict on a device with that of its facts.
std::string contradiction(const reports::NodeReport& report, const JudgedNode& now) {
  for (const reports::DeviceGroup& group : report.groups)
    for (const hotplug::HostDevice& device : reports::devices_of(group)) {
      const auto judged = now.dispositions.find(device.id.text);
      if (judged == now.dispositions.end()) continue;
      const bool is_reported = group.disposition == name_of(policy::Disposition::kOffered) ||
                               group.disposition == name_of(policy::Disposition::kHeldBack);
      if (is_reported == is_wanted(judged->second)) continue;
      return "device " + device.id.text + " is " + group.disposition +
             ", and by the facts in its report it would be " + std::string(name_of(judged->second));
    }
  return "";
}

std::vector<std::string> attribute_changes(const kube::Device& before, const kube::Device& after) {
  std::vector<std::string> out;
  std::set<std::string> keys;
  for (const kube::Device* device : {&before, &after})
    for (const auto& [key, value] : device->attributes) keys.insert(key.str());
  const auto text = [](const kube::Device& device, const std::string& key) {
    const auto at = device.attributes.find(key);
    return at == device.attributes.end() ? std::string("absent") : kube::describe_attribute(at->second);
  };
  for (const std::string& key : keys)
    if (text(before, key) != text(after, key))
      out.push_back(key + ": " + text(before, key) + " -> " + text(after, key));
  if (out.empty()) out.emplace_back("capacity, counters or sharing differ");
  return out;
}

}  // namespace

bool FleetPolicies::put(const kube::Json& object) {
  const std::string_view kind = object.text("kind");
  auto meta = kube::decode_object_meta(object);
  if (kind == kube::kDeviceExposurePolicies.kind) {
    auto policy = policy::decode_exposure_policy(object, drivers_.exposure, meta);
    if (meta) exposures_.insert_or_assign(meta->name, std::move(policy));
    return meta.ok();
  }
  if (kind != kube::kSriovResourcePolicies.kind && kind != kube::kDeviceAttributes.kind) return false;
  if (!meta || (!meta->namespace_.empty() && meta->namespace_ != namespace_)) return false;
  meta->namespace_ = namespace_;
  const std::string name = meta->name;
  if (kind == kube::kDeviceAttributes.kind)
    attributes_.insert_or_assign(name, policy::decode_device_attributes(object, drivers_.sriov, meta));
  else
    sriov_.insert_or_assign(name, policy::decode_sriov_policy(object, meta));
  return true;
}

policy::PolicySetPtr FleetPolicies::set() const { return made(/*has_excludes=*/true); }
policy::PolicySetPtr FleetPolicies::exposing() const { return made(/*has_excludes=*/false); }

policy::PolicySetPtr FleetPolicies::made(bool has_excludes) const {
  std::vector<policy::SriovPolicy> sriov;
  std::vector<policy::DeviceAttributes> attributes;
  std::vector<policy::ExposurePolicy> exposures;
  // Readiness depends on the node and changes over time, so it is not evaluated here.
  for (const auto& [name, one] : sriov_) {
    sriov.push_back(one);
    sriov.back().readiness = {};
  }
  for (const auto& [name, one] : attributes_) attributes.push_back(one);
  for (const auto& [name, one] : exposures_) {
    if (!has_excludes && one.action != policy::ExposureAction::kExpose) continue;
    exposures.push_back(one);
    exposures.back().readiness = {};
  }
  return std::make_shared<const policy::PolicySet>(
      policy::make_policy_set(policy::share(std::move(sriov)), policy::share(std::move(attributes)),
                              policy::share(std::move(exposures))));
}

std::vector<std::string> FleetPolicies::problems() const {
  std::vector<std::string> out;
  for (const auto& [name, one] : sriov_) write_problems(text_of(one.id), policy::problems_of(one), out);
  for (const auto& [name, one] : attributes_)
    write_problems(one.id.namespace_ + "/" + name, one.problems, out);
  for (const auto& [name, one] : exposures_) write_problems(name, one.problems, out);
  return out;
}

std::set<std::string> FleetPolicies::changed_since(const FleetPolicies& before) const {
  std::set<std::string> out;
  const auto compare = [&](const auto& now, const auto& then, const std::string& prefix) {
    for (const auto& [name, one] : now)
      if (const auto at = then.find(name);
          at == then.end() || !(without_metadata(at->second) == without_metadata(one)))
        out.insert(prefix + name);
    for (const auto& [name, one] : then)
      if (!now.contains(name)) out.insert(prefix + name);
  };
  compare(sriov_, before.sriov_, namespace_ + "/");
  compare(attributes_, before.attributes_, namespace_ + "/");
  compare(exposures_, before.exposures_, "");
  return out;
}

Result<FleetPolicies> edited_by(std::string_view text, const FleetPolicies& now) {
  const auto wrong = [](int line, const std::string& what) {
    return Error{Errc::kInvalid, std::to_string(line) + ": " + what};
  };
  kube::Manifest manifest = kube::decode_manifest(text, "");
  for (const auto* all : {&manifest.problems, &manifest.remarks})
    if (!all->empty()) return wrong(all->front().line, all->front().what);
  if (manifest.objects.empty()) return wrong(1, "there is no object in it");
  FleetPolicies out = now;
  std::map<kube::ObjectKey, int> lines;
  std::string other;
  int other_line = 0;
  for (auto& [key, object] : manifest.objects) {
    const int line = object.line();
    if (!is_of_ours(key)) {
      // A file for kubectl apply may contain a Namespace or a claim; a misspelled kind of sliced is an error.
      if (nearest(key.kind, {kube::kSriovResourcePolicies.kind, kube::kDeviceAttributes.kind,
                             kube::kDeviceExposurePolicies.kind})
              .empty()) {
        other = kube::describe(key);
        other_line = line;
        continue;
      }
      return wrong(line, kube::describe(key) + " is neither a policy nor a DeviceAttributes");
    }
    forget_lines(object);
    if (!out.put(object))
      return wrong(line, kube::describe(key) +
                             " is not of the namespace that is asked; --namespace names another one");
    const std::string name = kube::describe(key);
    key.namespace_.clear();  // all are of one, named or not
    if (const auto [at, is_new] = lines.emplace(key, line); !is_new)
      return wrong(line, name + " is already defined in line " + std::to_string(at->second) +
                             "; remove one of the two");
  }
  if (lines.empty()) return wrong(other_line, "there is no policy in it: " + other + " is none");
  return out;
}

bool FleetPolicies::remove(const std::string& kind, const std::string& name) {
  if (kind == kube::kDeviceExposurePolicies.kind) return exposures_.erase(name) > 0;
  return kind == kube::kDeviceAttributes.kind ? attributes_.erase(name) > 0 : sriov_.erase(name) > 0;
}

std::vector<std::string> FleetPolicies::kinds_of(const std::string& name) const {
  std::vector<std::string> out;
  if (sriov_.contains(name)) out.push_back(kube::kSriovResourcePolicies.kind);
  if (attributes_.contains(name)) out.push_back(kube::kDeviceAttributes.kind);
  if (exposures_.contains(name)) out.push_back(kube::kDeviceExposurePolicies.kind);
  return out;
}

namespace {

// Returns "" for another kind.
std::string policy_kind_named(std::string_view word) {
  std::string lower(word);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  lower = lower.substr(0, lower.find('.'));  // with its group
  for (const auto& [kind, short_name, singular] :
       {std::tuple(&kube::kSriovResourcePolicies, "srp", "sriovresourcepolicy"),
        std::tuple(&kube::kDeviceAttributes, "devattr", "deviceattributes"),
        std::tuple(&kube::kDeviceExposurePolicies, "dep", "deviceexposurepolicy")})
    if (lower == short_name || lower == singular || lower == kind->plural) return kind->kind;
  return "";
}

std::string_view short_kind(const std::string& kind) {
  return kind == kube::kSriovResourcePolicies.kind ? "srp"
         : kind == kube::kDeviceAttributes.kind    ? "devattr"
                                                   : "dep";
}

Result<Unit> remove_named(std::string_view item, FleetPolicies& from) {
  const std::string quoted = in_quotes(item);
  const size_t slash = item.find('/');
  std::string name(slash == std::string_view::npos ? item : item.substr(slash + 1)), kind;
  const bool has_namespace =
      slash != std::string_view::npos && item.substr(0, slash) == from.namespace_of_policies();
  if (slash != std::string_view::npos && !has_namespace) {
    kind = policy_kind_named(item.substr(0, slash));
    if (kind.empty())
      return Error{Errc::kInvalid,
                   quoted + ": " + in_quotes(item.substr(0, slash)) +
                       " must be one of srp, dep, devattr (kubectl api-resources has the long names)"};
  }
  std::vector<std::string> kinds = from.kinds_of(name);
  if (has_namespace) std::erase(kinds, kube::kDeviceExposurePolicies.kind);
  if (!kind.empty()) std::erase_if(kinds, [&](const std::string& one) { return one != kind; });
  if (kinds.empty())
    return Error{Errc::kNotFound, quoted + ": there is no such " + (kind.empty() ? "policy" : kind) +
                                      "; SriovResourcePolicies and DeviceAttributes are those of namespace " +
                                      from.namespace_of_policies()};
  if (kinds.size() > 1) {
    std::vector<std::string> forms;
    for (const std::string& one : kinds) forms.push_back(std::string(short_kind(one)) + "/" + name);
    return Error{Errc::kInvalid,
                 quoted + ": several kinds have one of that name; write " + join(forms, " or ")};
  }
  from.remove(kinds.front(), name);
  return Unit{};
}

}  // namespace

Result<FleetPolicies> without(std::string_view list, const FleetPolicies& now) {
  FleetPolicies out = now;
  for (const std::string_view item : split(list, ','))
    if (auto removed = remove_named(item, out); !removed)
      return std::move(removed.error()).in("--diff-delete");
  return out;
}

std::string describe(const PolicyRef& policy) { return policy.kind + " " + short_name(policy); }

std::vector<PolicyRef> policies_selecting(const policy::PolicySet& set, const kube::NodeView& node) {
  std::vector<PolicyRef> out;
  for (const auto& policy : set.sriov)
    if (selects(policy->node_selector, node)) out.push_back(ref_of(*policy));
  for (const auto& policy : set.exposures)
    if (selects(policy->node_selector, node)) out.push_back(ref_of(*policy));
  return out;
}

JudgedNode judge_node(const reports::NodeReport& report, const kube::NodeView& node,
                      const policy::PolicySetPtr& policies, const FleetDrivers& drivers,
                      const JudgedNode* published) {
  const auto inputs = inputs_of(report, node, policies, drivers);
  if (published != nullptr) {
    inputs->selectors = published->selectors;
    for (const auto& [key, entry] : published->entries) {
      (key.first == drivers.sriov ? inputs->published.sriov : inputs->published.exposure).insert(key.second);
      const hotplug::HostDevice* device = inputs->inventory->find(entry.device);
      if (device != nullptr && !device->pci) inputs->published.links[key.second] = entry.device;
    }
  }
  const policy::Decision decision = policy::decide(inputs);
  JudgedNode out;
  out.selectors = decision.selectors;
  for (const policy::PolicyProblem& one : policy::problems_of(decision))
    out.problems.insert(one.policy + " " + one.problem.field + ": " + one.problem.what);
  for (const auto& [id, verdict] : decision.verdicts) {
    out.dispositions[id] = policy::disposition_of(decision, id);
    const hotplug::HostDevice* device = decision.inputs->inventory->find(id);
    if (verdict.outcome == Outcome::kOffered && verdict.policy >= 0 && device->pci)
      add_entry(decision,
                {drivers.sriov,
                 policy::function_name(*device->pci),
                 id,
                 ref_of(*policies->sriov[static_cast<size_t>(verdict.policy)]),
                 {}},
                out);
    const auto personas = decision.personas.find(id);
    if (personas == decision.personas.end()) continue;
    for (const policy::PersonaVerdict& persona : personas->second)
      if (persona.outcome == Outcome::kOffered && persona.policy >= 0)
        add_entry(decision,
                  {drivers.exposure,
                   persona.entry,
                   id,
                   ref_of(*policies->exposures[static_cast<size_t>(persona.policy)]),
                   {}},
                  out);
  }
  return out;
}

std::string cannot_be_judged(const reports::NodeReport& report, const kube::NodeView& node,
                             const policy::PolicySet& policies, const JudgedNode& now) {
  if (report.left_out.groups > 0)
    return "its report has no room for " + std::to_string(report.left_out.devices) + " devices";
  std::map<PolicyRef, int64_t> reported;
  for (const reports::PolicyReport& one : report.policies) reported[one.policy] = one.generation;
  const auto is_other = [&](const PolicyRef& policy, int64_t generation) -> std::string {
    const auto at = reported.find(policy);
    if (at == reported.end())
      return report.left_out.policies > 0 ? "" : "its report does not know " + describe(policy) + " yet";
    if (at->second == generation || generation == 0) return "";
    return "its report is of generation " + std::to_string(at->second) + " of " + describe(policy) +
           ", which is " + std::to_string(generation) + " now";
  };
  for (const auto& policy : policies.sriov)
    if (selects(policy->node_selector, node))
      if (std::string why = is_other(ref_of(*policy), policy->generation); !why.empty()) return why;
  for (const auto& policy : policies.exposures)
    if (selects(policy->node_selector, node))
      if (std::string why = is_other(ref_of(*policy), policy->generation); !why.empty()) return why;
  return contradiction(report, now);
}

namespace {

// Terms with labels cannot be evaluated without labels: nullopt.
std::optional<bool> selects_by_name(const kube::NodeSelector& selector, const std::string& node) {
  for (const kube::NodeSelectorTerm& term : selector.terms)
    if (!selector.everything && !term.match_expressions.empty()) return std::nullopt;
  return selects(selector, {node, {}});
}

// Finds the policies of one kind that select each node.
template <class Policy>
std::vector<Shared<Policy>> selecting(const std::vector<Shared<Policy>>& policies,
                                      const std::vector<Shared<Policy>>& before,
                                      const reports::NodeReport& report, std::string& why_not) {
  std::vector<Shared<Policy>> out;
  for (const Shared<Policy>& one : policies) {
    const PolicyRef ref = ref_of(*one);
    const auto then = std::find_if(before.begin(), before.end(),
                                   [&](const Shared<Policy>& other) { return ref_of(*other) == ref; });
    std::optional<bool> selected = selects_by_name(one->node_selector, report.node);
    if (!selected && then != before.end() && (*then)->node_selector == one->node_selector)
      selected = std::any_of(report.policies.begin(), report.policies.end(),
                             [&](const reports::PolicyReport& reported) { return reported.policy == ref; });
    if (!selected && why_not.empty())
      why_not = "its labels may not be read, and " + describe(ref) + " selects nodes by labels";
    if (!selected.value_or(false)) continue;
    Policy edited = *one;
    edited.node_selector = {};
    out.emplace_back(std::move(edited));
  }
  return out;
}

}  // namespace

NodePolicies policies_without_labels(const policy::PolicySet& before, const policy::PolicySet& after,
                                     const reports::NodeReport& report) {
  NodePolicies out;
  const auto of = [&](const policy::PolicySet& set) {
    auto sriov = selecting(set.sriov, before.sriov, report, out.why_not);
    auto exposures = selecting(set.exposures, before.exposures, report, out.why_not);
    return std::make_shared<const policy::PolicySet>(
        policy::make_policy_set(std::move(sriov), set.attributes, std::move(exposures)));
  };
  out.before = of(before);
  out.after = of(after);
  return out;
}

std::string missing_for_edit(const std::set<std::string>& unlisted, const reports::NodeReport& report,
                             const policy::PolicySet& before, const policy::PolicySet& after,
                             const kube::NodeView& node) {
  for (const reports::PolicyReport& one : report.policies)
    if (unlisted.contains(one.policy.kind))
      return describe(one.policy) + " may not be read, which by its report (generation " +
             std::to_string(one.generation) + ") takes " + std::to_string(one.matched) + " devices there";
  if (!unlisted.contains(kube::kDeviceAttributes.kind)) return "";
  for (const policy::PolicySet* set : {&before, &after})
    for (const auto& policy : set->sriov)
      if (selects(policy->node_selector, node))
        for (const policy::ResourceConfig& config : policy->configs)
          if (config.attributes_selector)
            return describe(ref_of(*policy)) + " selects DeviceAttributes, which may not be read";
  return "";
}

std::vector<std::string> unreported_facts(const policy::PolicySet& policies,
                                          const std::set<std::string>& changed) {
  std::vector<std::string> out;
  for (const auto& policy : policies.exposures) {
    if (!changed.contains(policy->id.name)) continue;
    for (const policy::KnownAttribute& known : policy::known_attributes())
      if (std::find(std::begin(kReported), std::end(kReported), known.id) == std::end(kReported) &&
          names(policy->selector.cel, known.id))
        out.push_back(describe(ref_of(*policy)) + " asks for " + std::string(known.id));
  }
  return out;
}

std::string unreported_facts_of(const reports::NodeReport& report, const policy::PolicySet& policies,
                                const std::set<std::string>& changed) {
  for (const auto& policy : policies.exposures) {
    if (!changed.contains(policy->id.name) || !names(policy->selector.cel, "ifName")) continue;
    for (const reports::DeviceGroup& group : report.groups)
      if (!group.vfs.empty() && group.interface.empty() && group.interface_base.empty() &&
          !group.driver.empty())
        return describe(ref_of(*policy)) +
               " asks for ifName, and its report does not name the interfaces of VFs of " + group.pf_name;
  }
  return "";
}

std::vector<EntryChange> entry_changes(const JudgedNode& before, const JudgedNode& after) {
  std::vector<EntryChange> out;
  for (const auto& [key, entry] : before.entries)
    if (!after.entries.contains(key))
      out.push_back({'-', entry.driver, entry.name, entry.device, describe(entry.policy), "", {}});
  for (const auto& [key, entry] : after.entries) {
    const auto at = before.entries.find(key);
    if (at == before.entries.end())
      out.push_back({'+', entry.driver, entry.name, entry.device, "", describe(entry.policy), {}});
    else if (!(*at->second.entry == *entry.entry))
      out.push_back({'~', entry.driver, entry.name, entry.device, describe(at->second.policy),
                     describe(entry.policy), attribute_changes(*at->second.entry, *entry.entry)});
  }
  return out;
}

}  // namespace sliced::kubectl
