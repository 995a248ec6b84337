#pragma once
// What a fleet of reports makes of each policy: `.status` of both kinds of policies, as a value. Pure.
//
// Conditions: Accepted         it can be understood, by who sums up
//             NotUsedAsWritten some of it is not used on some node, or by anybody
//             Conflict         devices that it matches are another policy's by a rule that its writer may not know
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/json.h"
#include "reports/node_report.h"

namespace sliced::reports {

/// Each policy that reports name, once: what is kept of thousands of reports points to it.
class PolicyRefs {
 public:
  const PolicyRef* of(const PolicyRef& policy) { return &*all_.insert(policy).first; }

 private:
  std::set<PolicyRef> all_;
};

/// What one node says of one policy, as much of it as is summed up.
struct PolicyWord {
  const PolicyRef* policy = nullptr;
  int64_t generation = 0, matched = 0, offered = 0, conflicts = 0;
  std::string problem;
};
struct NodeWords {
  std::vector<PolicyWord> words;
  bool is_whole = true;  // no policy was left out for want of room
};
NodeWords words_of(const NodeReport& report, PolicyRefs& refs);

/// Of one policy, over all nodes.
struct FleetWord {
  int64_t selected = 0;  // nodes
  int64_t matched = 0, offered = 0, conflicts = 0;
  int64_t conflict_nodes = 0;
  /// By generation: nodes with a problem, and the first of them.
  std::map<int64_t, int64_t> nodes_by_generation, problem_nodes;
  std::map<int64_t, std::string> first_problem;  // "node: problem"
};
/// by_node: in order of names, so that the same reports give the same words.
std::map<PolicyRef, FleetWord> sum_up(const std::map<std::string, NodeWords>& by_node);

struct Condition {
  bool is_true = false;
  std::string reason, message, since;  // since: lastTransitionTime
  bool operator==(const Condition&) const = default;
};
inline constexpr std::array<std::string_view, 3> kConditionTypes = {"Accepted", "Conflict",
                                                                    "NotUsedAsWritten"};

struct PolicyStatus {
  int64_t observed_generation = 0;
  /// Nodes that report it; of those, how many have decided by this generation.
  int64_t nodes_selected = 0, nodes_current = 0;
  int64_t devices_matched = 0, devices_offered = 0;
  std::array<Condition, 3> conditions = {};  // in the order of kConditionTypes
  bool operator==(const PolicyStatus&) const = default;
};

/// A policy as whoever sums up reads it.
struct JudgedPolicy {
  int64_t generation = 0;
  std::string problem;  // the first that its decoding finds; "" none
};
/// held: what stands there. Times change only with what they are of. now: RFC 3339.
PolicyStatus status_of(const JudgedPolicy& policy, const FleetWord& word, const PolicyStatus& held,
                       const std::string& now);

/// {"status":{...}}
kube::Json json_of(const PolicyStatus& status);
/// Of a policy; what is missing or of another type is empty.
PolicyStatus decode_policy_status(const kube::Json& policy);

}  // namespace sliced::reports
