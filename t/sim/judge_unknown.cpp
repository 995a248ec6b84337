// What SriovResourcePolicies may do with VFs of PFs that nobody can name: their interface is elsewhere, and nothing is known
// of it.
#include <algorithm>

#include "policy/attribute_value.h"
#include "policy/gates/published_before.h"
#include "t/sim/world.h"

namespace sliced::sim {
namespace {

// By what they say: a list has other objects of what nobody has edited.
bool are_same(const policy::PolicySet& a, const policy::PolicySet& b) {
  const auto are_one = [](const Shared<policy::SriovPolicy>& x, const Shared<policy::SriovPolicy>& y) {
    if (is_same(x, y)) return true;
    policy::SriovPolicy now = x, before = y;
    now.generation = before.generation;
    now.manager = before.manager;
    return now == before;
  };
  return std::equal(a.sriov.begin(), a.sriov.end(), b.sriov.begin(), b.sriov.end(), are_one) &&
         a.attributes == b.attributes;
}

// As the daemon read it: whether it might have read more is judged elsewhere.
bool has_nameless_pf(const policy::Decision& decision, const std::string& vf) {
  const hotplug::HostDevice* device = decision.inputs->inventory->find(vf);
  if (device == nullptr || !device->pf || !device->pf_name.empty()) return false;
  const hotplug::HostDevice* pf = decision.inputs->inventory->find(device->pf->text());
  return pf != nullptr && !pf->netdev && !pf->driver.empty() && pf->driver != "vfio-pci";
}

std::string resource_of(const policy::Decision& decision, const policy::Verdict& verdict) {
  const auto& policy = decision.inputs->policies->sriov[static_cast<size_t>(verdict.policy)];
  return policy->configs[static_cast<size_t>(verdict.config)].resource_name;
}

// Whether the decision before published it under another resourceName than its config gives: while a device is in motion
// its entry stays as it was.
bool stood_otherwise(const policy::Inputs& in, const std::string& entry, const std::string& resource) {
  const kube::Device* stood = policy::entry_before(in, World::kNode, entry);
  if (stood == nullptr) return false;
  const auto* name =
      policy::attribute_as<std::string>(stood->attributes, std::string(World::kDriver) + "/resourceName");
  return (name == nullptr ? "" : *name) != resource;
}

}  // namespace

bool World::is_taken_for_sure(const std::string& vf) const {
  const auto states = vf_past_.find(vf);
  if (states == vf_past_.end()) return false;
  for (const auto& [since, facts] : states->second) {
    const auto pfs = pf_past_.find(facts.pf);
    if (pfs == pf_past_.end()) continue;
    for (const auto& [pf_since, pf] : pfs->second)
      for (const auto& [policies_since, policies] : policies_past_)
        for (const auto& [labels_since, labels_then] : labels_past_) {
          const Taken taken = taken_by(facts, pf, vf, "", policies, labels_then);
          // The host's use may be of another moment.
          if (!taken.is_unknown && (taken.config != nullptr || taken.why_not == "in-use-by-host"))
            return true;
        }
  }
  return false;
}

void World::judge_unknown(const policy::Decision& decision) {
  const policy::Inputs& in = *decision.inputs;
  const bool are_policies_same = policies_decided_ != nullptr && are_same(*policies_decided_, *in.policies) &&
                                 labels_decided_ == in.node.labels;
  std::map<std::string, TakenBefore> now;
  for (const auto& [id, verdict] : decision.verdicts) {
    const bool is_offered = verdict.outcome == policy::Outcome::kOffered;
    const std::string entry = name_of_entry(id);
    const std::string& driver = in.inventory->find(id)->driver;
    if (is_offered) now.emplace(entry, TakenBefore{driver, resource_of(decision, verdict)});
    const auto before = decided_of_sriov_.find(entry);
    if (verdict.outcome == policy::Outcome::kMatchUnknown && are_policies_same &&
        before != decided_of_sriov_.end() && before->second.driver == driver &&
        !stood_otherwise(in, entry, before->second.resource))
      return fail("I10", "takes away " + entry + " since it cannot name its PF, with the policies of before");
    if (!is_offered || !has_nameless_pf(decision, id) || is_taken_for_sure(id)) continue;
    if (!decided_for_.contains(entry) && !stored_lately_.contains(entry) && !names_stored().contains(entry))
      return fail("I12",
                  "offers " + entry + ", which a policy that comes before may have for something else");
    ++seen["a VF stays by a policy that may have it"];
  }
  const bool is_deferred = decision.awaits_pod_claims && daemon->offer_of(kDriver).is_deferred();
  decided_of_sriov_.clear();
  if (!is_deferred) decided_of_sriov_ = std::move(now);
  policies_decided_ = in.policies;
  labels_decided_ = in.node.labels;
}

}  // namespace sliced::sim
