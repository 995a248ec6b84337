#pragma once
// What a fleet of reports makes of each policy: `.status` of both kinds of policies, as a value. Pure.
//
// Conditions: Accepted         it can be understood, by who sums up
//             NotUsedAsWritten some of it is not used on some node, or by anybody
//             Conflict         devices that it matches are another policy's: one of the other kind has them, or one of its
//                              own kind is asked first and offers them in another way
// Reasons:    Understood, NotUnderstood; Problems, AsWritten; OfferedByAnother, Overruled, None: an
//             interface, as types are.
// Bounds:     messages of 1,024 bytes, of what a node says 160; overruled_by counts the first 16 names.
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
  /// Those that anybody else has.
  template <class F>
  void each_in_use(F f) const {
    for (const auto& one : all_)
      if (one.use_count() > 1) f(*one);
  }
  /// nullptr: nobody has it.
  const T* find(const T& value) const {
    const auto known = all_.find(value);
    return known == all_.end() ? nullptr : known->get();
  }

  static constexpr size_t kForgetMin = 1'024;

 private:
  struct ByValue {
    using is_transparent = void;
    // NOLINTNEXTLINE(bugprone-return-const-ref-from-parameter): of an element, or of what is looked for
    static const T& value(const T& one) { return one; }
    static const T& value(const std::shared_ptr<const T>& one) { return *one; }
    bool operator()(const auto& one, const auto& other) const { return value(one) < value(other); }
  };
  std::set<std::shared_ptr<const T>, ByValue> all_;
  size_t forget_at_ = kForgetMin;
};
/// What of a policy is not as whoever wrote it may have meant it, on one node. Equal ones are one object
/// (SharedWords), so that a fleet that agrees costs as much as one node.
struct Trouble {
  std::string problem;       // "" none
  std::string overruled_by;  // of its kind, as PolicyReport has it
  int64_t overruled = 0;     // devices that those have
  int64_t conflicts = 0;     // devices that the other kind has
  auto operator<=>(const Trouble&) const = default;
};
struct SharedWords {
  SharedValues<reports::PolicyRef> policies;
  SharedValues<Trouble> troubles;
};

/// What one node says of one policy, as much of it as is summed up.
struct PolicyWord {
  std::shared_ptr<const reports::PolicyRef> policy;
  std::shared_ptr<const Trouble> trouble;  // nullptr: none
  int64_t generation = 0, matched = 0, offered = 0;
  bool operator==(const PolicyWord&) const = default;  // of one SharedWords
};
using NodeWords = std::vector<PolicyWord>;
/// One word a policy: who names one twice is heard once. Texts are cut before they are shared (160 bytes).
NodeWords words_of(const reports::NodeReport& report, SharedWords& shared);

/// Of one policy, over all nodes. Sums of what reports say, each at most 10^12 (decode_node_report()), so
/// that those of a fleet fit.
struct FleetWord {
  int64_t selected = 0;  // nodes
  int64_t matched = 0, offered = 0, conflicts = 0, overruled = 0;
  int64_t conflict_nodes = 0, overruled_nodes = 0;
  std::string first_overruled;                  // the first of those nodes
  std::map<std::string, int64_t> overruled_by;  // by whom, devices; of some names
  /// By generation: nodes with a problem, and the first of them.
  std::map<int64_t, int64_t> nodes_by_generation, problem_nodes;
  std::map<int64_t, std::string> first_problem;  // "node: problem"
};
/// One more node. In order of their names, so that the same reports give the same words.
void add(const std::string& node, const PolicyWord& word, FleetWord& to);

/// As metav1.Condition; its observedGeneration is the status'. message: fit for people, at most 1,024 bytes.
struct Condition {
  bool is_true = false;
  std::string reason, message, since;  // since: lastTransitionTime
  bool operator==(const Condition&) const = default;
};
inline constexpr std::array<std::string_view, 3> kConditionTypes = {"Accepted", "Conflict",
                                                                    "NotUsedAsWritten"};

/// Who has summed up, of several that may.
struct Writer {
  std::string version;     // of the program, by semver.org
  std::string namespace_;  // whose SriovResourcePolicies it sums up, too
  bool operator==(const Writer&) const = default;
};
/// Whether what `one` has written is left alone by `other`: it is of a newer version, or of the same one and its namespace comes first
/// by name. Of what is no version anybody's is newer.
/// A pre-release is older than the release of its numbers; two of them, and two builds, count as the same version.
bool precedes(const Writer& one, const Writer& other);

struct PolicyStatus {
  Writer writer;
  int64_t observed_generation = 0;
  /// Nodes that report it; of those, how many have decided by this generation.
  int64_t nodes_selected = 0, nodes_current = 0;
  int64_t devices_matched = 0, devices_offered = 0;
  std::array<Condition, 3> conditions = {};  // in the order of kConditionTypes
  bool operator==(const PolicyStatus&) const = default;
  /// Whoever says it: the writer is not compared, times of conditions are.
  bool says_the_same(const PolicyStatus& other) const;
};

/// A policy as whoever sums up reads it.
struct JudgedPolicy {
  int64_t generation = 0;
  std::string problem;  // the first that its decoding finds; "" none
};
/// held: what stands there. Times change only with what they are of. now: RFC 3339. The writer is left out.
/// NotUsedAsWritten is by the policy's own problem, and by what nodes say of this generation alone; Conflict
/// and the counts of devices by what each says last.
PolicyStatus status_of(const JudgedPolicy& policy, const FleetWord& word, const PolicyStatus& held,
                       const std::string& now);

/// {"status":{...}}: what is ours of it. Conditions of other types may stand beside ours.
/// Each condition has the generation that the whole status is of.
kube::Json json_of(const PolicyStatus& status);
/// Of a policy; what is missing or of another type is empty.
PolicyStatus decode_policy_status(const kube::Json& policy);

}  // namespace sliced::aggregate
