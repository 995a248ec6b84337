#include "reports/policy_status.h"

#include <algorithm>
#include <utility>

#include "policy/verdict.h"
#include "reactor/base/text.h"

namespace sliced::reports {
namespace fleet {
namespace {

using kube::Json;

constexpr size_t kProblemBytesMax = 160;  // kept of what a node says
constexpr size_t kMessageMax = 1'024;     // of a condition
constexpr size_t kAccepted = 0, kConflict = 1, kNotUsed = 2;

constexpr std::pair<std::string_view, int64_t PolicyStatus::*> kNumbers[] = {
    {"observedGeneration", &PolicyStatus::observed_generation},
    {"nodesSelected", &PolicyStatus::nodes_selected},
    {"nodesCurrent", &PolicyStatus::nodes_current},
    {"devicesMatched", &PolicyStatus::devices_matched},
    {"devicesOffered", &PolicyStatus::devices_offered},
};

std::string count_of(int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

template <class Map>
typename Map::mapped_type value_or_none(const Map& map, int64_t key) {
  const auto at = map.find(key);
  return at == map.end() ? typename Map::mapped_type{} : at->second;
}

void set(Condition& condition, bool is_true, std::string reason, std::string message, const Condition& held,
         const std::string& now) {
  const bool is_as_before = held.is_true == is_true && !held.since.empty();
  condition = {is_true, std::move(reason), cut(printable(message, kMessageMax), kMessageMax),
               is_as_before ? held.since : now};
}

}  // namespace
}  // namespace fleet

NodeWords words_of(const NodeReport& report, SharedWords& shared) {
  NodeWords out;
  std::set<PolicyRef> said;
  for (const PolicyReport& policy : report.policies) {
    if (!said.insert(policy.policy).second) continue;
    const auto conflicts = policy.hidden.find(std::string(name_of(policy::Outcome::kConflict)));
    out.push_back({.policy = shared.policies.of(policy.policy),
                   .generation = policy.generation,
                   .matched = policy.matched,
                   .offered = policy.offered,
                   .conflicts = conflicts == policy.hidden.end() ? 0 : conflicts->second});
    if (!policy.problem.empty())
      out.back().problem = shared.problems.of(cut(policy.problem, fleet::kProblemBytesMax));
  }
  out.shrink_to_fit();
  return out;
}

std::map<PolicyRef, FleetWord> sum_up(const std::map<std::string, NodeWords>& by_node) {
  std::map<const PolicyRef*, FleetWord> sums;
  for (const auto& [node, words] : by_node)
    for (const PolicyWord& word : words) {
      FleetWord& sum = sums[word.policy.get()];
      ++sum.selected;
      ++sum.nodes_by_generation[word.generation];
      sum.matched += word.matched;
      sum.offered += word.offered;
      sum.conflicts += word.conflicts;
      sum.conflict_nodes += word.conflicts > 0 ? 1 : 0;
      if (word.problem == nullptr) continue;
      if (++sum.problem_nodes[word.generation] == 1)
        sum.first_problem.emplace(word.generation, node + ": " + *word.problem);
    }
  std::map<PolicyRef, FleetWord> out;
  for (auto& [policy, sum] : sums) out.emplace(*policy, std::move(sum));
  return out;
}

PolicyStatus status_of(const JudgedPolicy& policy, const FleetWord& word, const PolicyStatus& held,
                       const std::string& now) {
  PolicyStatus out{.observed_generation = policy.generation,
                   .nodes_selected = word.selected,
                   .nodes_current = fleet::value_or_none(word.nodes_by_generation, policy.generation),
                   .devices_matched = word.matched,
                   .devices_offered = word.offered};
  const auto& was = held.conditions;
  const bool is_good = policy.problem.empty();
  fleet::set(out.conditions[fleet::kAccepted], is_good, is_good ? "Understood" : "NotUnderstood",
             policy.problem, was[fleet::kAccepted], now);
  const bool is_contested = word.conflicts > 0;
  fleet::set(out.conditions[fleet::kConflict], is_contested, is_contested ? "OfferedByAnother" : "None",
             is_contested ? fleet::count_of(word.conflicts, "device") + " on " +
                                fleet::count_of(word.conflict_nodes, "node") +
                                ": a SriovResourcePolicy offers the function, or one of its VFs"
                          : "",
             was[fleet::kConflict], now);
  // What nodes said of another generation is not of this one.
  const int64_t nodes = fleet::value_or_none(word.problem_nodes, policy.generation);
  const std::string first = fleet::value_or_none(word.first_problem, policy.generation);
  const bool is_unused = nodes > 0 || !is_good;
  fleet::set(out.conditions[fleet::kNotUsed], is_unused, is_unused ? "Problems" : "AsWritten",
             nodes > 0 ? "on " + fleet::count_of(nodes, "node") + "; " + first : policy.problem,
             was[fleet::kNotUsed], now);
  return out;
}

kube::Json json_of(const PolicyStatus& status) {
  kube::Json inner = kube::Json::Object{};
  for (const auto& [key, number] : fleet::kNumbers) inner.set(key, status.*number);
  kube::Json::Array conditions;
  for (size_t i = 0; i < kConditionTypes.size(); ++i) {
    const Condition& condition = status.conditions[i];
    kube::Json one = kube::Json::Object{};
    one.set("type", kConditionTypes[i]);
    one.set("status", condition.is_true ? "True" : "False");
    one.set("observedGeneration", status.observed_generation);
    one.set("lastTransitionTime", condition.since);
    one.set("reason", condition.reason);
    one.set("message", condition.message);
    conditions.push_back(std::move(one));
  }
  inner.set("conditions", std::move(conditions));
  kube::Json out = kube::Json::Object{};
  out.set("status", std::move(inner));
  return out;
}

PolicyStatus decode_policy_status(const kube::Json& policy) {
  PolicyStatus out;
  const kube::Json* status = policy.find("status");
  if (status == nullptr) return out;
  for (const auto& [key, number] : fleet::kNumbers)
    if (const kube::Json* found = status->find(key); found != nullptr && found->integer() != nullptr)
      out.*number = *found->integer();
  const kube::Json* conditions = status->find("conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return out;
  for (const kube::Json& one : *conditions->array()) {
    const auto at = std::ranges::find(kConditionTypes, one.text("type"));
    if (at == kConditionTypes.end()) continue;
    out.conditions[static_cast<size_t>(at - kConditionTypes.begin())] = {
        one.text("status") == "True", std::string(one.text("reason")), std::string(one.text("message")),
        std::string(one.text("lastTransitionTime"))};
  }
  return out;
}

}  // namespace sliced::reports
