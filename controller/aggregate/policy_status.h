#pragma once
// Computes `.status` of both kinds of policies from the reports of all nodes. Pure.
//
// Conditions: Accepted          the policy is valid, as decoded by this controller
//             NotUsedAsWritten  a node, or every node, does not use a part of it
//             Conflict          devices that it matches are offered by a policy of the other kind, or in
//                               another way by a preceding policy of its kind
// Reasons:    Understood, NotUnderstood; Problems, AsWritten; OfferedByAnother, Overruled, None. Types and
// reasons are an interface.
// Bounds:     messages of 1,024 bytes, with 160 bytes of a node's text; overruled_by counts the first 16
// names.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"

namespace sliced::aggregate {

/// Stores equal values of thousands of reports once.
/// Memory:  unused values are removed before their number exceeds that of the used ones at the last removal.
/// Threads: one, which must also release the returned values.
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
  /// Calls f for each value that is in use elsewhere.
  template <class F>
  void each_in_use(F f) const {
    for (const auto& one : all_)
      if (one.use_count() > 1) f(*one);
  }
  /// Returns nullptr if the value is not stored.
  const T* find(const T& value) const {
    const auto known = all_.find(value);
    return known == all_.end() ? nullptr : known->get();
  }

  static constexpr size_t kForgetMin = 1'024;

 private:
  struct ByValue {
    using is_transparent = void;
    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): an element, or the searched value
    static const T& value(const T& one) { return one; }
    static const T& value(const std::shared_ptr<const T>& one) { return *one; }
    bool operator()(const auto& one, const auto& other) const { return value(one) < value(other); }
  };
  std::set<std::shared_ptr<const T>, ByValue> all_;
  size_t forget_at_ = kForgetMin;
};
/// The parts of a policy that one node does not use as written. Equal ones share one object (SharedReportValues), so
/// that a uniform fleet costs as much as one node.
struct NodePolicyProblem {
  std::string problem;       // "" if none
  std::string overruled_by;  // policies of its kind, as in PolicyReport
  int64_t overruled = 0;     // number of devices of those policies
  int64_t conflicts = 0;     // number of devices of the other kind
  auto operator<=>(const NodePolicyProblem&) const = default;
};
struct SharedReportValues {
  SharedValues<reports::PolicyRef> policies;
  SharedValues<NodePolicyProblem> troubles;
};

/// The part of one node's report about one policy that is summed up.
struct NodePolicyReport {
  std::shared_ptr<const reports::PolicyRef> policy;
  std::shared_ptr<const NodePolicyProblem> trouble;  // nullptr if none
  int64_t generation = 0, matched = 0, offered = 0;
  bool operator==(const NodePolicyReport&) const = default;  // requires the same SharedReportValues
};
using NodePolicyReports = std::vector<NodePolicyReport>;
/// Returns one element for each policy; duplicates are ignored. Texts are cut to 160 bytes before they are
/// shared.
NodePolicyReports policy_reports_of(const reports::NodeReport& report, SharedReportValues& shared);

/// The sums for one policy over all nodes. Each value of a report is at most 10^12 (decode_node_report()), so
/// that sums do not overflow.
struct PolicyTotals {
  int64_t selected = 0;  // number of nodes
  int64_t matched = 0, offered = 0, conflicts = 0, overruled = 0;
  int64_t conflict_nodes = 0, overruled_nodes = 0;
  std::string first_overruled;                  // name of the first such node
  std::map<std::string, int64_t> overruled_by;  // number of devices by policy; of a limited number of names
  /// By generation: nodes with a problem, and the first of them.
  std::map<int64_t, int64_t> nodes_by_generation, problem_nodes;
  std::map<int64_t, std::string> first_problem;  // "node: problem"
};
/// Adds one node. Requires: nodes are added by name, so that equal reports give equal texts.
void add(const std::string& node, const NodePolicyReport& word, PolicyTotals& to);

/// A metav1.Condition; its observedGeneration is that of the status. message: for people, at most 1,024
/// bytes.
struct Condition {
  bool is_true = false;
  std::string reason, message, since;  // since: lastTransitionTime
  bool operator==(const Condition&) const = default;
};
inline constexpr std::array<std::string_view, 3> kConditionTypes = {"Accepted", "Conflict",
                                                                    "NotUsedAsWritten"};

/// The writer of a status; several controllers may write.
struct Writer {
  std::string version;     // of the program (semver.org)
  std::string namespace_;  // namespace of its SriovResourcePolicies
  bool operator==(const Writer&) const = default;
};
/// Returns true if `other` must not change a status of `one`: `one` has a newer version, or the same version
/// and the first namespace by name. An invalid version is older than any other. A pre-release is older than
/// its release; two pre-releases, and two builds, count as equal.
bool precedes(const Writer& one, const Writer& other);

struct PolicyStatus {
  Writer writer;
  int64_t observed_generation = 0;
  /// Nodes that report the policy, and those of them that have decided by this generation.
  int64_t nodes_selected = 0, nodes_current = 0;
  int64_t devices_matched = 0, devices_offered = 0;
  std::array<Condition, 3> conditions = {};  // in the order of kConditionTypes
  bool operator==(const PolicyStatus&) const = default;
  /// Compares without the writer, but with times of conditions.
  bool has_same_content(const PolicyStatus& other) const;
};

/// A policy as decoded by this controller.
struct JudgedPolicy {
  int64_t generation = 0;
  std::string problem;  // the first problem of decoding; "" if none
};
/// held: the present status. The time of a condition changes only with the condition. now: RFC 3339. The
/// result has no writer.
/// NotUsedAsWritten considers the policy's own problem and reports of this generation; Conflict and device
/// counts consider the last report of each node.
PolicyStatus status_of(const JudgedPolicy& policy, const PolicyTotals& word, const PolicyStatus& held,
                       const std::string& now);

/// Returns {"status":{...}} with the fields of this controller. Conditions of other types may exist beside
/// them. Each condition has the generation of the status.
kube::Json json_of(const PolicyStatus& status);
/// Missing fields, and those of another type, are empty.
PolicyStatus decode_policy_status(const kube::Json& policy);

}  // namespace sliced::aggregate
