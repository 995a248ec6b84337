#include "daemon/reports/overruled.h"

#include <string>
#include <utility>
#include <vector>

#include "policy/exposure/resolve.h"
#include "policy/notes.h"
#include "policy/sriov/additions.h"
#include "policy/sriov/match.h"

namespace sliced::reports {
namespace {

using hotplug::HostDevice;
using policy::Decision;
using policy::ExposurePolicy;
using policy::Verdict;

void note(int32_t loser, int32_t winner, std::map<int32_t, Overruled>& out) {
  Overruled& one = out[loser];
  ++one.devices;
  ++one.by[winner];
}

// ---- SriovResourcePolicies

class ResourceNames {
 public:
  explicit ResourceNames(const policy::Inputs& in)
      : own_(in.settings.sriov_driver), additions_(in, own_, left_out_) {}

  // Returns the resource name of the config that matches a VF; "" if it has none.
  const std::string& of(const Verdict& verdict) {
    const auto [at, fresh] = names_.try_emplace({verdict.policy, verdict.config});
    if (fresh) at->second = additions_.resource_of(verdict);
    return at->second;
  }

 private:
  const policy::VfAttributes own_;
  policy::Notes left_out_;  // reported by the decision
  policy::ConfigAdditions additions_;
  std::map<std::pair<int32_t, int32_t>, std::string> names_;
};

void look_at_sriov(const Decision& decision, std::map<int32_t, Overruled>& out) {
  const policy::Inputs& in = *decision.inputs;
  const std::vector<int32_t>& asked = decision.asked_sriov;
  if (asked.size() < 2) return;
  ResourceNames names(in);
  std::vector<policy::VfMatcher> matchers;
  matchers.reserve(asked.size());
  for (const int32_t one : asked)
    matchers.emplace_back(*in.policies, std::vector<int32_t>{one}, *in.inventory);
  for (const auto& [id, verdict] : decision.verdicts) {
    const HostDevice* vf = in.inventory->find(id);
    if (verdict.policy < 0 || vf == nullptr) continue;
    for (size_t i = 0; i < asked.size(); ++i) {
      if (asked[i] <= verdict.policy) continue;
      const Verdict second = matchers[i].decide(*vf);
      if (second.outcome == policy::Outcome::kOffered && names.of(second) != names.of(verdict))
        note(asked[i], verdict.policy, out);
    }
  }
}

// ---- DeviceExposurePolicies

// An evaluated policy, and the column of its selector's results.
struct Asked {
  int32_t policy;
  size_t column;
};

bool offer_alike(const ExposurePolicy& one, const ExposurePolicy& other) {
  return one.exposure == other.exposure && one.host_use == other.host_use;
}

std::vector<Asked> asked_of(const Decision& decision) {
  const policy::SelectorResults& answers = *decision.selectors;
  std::vector<Asked> out;
  for (const int32_t one : answers.node.exposes) {
    const int32_t column = answers.memory.index_of(answers.asked[static_cast<size_t>(one)]);
    if (column >= 0 && !decision.exposure_problems.contains(one))
      out.push_back({one, static_cast<size_t>(column)});
  }
  return out;
}

void look_at_exposures(const Decision& decision, std::map<int32_t, Overruled>& out) {
  const policy::Inputs& in = *decision.inputs;
  if (decision.personas.empty() || decision.selectors == nullptr) return;
  const std::vector<Asked> asked = asked_of(decision);
  if (asked.size() < 2) return;
  const auto policy_at = [&](int32_t index) -> const ExposurePolicy& {
    return *in.policies->exposures[static_cast<size_t>(index)];
  };
  const policy::SelectorMemory& memory = decision.selectors->memory;
  for (const auto& [id, personas] : decision.personas) {
    const ptrdiff_t row = memory.row_of(id);
    const HostDevice* device = in.inventory->find(id);
    if (row < 0 || device == nullptr) continue;
    for (const Asked& one : asked) {
      if (!memory.answers[static_cast<size_t>(row) + one.column].is_true()) continue;
      const ExposurePolicy& own = policy_at(one.policy);
      if (device->type == hotplug::DeviceType::kVirtual && !own.include_virtual) continue;
      for (const policy::PersonaVerdict& persona : personas)
        if (persona.policy >= 0 && persona.policy < one.policy &&
            policy_at(persona.policy).exposure.name_suffix == own.exposure.name_suffix &&
            !offer_alike(policy_at(persona.policy), own))
          note(one.policy, persona.policy, out);
    }
  }
}

}  // namespace

OverruledPolicies overruled_in(const policy::Decision& decision) {
  OverruledPolicies out;
  look_at_sriov(decision, out.sriov);
  look_at_exposures(decision, out.exposures);
  return out;
}

}  // namespace sliced::reports
