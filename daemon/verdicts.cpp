#include "daemon/verdicts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/status/verdict_table.h"
#include "kube/objects/list.h"
#include "policy/exposure/resolve.h"
#include "reactor/base/text.h"

namespace sliced::daemon {
namespace {

constexpr size_t kRulesOfAllMax = 50'000, kRulesOfOneMin = 10;
constexpr size_t kVerdictPieceBytes = 32u << 10;

kube::Json unreadable_as_json(const std::vector<UnreadablePolicy>& policies) {
  std::vector<kube::Json> out;
  for (const UnreadablePolicy& one : policies) {
    kube::Json item = kube::Json::Object{};
    item.set("policy", escaped(one.policy));
    if (!one.place.empty()) item.set("place", one.place);
    item.set("field", escaped(one.field));
    item.set("problem", escaped(one.problem));
    item.set("devices", static_cast<int64_t>(one.devices));
    out.push_back(std::move(item));
  }
  return kube::Json::Array(std::move(out));
}

}  // namespace

VerdictSnapshot snapshot_of(const Daemon& daemon) {
  std::vector<std::string> names;
  for (const PoolPublisher& offer : daemon.offers())
    for (const auto& [name, slice] : offer.publisher().observed())
      for (const kube::Device& device : slice.devices) names.push_back(device.name);
  std::ranges::sort(names);
  return {daemon.shared_decision(), std::make_shared<const std::vector<std::string>>(std::move(names))};
}

policy::Explanation explain_as_published(const VerdictSnapshot& snapshot, const std::string& id,
                                         size_t rules_max) {
  policy::Explanation explanation = policy::explain(*snapshot.decision, id, rules_max);
  if (explanation.entry.empty() || std::ranges::binary_search(*snapshot.published, explanation.entry))
    return explanation;
  explanation.summary += "; no slice has it yet: check that the daemon runs, and its log for this entry";
  return explanation;
}

size_t rules_max_of_all(const policy::Decision& decision) {
  return std::clamp(kRulesOfAllMax / std::max<size_t>(decision.verdicts.size(), 1), kRulesOfOneMin,
                    policy::kRulesMax);
}

std::vector<UnreadablePolicy> unreadable_policies(const policy::Decision& decision) {
  std::vector<UnreadablePolicy> out;
  const policy::Inputs& in = *decision.inputs;
  const auto vfs = std::ranges::count_if(
      in.inventory->devices, [](const auto& one) { return one.second.type == hotplug::DeviceType::kVf; });
  const auto add = [&](const std::string& name, const policy::Problem& problem, size_t devices) {
    out.push_back({.policy = name, .field = problem.field, .problem = problem.what, .devices = devices});
  };
  const auto add_of = [&](const std::map<int32_t, policy::Problem>& problems, size_t index,
                          const std::string& name, size_t devices) {
    if (const auto at = problems.find(static_cast<int32_t>(index)); at != problems.end())
      add(name, at->second, devices);
  };
  for (size_t i = 0; i < in.policies->sriov.size(); ++i) {
    const std::string name = "SriovResourcePolicy " + text_of(in.policies->sriov[i]->id);
    for (const policy::Problem& problem : in.policies->sriov[i]->problems)
      add(name, problem, static_cast<size_t>(vfs));
    add_of(decision.sriov_problems, i, name, static_cast<size_t>(vfs));
    const policy::SriovPolicy& policy = *in.policies->sriov[i];
    if (!policy.problems.empty() || !kube::match_node(policy.node_selector, in.node).matched) continue;
    for (size_t config = 0; config < policy.configs.size(); ++config) {
      if (policy.configs[config].problems.empty()) continue;
      add(name, policy.configs[config].problems.front(), static_cast<size_t>(vfs));
      out.back().place = "spec.configs[" + std::to_string(config) + "]";
    }
  }
  for (size_t i = 0; i < in.policies->exposures.size(); ++i) {
    const policy::ExposurePolicy& policy = in.policies->exposures[i];
    const std::string name = "DeviceExposurePolicy " + policy.id.name;
    for (const policy::Problem& problem : policy.problems) add(name, problem, decision.verdicts.size());
    add_of(decision.selectors->problems, i, name, decision.verdicts.size());
    add_of(decision.exposure_problems, i, name, decision.verdicts.size());
  }
  return out;
}

std::string text_of(const std::vector<UnreadablePolicy>& policies) {
  std::string out;
  for (const UnreadablePolicy& one : policies)
    out += escaped(one.policy) + (one.place.empty() ? "" : " " + one.place) +
           " is unreadable and offers none of " + std::to_string(one.devices) +
           (one.devices == 1 ? " device: " : " devices: ") + escaped(one.field) + ": " +
           escaped(one.problem) + "\n";
  return out;
}

void leave_out_unreadable(policy::Explanation& explanation) {
  std::erase_if(explanation.rules, [](const policy::Rule& rule) {
    return rule.wanted == policy::kUnderstoodPolicy || rule.wanted == policy::kUnderstoodConfig;
  });
}

kube::Json explanations_list(std::vector<kube::Json> items, const policy::Decision& decision) {
  kube::Json out = kube::list_of(std::move(items));
  const auto unreadable = unreadable_policies(decision);
  if (!unreadable.empty()) out.set("unreadablePolicies", unreadable_as_json(unreadable));
  return out;
}

std::string VerdictList::next() {
  if (is_over_) return {};
  const policy::Decision& decision = *snapshot_.decision;
  const size_t rules_max = rules_max_of_all(decision);
  std::string out;
  if (!std::exchange(is_begun_, true)) out = R"({"apiVersion":"v1","kind":"List","items":[)";
  for (; at_ < decision.verdicts.size() && out.size() < kVerdictPieceBytes; ++at_) {
    const std::string& id = std::next(decision.verdicts.begin(), static_cast<long>(at_))->first;
    policy::Explanation explanation = explain_as_published(snapshot_, id, rules_max);
    leave_out_unreadable(explanation);
    out += (at_ == 0 ? "\n" : ",\n") + kube::encode_json(status::json_of(explanation));
  }
  is_over_ = at_ == decision.verdicts.size();
  if (!is_over_) return out;
  const auto unreadable = unreadable_policies(decision);
  return out + "\n]" +
         (unreadable.empty()
              ? ""
              : ",\"unreadablePolicies\":" + kube::encode_json(unreadable_as_json(unreadable))) +
         "}\n";
}

}  // namespace sliced::daemon
