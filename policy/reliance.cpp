#include "policy/reliance.h"

#include <algorithm>
#include <map>
#include <utility>

#include "policy/exposure/resolve.h"

namespace sliced::policy {
namespace {

constexpr size_t kFewEntries = 8;

bool is_most(size_t lost, size_t offered) { return lost > kFewEntries && lost * 2 > offered; }

}  // namespace

bool relies_on(const Decision& decision, const std::set<SriovPolicy::Id>& policies) {
  const auto& all = decision.inputs->policies->sriov;
  size_t offered = 0, lost = 0;
  for (const auto& [id, verdict] : decision.verdicts) {
    if (verdict.outcome != Outcome::kOffered || verdict.policy < 0) continue;
    ++offered;
    if (policies.contains(all[static_cast<size_t>(verdict.policy)]->id)) ++lost;
  }
  return is_most(lost, offered);
}

bool relies_on(const Decision& decision, const std::set<ExposurePolicy::Id>& policies) {
  const auto& all = decision.inputs->policies->exposures;
  const auto is_one = [&](int32_t index) {
    return index >= 0 && policies.contains(all[static_cast<size_t>(index)]->id);
  };
  // Also an exclude that matches no device now: its device may appear soon.
  const NodeExposures& of_node = decision.selectors->node;
  for (const auto* excludes : {&of_node.excludes, &of_node.unreadable})
    if (std::any_of(excludes->begin(), excludes->end(), is_one)) return true;
  size_t offered = 0, lost = 0;
  for (const auto& [id, personas] : decision.personas) {
    for (const PersonaVerdict& persona : personas) {
      if (persona.outcome != Outcome::kOffered) continue;
      ++offered;
      if (is_one(persona.policy)) ++lost;
    }
  }
  return is_most(lost, offered);
}

bool relies_on(const Decision& decision, const std::set<DeviceAttributes::Id>& objects) {
  const PolicySet& policies = *decision.inputs->policies;
  const auto matches_filter = [&](const SriovPolicy& policy, const ResourceConfig& config) {
    return config.attributes_selector &&
           std::any_of(policies.attributes.begin(), policies.attributes.end(),
                       [&](const DeviceAttributes& object) {
                         return object.id.namespace_ == policy.id.namespace_ && objects.contains(object.id) &&
                                kube::matches(*config.attributes_selector, object.labels);
                       });
  };
  std::map<std::pair<int32_t, int32_t>, bool> joined;  // by policy and config
  size_t offered = 0, lost = 0;
  for (const auto& [id, verdict] : decision.verdicts) {
    if (verdict.policy < 0 || verdict.config < 0) continue;
    if (verdict.outcome != Outcome::kOffered && verdict.outcome != Outcome::kRefused) continue;
    const auto [at, fresh] = joined.try_emplace({verdict.policy, verdict.config});
    if (fresh) {
      const SriovPolicy& policy = policies.sriov[static_cast<size_t>(verdict.policy)];
      at->second = matches_filter(policy, policy.configs[static_cast<size_t>(verdict.config)]);
    }
    if (at->second && verdict.outcome == Outcome::kRefused) return true;
    offered += verdict.outcome == Outcome::kOffered;
    lost += at->second;
  }
  return is_most(lost, offered);
}

}  // namespace sliced::policy
