#pragma once
// What a fleet of reports makes of each policy: `.status` of both kinds of policies, as a value. Pure.
//
// Conditions: Accepted         it can be understood, by who sums up
//             NotUsedAsWritten some of it is not used on some node, or by anybody
//             Conflict         devices that it matches are another policy's by a rule that its writer may not know
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/json.h"
#include "reports/node_report.h"

namespace sliced::reports {

/// What thousands of reports say alike, each kept once.
/// Memory:  what nobody has any more is forgotten before there is twice as much as was in use when it last was, so that names
///          that come and go take nothing.
/// Threads: one, and it is the one that drops what it was given.
template <class T>
class SharedValues {
 public:
  std::shared_ptr<const T> of(const T& value) {
    if (const auto known = all_.find(value); known != all_.end()) return *known;
    if (all_.size() >= forget_at_) {
      std::erase_if(all_, [](const auto& one) { return one.use_count() == 1; });
      forget_at_ = std::max(kForgetMin, 2 * all_.size());
    }
    return *all_.insert(std::make_shared<const T>(value)).first;
  }
  size_t size() const { return all_.size(); }

  static constexpr size_t kForgetMin = 1'024;

 private:
  struct ByValue {
    using is_transparent = void;
    static const T& value(const T& one) { return one; }
    static const T& value(const std::shared_ptr<const T>& one) { return *one; }
    bool operator()(const auto& one, const auto& other) const { return value(one) < value(other); }
  };
  std::set<std::shared_ptr<const T>, ByValue> all_;
  size_t forget_at_ = kForgetMin;
};
struct SharedWords {
  SharedValues<PolicyRef> policies;
  SharedValues<std::string> problems;
};

/// What one node says of one policy, as much of it as is summed up.
struct PolicyWord {
  std::shared_ptr<const PolicyRef> policy;
  std::shared_ptr<const std::string> problem;  // nullptr: none
  int64_t generation = 0, matched = 0, offered = 0, conflicts = 0;
};
using NodeWords = std::vector<PolicyWord>;
/// One word a policy: who names one twice is heard once.
NodeWords words_of(const NodeReport& report, SharedWords& shared);

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
