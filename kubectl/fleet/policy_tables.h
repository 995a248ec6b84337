#pragma once
// The effect of each policy on all nodes, from their reports; and the effect of an edit. Pure.
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

namespace sliced::kubectl {

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
  size_t reported = 0;  // of these, those whose report has its current generation
  int64_t matched = 0, offered = 0;
  reports::Counts hidden = {};                  // by outcome
  std::map<std::string, size_t> problems = {};  // its problems, with the number of nodes; 0: as it is written
  /// Devices that it would offer and another policy matches first: by that policy, then by node. Without a
  /// kind: an exclude or a gate.
  std::map<reports::PolicyRef, std::map<std::string, size_t>> behind = {};
  /// Selected nodes that have not reported its current generation, with their state: "reports generation 2",
  /// "daemon silent for 9m, reports generation 2", "no report". At most kLaggingMax; `selected` minus
  /// `reported` counts all.
  std::map<std::string, std::string, NaturalLess> lagging = {};
  bool is_read = true;         // false: no daemon reads its namespace, so it has no effect
  bool knows_selected = true;  // false: nodes, or policies of the kind, may not be listed
};
inline constexpr size_t kLaggingMax = 1'000;

/// Filled node by node; keeps only counts of reports. The policies outlive it. Bounds: 20 problems per
/// policy; later reports count for known problems only.
class PolicyCounts {
 public:
  /// silent_for: seconds, for a node whose daemon is silent; empty function: unknown.
  explicit PolicyCounts(const FleetPolicies& policies,
                        std::function<std::optional<int64_t>(const std::string& node)> silent_for = {});
  /// Called before the first node. false: nodes may not be listed, so those with reports are added, without
  /// labels.
  void set_knows_nodes(bool knows);
  /// Called before the first node. Policies of the kind may not be listed: those in reports are used.
  void set_unlisted(const std::string& kind) { unlisted_.insert(kind); }
  /// report: nullptr if the node has none. Its counts for another generation of a policy are ignored: the
  /// node has not decided by the current one.
  void add(const kube::NodeView& node, const reports::NodeReport* report);
  /// Finds the policies that precede this one on the node: compares two decisions, with and without the
  /// others. Once per node.
  void add_precedence(const kube::NodeView& node, const reports::NodeReport& report,
                      const reports::PolicyRef& policy);
  /// Returns SriovResourcePolicies in order of evaluation, then the others in theirs.
  std::vector<PolicyRow> rows() const;
  /// For policies of another namespace: which nodes use it is unknown; it counts as read if a node reports
  /// one of it.
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

/// Returns POLICY KIND ACTION PRIORITY NODES REPORTED MATCHED OFFERED HIDDEN PROBLEMS; wide: with generation,
/// and hidden by outcome.
std::string policies_text(const std::vector<PolicyRow>& rows, const TableStyle& style);
/// For one policy: the same, then its problems, the nodes that have not applied it, and the policies that
/// precede it on nodes.
std::string policy_text(const PolicyRow& row, const TableStyle& style);
/// Returns {"policies":[...]}: an interface (docs/command-line.md), as is json_of() of a FleetDiff.
kube::Json json_of(const std::vector<PolicyRow>& rows);

/// The effect of an edit. A node is in one of the three: with changes, unjudged, or counted as unchanged.
struct FleetDiff {
  std::map<std::string, std::vector<EntryChange>> changes;  // by node, only nodes with changes
  std::map<std::string, std::string> unjudged;              // by node: why it cannot be judged
  size_t same = 0;                                          // number of unchanged nodes
  bool knows_claims = true;  // false: claims may not be read, so allocated devices are unknown
};
/// Nodes with equal changes share a stanza, unless it is wide; then follow the holders of devices that would
/// disappear, and the sums.
std::string diff_text(const FleetDiff& diff, const TableStyle& style);
/// Returns {"nodes":[{"name":...,"changes":[...]}], "unjudged":[{"name":...,"why":...}], "same":n}
kube::Json json_of(const FleetDiff& diff);

}  // namespace sliced::kubectl
