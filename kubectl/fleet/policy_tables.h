#pragma once
// What each policy does on all nodes, by their reports; and what an edit of policies would change. Pure.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kubectl/fleet/fleet_policies.h"
#include "kubectl/fleet/fleet_tables.h"
#include "reactor/base/text.h"

namespace sliced::cli {

/// natural_less() as the order of a map.
struct NaturalLess {
  bool operator()(const std::string& one, const std::string& other) const { return natural_less(one, other); }
};

/// A policy on all nodes.
struct PolicyRow {
  reports::PolicyRef policy;
  std::string action = {};  // "expose", "exclude"
  int64_t priority = 0, generation = 0;
  size_t selected = 0;  // nodes, by their labels
  size_t reported = 0;  // of these, those whose report knows it as it is now
  int64_t matched = 0, offered = 0;
  reports::Counts hidden = {};  // by outcome
  std::map<std::string, size_t> problems =
      {};  // what is wrong with it, on how many nodes; 0: as it is written
  /// Devices that it would offer and another policy takes: by that policy, then by node. Without a kind: an
  /// exclude, or a gate, takes them.
  std::map<reports::PolicyRef, std::map<std::string, size_t>> behind = {};
  /// Nodes that it selects and that have not reported its present generation, with what is known of them: "reports generation 2",
  /// "daemon silent for 9m, reports generation 2", "no report". At most kLaggingMax; `selected` less `reported` counts all.
  std::map<std::string, std::string, NaturalLess> lagging = {};
  bool is_read = true;         // false: no daemon reads its namespace, so it has no effect
  bool knows_selected = true;  // false: nodes, or policies of the kind, may not be listed
};
inline constexpr size_t kLaggingMax = 1'000;

/// Filled node by node; of a report nothing is kept but counts. The policies outlive it.
/// Bounds: 20 problems of a policy; one that comes later counts where the same was told before.
class PolicyCounts {
 public:
  /// silent_for: seconds, of a node whose daemon is silent; empty: it is not known of any.
  explicit PolicyCounts(const FleetPolicies& policies,
                        std::function<std::optional<int64_t>(const std::string& node)> silent_for = {});
  /// Before the first node. Nodes may not be listed: those that report are added, without labels.
  void set_knows_nodes(bool knows);
  /// Before the first node. Policies of the kind may not be listed: they are those that nodes report.
  void set_unlisted(const std::string& kind) { unlisted_.insert(kind); }
  /// report: nullptr, the node has none. What it says of another generation of a policy is not counted: the
  ///         node has not decided by what is asked about.
  void add(const kube::NodeView& node, const reports::NodeReport* report);
  /// Who takes precedence over the policy on the node: judged with and without the others, which are two
  /// decisions. Once a node.
  void add_precedence(const kube::NodeView& node, const reports::NodeReport& report,
                      const reports::PolicyRef& policy);
  /// SriovResourcePolicies in order of evaluation, then the others in theirs.
  std::vector<PolicyRow> rows() const;
  /// Of another namespace than is asked: which nodes follow it is not known, and it is read where a node reports one of it.
  std::vector<PolicyRow> rows_of_another_namespace() const;

 private:
  void add_unlisted(const reports::PolicyReport& policy);
  void note_lag(const std::string& node, const reports::NodeReport* report, PolicyRow& row) const;

  const FleetPolicies& policies_;
  const std::function<std::optional<int64_t>(const std::string& node)> silent_for_;
  const policy::PolicySetPtr set_;
  std::vector<PolicyRow> rows_;  // in order of evaluation
  std::map<reports::PolicyRef, size_t> at_;
  std::set<std::string> unlisted_;  // kinds
  bool knows_nodes_ = true;
  bool is_reported_ = false;  // a SriovResourcePolicy of the namespace, by any node
};

/// POLICY KIND ACTION PRIORITY NODES REPORTED MATCHED OFFERED HIDDEN PROBLEMS; wide: with generation, and
/// hidden by outcome.
std::string policies_text(const std::vector<PolicyRow>& rows, const TableStyle& style);
/// Of one: the same, then its problems, which nodes have not applied it, and which policies take precedence over it where.
std::string policy_text(const PolicyRow& row, const TableStyle& style);
/// {"policies":[...]}: an interface (docs/command-line.md), as json_of() of a FleetDiff is.
kube::Json json_of(const std::vector<PolicyRow>& rows);

/// What an edit would change. A node is in one of the three: with changes, unjudged, or counted as the same.
struct FleetDiff {
  std::map<std::string, std::vector<EntryChange>> changes;  // by node, those with some
  std::map<std::string, std::string> unjudged;              // by node: why it cannot be judged
  size_t same = 0;                                          // nodes without any
  bool knows_claims = true;  // false: claims may not be read, and what is allocated is not known
};
/// Nodes with the same changes are one stanza, unless it is wide; then who has what would disappear, and the sums.
std::string diff_text(const FleetDiff& diff, const TableStyle& style);
/// {"nodes":[{"name":...,"changes":[...]}], "unjudged":[{"name":...,"why":...}], "same":n}
kube::Json json_of(const FleetDiff& diff);

}  // namespace sliced::cli
