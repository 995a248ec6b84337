#include "kubelet/known_entries.h"

#include <algorithm>

#include "policy/allowed_settings.h"
#include "policy/gates/readiness.h"
#include "policy/identity.h"
#include "policy/reserved/record.h"
#include "policy/sriov/selection.h"

namespace sliced::kubelet {
namespace {

constexpr std::string_view kResourceName = "k8s.cni.cncf.io/resourceName";

void add_entry(const policy::KeptEntries& kept, KnownEntry& out) {
  const auto at = std::find_if(kept.all.begin(), kept.all.end(),
                               [&](const auto& one) { return one.name == out.holding.entry; });
  if (at == kept.all.end()) return;
  out.entry = at->draft.entry;
  const kube::Attributes& attributes = (*out.entry)->attributes;
  const auto found = attributes.find(kResourceName);
  if (found == attributes.end()) return;
  if (const auto* text = std::get_if<std::string>(&found->second)) out.multus_resource = *text;
}

void add_settings(const policy::AllowedSettings& allowed, KnownEntry& out) {
  out.has_policy = allowed.has_policy;
  if (allowed.listed) out.vf_settings = policy::names_of(*allowed.listed), out.vlans = allowed.listed->vlans;
  out.is_default_too = allowed.is_default_too;
  out.allowing_policies = allowed.policies;
}

KnownEntry known(const hotplug::HostDevice& device, policy::Holding holding) {
  KnownEntry out{.holding = std::move(holding), .device = device};
  if (device.type == hotplug::DeviceType::kPf)
    out.pf = device.id.text;
  else if (device.pf)
    out.pf = device.pf->text();
  return out;
}

// Returns why a device that no policy matches now is not ready. It may not be configured yet: a filter may
// name a driver or an address that it has not had since a reboot. It is ready if it fulfils the conditions of
// one of the policies that may have offered it.
std::string unready_for_all(const policy::Inputs& in, const hotplug::HostDevice& device,
                            const std::vector<const policy::Readiness*>& asked) {
  if (asked.empty()) return "";
  std::string why;
  for (const policy::Readiness* one : asked) {
    const std::string its = policy::unreadiness(in, device, *one, /*is_offered=*/false);
    if (its.empty()) return "";
    if (why.empty()) why = its;
  }
  return why + "; no policy matches it now, and each policy that may have offered it requires that or more";
}

std::vector<const policy::Readiness*> asked_of_vfs(const policy::Inputs& in) {
  std::vector<const policy::Readiness*> out;
  for (const int32_t index : policy::policies_for_node(*in.policies, in.node))
    out.push_back(&in.policies->sriov[static_cast<size_t>(index)]->readiness);
  return out;
}

std::vector<const policy::Readiness*> asked_of_exposed(const policy::Inputs& in) {
  std::vector<const policy::Readiness*> out;
  for (const auto& policy : in.policies->exposures)
    if (policy->action == policy::ExposureAction::kExpose && policy->problems.empty() &&
        kube::match_node(policy->node_selector, in.node).matched)
      out.push_back(&policy->readiness);
  return out;
}

std::optional<KnownEntry> of_sriov(const EntrySources& from, const std::string& pool,
                                   const std::string& entry) {
  const policy::Inputs& in = *from.decision.inputs;
  const auto function = policy::function_named_by(entry);
  if (pool != in.node.name || !function || policy::function_name(*function) != entry) return std::nullopt;
  const hotplug::HostDevice* device = from.inventory.find(function->text());
  if (device == nullptr || device->type != hotplug::DeviceType::kVf) return std::nullopt;
  KnownEntry out = known(*device, policy::holding_of_function(entry));
  out.holding.device = device->id.text;
  if (from.decision.entries) add_entry(from.decision.entries->sriov, out);
  add_settings(policy::sriov_settings(from.decision, *device), out);
  const auto verdict = from.decision.verdicts.find(device->id.text);
  if (verdict == from.decision.verdicts.end()) return out;
  if (verdict->second.outcome == policy::Outcome::kSettling)
    out.not_ready = "it has just appeared or changed";
  if (verdict->second.policy < 0) {
    if (out.not_ready.empty()) out.not_ready = unready_for_all(in, *device, asked_of_vfs(in));
    return out;
  }
  const policy::SriovPolicy& policy = in.policies->sriov[static_cast<size_t>(verdict->second.policy)];
  out.host_use = policy.host_use;
  if (verdict->second.outcome == policy::Outcome::kNotReady)
    out.not_ready = from.decision.refusals.at(device->id.text);
  else if (out.not_ready.empty())
    out.not_ready = policy::unreadiness(in, *device, policy.readiness,
                                        verdict->second.outcome == policy::Outcome::kOffered);
  return out;
}

// Returns the suffix of the entry's name after its device's name. An entry without that prefix has no record
// and may belong to any policy.
std::string_view suffix_of(const policy::Holding& holding) {
  const std::string_view entry = holding.entry;
  return entry.starts_with(holding.base) ? entry.substr(holding.base.size()) : entry;
}

// Adds the requirements of the persona's policy. If no policy offers it now, adds those of the policies that
// may have.
void add_policy(const EntrySources& from, KnownEntry& out) {
  static const std::vector<policy::PersonaVerdict> kNone;
  const auto personas = from.decision.personas.find(out.device.id.text);
  for (const policy::PersonaVerdict& persona :
       personas == from.decision.personas.end() ? kNone : personas->second) {
    if (persona.entry != out.holding.entry || persona.policy < 0) continue;
    const policy::ExposurePolicy& policy =
        from.decision.inputs->policies->exposures[static_cast<size_t>(persona.policy)];
    out.host_use = policy.host_use;
    if (policy.exposure.lists_plugins) out.cni_plugins = policy::plugin_names(policy.exposure);
    if (persona.outcome == policy::Outcome::kSettling)
      out.not_ready = "it has just appeared or changed";
    else if (persona.outcome == policy::Outcome::kNotReady)
      out.not_ready = persona.why;
    else
      out.not_ready = policy::unreadiness(*from.decision.inputs, out.device, policy.readiness,
                                          persona.outcome == policy::Outcome::kOffered);
    return;
  }
  out.not_ready = unready_for_all(*from.decision.inputs, out.device, asked_of_exposed(*from.decision.inputs));
  policy::AllowedPlugins plugins =
      policy::exposure_plugins(from.decision, out.device, suffix_of(out.holding));
  out.cni_plugins = std::move(plugins.listed);
  out.are_default_plugins_too = plugins.is_default_too;
}

policy::Holding holding_of(const EntrySources& from, const std::string& pool, const std::string& entry) {
  if (const policy::Holding* known = from.holding(pool, entry)) return *known;
  return policy::unknown_holding(entry, from.inventory);
}

std::optional<KnownEntry> of_exposure(const EntrySources& from, const std::string& pool,
                                      const std::string& entry) {
  const policy::Holding holding = holding_of(from, pool, entry);
  const hotplug::HostDevice* device = from.inventory.find(holding.device);
  if (device == nullptr || policy::exposure_pool_name(from.decision.inputs->node.name, *device) != pool)
    return std::nullopt;
  KnownEntry out = known(*device, holding);
  if (from.decision.entries) add_entry(from.decision.entries->exposure, out);
  add_policy(from, out);
  add_settings(policy::exposure_settings(from.decision, *device, suffix_of(out.holding)), out);
  return out;
}

// Applies regardless of the policies: a claim may hold the entry since before a reboot. An entry that stays
// published because it was published in this boot is refused as well. The hardware will be reconfigured,
// which would break a pod that starts now.
std::optional<KnownEntry> once_configured(std::optional<KnownEntry> known, const policy::Unconfigured& now) {
  if (known && now.holds()) known->not_ready = "this node is not configured yet: " + now.why;
  return known;
}

}  // namespace

std::optional<KnownEntry> find_entry(const EntrySources& sources, const std::string& driver,
                                     const std::string& pool, const std::string& entry) {
  const policy::Settings& settings = sources.decision.inputs->settings;
  const policy::Unconfigured& now = sources.decision.inputs->unconfigured;
  if (driver == settings.sriov_driver) return once_configured(of_sriov(sources, pool, entry), now);
  if (driver == settings.exposure_driver) return once_configured(of_exposure(sources, pool, entry), now);
  return std::nullopt;
}

}  // namespace sliced::kubelet
