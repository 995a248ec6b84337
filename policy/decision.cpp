#include "policy/decision.h"

#include "policy/exposure/resolve.h"
#include "reactor/base/first_few.h"

namespace sliced::policy {

void add_unready(UnreadyByReason& all, std::string reason, const std::string& entry, const std::string& why) {
  sliced::cut_message(reason);
  UnreadyDevices& one = all[std::move(reason)];
  ++one.count;
  if (!one.example.empty() && one.example <= entry) return;
  one.example = entry;
  one.why = why;
  sliced::cut_message(one.why);
}

std::string text_of(const std::string& reason, const UnreadyDevices& devices) {
  std::string out = std::to_string(devices.count) +
                    (devices.count == 1 ? " device waits for " : " devices wait for ") + reason;
  if (devices.why == reason) return out;
  return out + (devices.count == 1 ? ", " : ", such as ") + devices.example + ": " + devices.why;
}

std::vector<PolicyProblem> problems_of(const Decision& decision) {
  std::vector<PolicyProblem> out;
  const PolicySet& policies = *decision.inputs->policies;
  for (const auto& [policy, problem] : decision.sriov_problems)
    out.push_back({"policy " + text_of(policies.sriov[static_cast<size_t>(policy)]->id), problem});
  for (const auto* problems : {&decision.selectors->problems, &decision.exposure_problems})
    for (const auto& [policy, problem] : *problems)
      out.push_back(
          {"DeviceExposurePolicy " + text_of(policies.exposures[static_cast<size_t>(policy)]->id), problem});
  return out;
}

const Problem* selector_problem(const Decision& decision, int32_t policy) {
  const auto problem = decision.selectors->problems.find(policy);
  return problem == decision.selectors->problems.end() ? nullptr : &problem->second;
}

int32_t first_unreadable_exclude(const Decision& decision) {
  return decision.selectors->node.unreadable.front();
}

}  // namespace sliced::policy
