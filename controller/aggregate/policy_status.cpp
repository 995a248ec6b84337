#include "controller/aggregate/policy_status.h"

#include <algorithm>
#include <utility>

#include "policy/verdict.h"
#include "reactor/base/text.h"

namespace sliced::aggregate {
namespace {

constexpr size_t kProblemBytesMax = 160;  // limit of a text from a node
constexpr size_t kOverrulersMax = 16;     // limit of counted names
constexpr size_t kMessageMax = 1'024;     // limit of a message
constexpr size_t kAccepted = 0, kConflict = 1, kNotUsed = 2;

constexpr std::pair<std::string_view, int64_t PolicyStatus::*> kNumbers[] = {
    {"observedGeneration", &PolicyStatus::observed_generation},
    {"nodesSelected", &PolicyStatus::nodes_selected},
    {"nodesCurrent", &PolicyStatus::nodes_current},
    {"devicesMatched", &PolicyStatus::devices_matched},
    {"devicesOffered", &PolicyStatus::devices_offered},
};

constexpr std::pair<std::string_view, std::string Writer::*> kWriterTexts[] = {
    {"version", &Writer::version}, {"namespace", &Writer::namespace_}};

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

NodePolicyProblem trouble_of(const reports::PolicyReport& policy) {
  const auto conflicts = policy.hidden.find(std::string(name_of(policy::Outcome::kConflict)));
  return {.problem = cut(policy.problem, kProblemBytesMax),
          .overruled_by = policy.overruled == 0 ? "" : cut(policy.overruled_by, kProblemBytesMax),
          .overruled = policy.overruled,
          .conflicts = conflicts == policy.hidden.end() ? 0 : conflicts->second};
}

std::string conflict_of(const PolicyTotals& word) {
  return count_of(word.conflicts, "device") + " on " + count_of(word.conflict_nodes, "node") +
         ": a SriovResourcePolicy offers the function, or one of its VFs";
}

// Returns the overruling policy, and the node; of several the one with the most devices.
std::string overruled_of(const PolicyTotals& word) {
  const auto most =
      std::ranges::max_element(word.overruled_by, {}, [](const auto& one) { return one.second; });
  const std::string who =
      most == word.overruled_by.end() || most->first.empty() ? "another policy" : "policy " + most->first;
  const size_t others = word.overruled_by.empty() ? 0 : word.overruled_by.size() - 1;
  return count_of(word.overruled, "device") + " on " + count_of(word.overruled_nodes, "node") + ", first " +
         word.first_overruled + ": " + who +
         (others == 0 ? "" : " (and " + count_of(static_cast<int64_t>(others), "other") + ")") +
         " has precedence by priority and name, and offers them differently";
}

void set_conflict(const PolicyTotals& word, const Condition& held, const std::string& now, Condition& out) {
  std::string message = word.conflicts > 0 ? conflict_of(word) : "";
  if (word.overruled > 0) message += (message.empty() ? "" : "; ") + overruled_of(word);
  const bool is_contested = !message.empty();
  set(out, is_contested,
      word.conflicts > 0 ? "OfferedByAnother"
      : is_contested     ? "Overruled"
                         : "None",
      std::move(message), held, now);
}

// Returns the numbers of "1.2.3-rc.1", and 0 for a pre-release or 1 for a release, which is newer. The build
// is ignored. An invalid version is older than every other.
std::array<int64_t, 4> order_of(std::string_view version) {
  std::array<int64_t, 4> out = {-1, -1, -1, -1};
  version = version.substr(0, version.find('+'));
  const size_t dash = version.find('-');
  const auto parts = split(version.substr(0, dash), '.');
  if (parts.size() != 3) return out;
  for (size_t i = 0; i < parts.size(); ++i) out[i] = parse_int(parts[i]).value_or(-1);
  out[3] = dash == std::string_view::npos ? 1 : 0;
  return out;
}

}  // namespace

bool precedes(const Writer& one, const Writer& other) {
  const auto own = order_of(one.version), others = order_of(other.version);
  return own != others ? own > others : one.namespace_ < other.namespace_;
}

bool PolicyStatus::has_same_content(const PolicyStatus& other) const {
  return conditions == other.conditions && std::ranges::all_of(kNumbers, [&](const auto& one) {
           return this->*one.second == other.*one.second;
         });
}

NodePolicyReports policy_reports_of(const reports::NodeReport& report, SharedReportValues& shared) {
  NodePolicyReports out;
  std::set<reports::PolicyRef> seen;
  for (const reports::PolicyReport& policy : report.policies) {
    if (!seen.insert(policy.policy).second) continue;
    out.push_back({.policy = shared.policies.of(policy.policy),
                   .generation = policy.generation,
                   .matched = policy.matched,
                   .offered = policy.offered});
    if (const NodePolicyProblem trouble = trouble_of(policy); trouble != NodePolicyProblem{})
      out.back().trouble = shared.troubles.of(trouble);
  }
  out.shrink_to_fit();
  return out;
}

void add(const std::string& node, const NodePolicyReport& word, PolicyTotals& to) {
  ++to.selected;
  ++to.nodes_by_generation[word.generation];
  to.matched += word.matched;
  to.offered += word.offered;
  if (word.trouble == nullptr) return;
  const NodePolicyProblem& trouble = *word.trouble;
  to.conflicts += trouble.conflicts;
  to.conflict_nodes += trouble.conflicts > 0 ? 1 : 0;
  if (trouble.overruled > 0) {
    to.overruled += trouble.overruled;
    if (++to.overruled_nodes == 1) to.first_overruled = node;
    if (to.overruled_by.size() < kOverrulersMax || to.overruled_by.contains(trouble.overruled_by))
      to.overruled_by[trouble.overruled_by] += trouble.overruled;
  }
  if (!trouble.problem.empty() && ++to.problem_nodes[word.generation] == 1)
    to.first_problem.emplace(word.generation, node + ": " + trouble.problem);
}

PolicyStatus status_of(const JudgedPolicy& policy, const PolicyTotals& word, const PolicyStatus& held,
                       const std::string& now) {
  PolicyStatus out{.writer = {},
                   .observed_generation = policy.generation,
                   .nodes_selected = word.selected,
                   .nodes_current = value_or_none(word.nodes_by_generation, policy.generation),
                   .devices_matched = word.matched,
                   .devices_offered = word.offered};
  const auto& was = held.conditions;
  const bool is_good = policy.problem.empty();
  set(out.conditions[kAccepted], is_good, is_good ? "Understood" : "NotUnderstood", policy.problem,
      was[kAccepted], now);
  set_conflict(word, was[kConflict], now, out.conditions[kConflict]);
  // Reports of other generations do not count.
  const int64_t nodes = value_or_none(word.problem_nodes, policy.generation);
  const std::string first = value_or_none(word.first_problem, policy.generation);
  const bool is_unused = nodes > 0 || !is_good;
  set(out.conditions[kNotUsed], is_unused, is_unused ? "Problems" : "AsWritten",
      nodes > 0 ? "on " + count_of(nodes, "node") + "; " + first : policy.problem, was[kNotUsed], now);
  return out;
}

kube::Json json_of(const PolicyStatus& status) {
  kube::Json inner = kube::Json::Object{};
  for (const auto& [key, number] : kNumbers) inner.set(key, status.*number);
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
  kube::Json writer = kube::Json::Object{};
  for (const auto& [key, text] : kWriterTexts)
    if (!(status.writer.*text).empty()) writer.set(key, status.writer.*text);
  if (!writer.object()->empty()) inner.set("writer", std::move(writer));
  kube::Json out = kube::Json::Object{};
  out.set("status", std::move(inner));
  return out;
}

PolicyStatus decode_policy_status(const kube::Json& policy) {
  PolicyStatus out;
  const kube::Json* status = policy.find("status");
  if (status == nullptr) return out;
  for (const auto& [key, number] : kNumbers)
    if (const kube::Json* found = status->find(key); found != nullptr && found->integer() != nullptr)
      out.*number = *found->integer();
  if (const kube::Json* writer = status->find("writer"); writer != nullptr)
    for (const auto& [key, text] : kWriterTexts) out.writer.*text = writer->text(key);
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

}  // namespace sliced::aggregate
