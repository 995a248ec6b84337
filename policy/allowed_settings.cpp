#include "policy/allowed_settings.h"

#include <algorithm>

#include "policy/exposure/resolve.h"
#include "policy/sriov/match.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

// Several policies permit only their common settings. A policy without the field leaves the limit to the
// option.
void limit(const std::optional<VfSettings>& allow, const std::string& policy, AllowedSettings& out) {
  out.has_policy = true;
  if (!allow) {
    out.is_default_too = true;
    return;
  }
  out.policies += (out.policies.empty() ? "" : " and ") + policy;
  out.listed = out.listed ? *out.listed & *allow : *allow;
}

// An invalid config offers nothing and has no effect on others, so it does not match.
bool may_match(const SriovPolicy& policy, const hotplug::HostDevice& vf, const UnknownFacts& unknown) {
  return std::any_of(policy.configs.begin(), policy.configs.end(), [&](const ResourceConfig& config) {
    return config.problems.empty() &&
           (config.filters.empty() ||
            std::any_of(config.filters.begin(), config.filters.end(), [&](const ResourceFilter& filter) {
              return match_filter(filter, vf, unknown).match_result != MatchResult::kNo;
            }));
  });
}

// Returns the policies of the node that expose the device, or may expose it depending on unknown facts, under
// the suffix. is_any: those that may expose any device under it.
std::vector<const ExposurePolicy*> exposing(const Decision& decision, const hotplug::HostDevice& device,
                                            std::string_view suffix, bool is_any) {
  std::vector<const ExposurePolicy*> out;
  if (decision.selectors == nullptr) return out;
  const SelectorResults& answers = *decision.selectors;
  for (const int32_t index : answers.node.exposes) {
    const ExposurePolicy& policy = *decision.inputs->policies->exposures[static_cast<size_t>(index)];
    if (policy.exposure.name_suffix != suffix) continue;
    if (device.type == hotplug::DeviceType::kVirtual && !policy.include_virtual) continue;
    const std::string& asked = answers.asked[static_cast<size_t>(index)];
    if (is_any || answers.memory.of(device.id.text, asked).is_true() ||
        !answers.memory.unknown_fact(device.id.text, asked).empty())
      out.push_back(&policy);
  }
  return out;
}

}  // namespace

std::vector<std::string> plugin_names(const Exposure& exposure) {
  std::vector<std::string> out;
  for (const CniPlugin& plugin : exposure.plugins) out.push_back(plugin.name);
  return out;
}

AllowedSettings sriov_settings(const Decision& decision, const hotplug::HostDevice& vf) {
  AllowedSettings out;
  if (vf.type != hotplug::DeviceType::kVf || !vf.pci) return out;
  const Inputs& in = *decision.inputs;
  const UnknownFacts unknown = unknown_facts(vf, *in.inventory);
  for (const int32_t index : decision.asked_sriov) {
    const SriovPolicy& policy = *in.policies->sriov[static_cast<size_t>(index)];
    if (may_match(policy, vf, unknown)) limit(policy.allow, "SriovResourcePolicy " + text_of(policy.id), out);
  }
  return out;
}

AllowedSettings exposure_settings(const Decision& decision, const hotplug::HostDevice& device,
                                  std::string_view suffix) {
  AllowedSettings out;
  for (const ExposurePolicy* policy : exposing(decision, device, suffix, false))
    limit(policy->allow, "DeviceExposurePolicy " + policy->id.name, out);
  return out;
}

AllowedPlugins exposure_plugins(const Decision& decision, const hotplug::HostDevice& device,
                                std::string_view suffix) {
  auto policies = exposing(decision, device, suffix, false);
  if (policies.empty()) policies = exposing(decision, device, suffix, true);
  if (policies.empty()) return {.listed = std::vector<std::string>()};
  AllowedPlugins out;
  for (const ExposurePolicy* policy : policies) {
    if (!policy->exposure.lists_plugins) {
      out.is_default_too = true;
      continue;
    }
    const std::vector<std::string> names = plugin_names(policy->exposure);
    if (!out.listed)
      out.listed = names;
    else
      std::erase_if(*out.listed,
                    [&](const std::string& name) { return std::ranges::find(names, name) == names.end(); });
  }
  return out;
}

std::string text_of(const AllowedSettings& settings) {
  if (!settings.listed) return "";
  return "; network definitions and claims may set " +
         (settings.listed->names.none() ? "nothing" : join(entries_of(*settings.listed), ", ")) +
         " (spec.allow of " + settings.policies +
         (settings.is_default_too ? "; --vf-settings none: none)" : ")");
}

}  // namespace sliced::policy
