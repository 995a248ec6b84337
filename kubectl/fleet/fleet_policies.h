#pragma once
// Evaluates policies for nodes from the devices in their reports, with the daemon's decision code. Pure.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubectl/fleet/fleet.h"
#include "policy/decision.h"
#include "policy/policy_set.h"
#include "policy/summary.h"
#include "reactor/base/result.h"

namespace sliced::kubectl {

/// Policies of both kinds, and DeviceAttributes, by name. A value type, so that a copy can be edited. An
/// invalid object is kept, as by a daemon: it offers nothing, and problems() has the reason.
class FleetPolicies {
 public:
  /// namespace_: of SriovResourcePolicies and DeviceAttributes, as the daemons' --namespace.
  FleetPolicies(FleetDrivers drivers, std::string namespace_)
      : drivers_(std::move(drivers)), namespace_(std::move(namespace_)) {}

  /// Adds or replaces an object. An object without a namespace is in namespace_. Returns false for another
  /// kind or namespace.
  bool put(const kube::Json& object);
  bool empty() const { return sriov_.empty() && exposures_.empty(); }
  /// Returns them in order of evaluation, built with each call. Without readiness, which depends on the node
  /// and the time.
  policy::PolicySetPtr set() const;
  /// The same without excludes.
  policy::PolicySetPtr exposing() const;
  const FleetDrivers& drivers() const { return drivers_; }
  /// Returns the problems of invalid policies: "dra-driver-sriov/a spec.priority: ...".
  std::vector<std::string> problems() const;
  /// Removes a policy; returns false if there is none of that name.
  bool remove(const std::string& kind, const std::string& name);
  /// Returns the kinds that have one of that name.
  std::vector<std::string> kinds_of(const std::string& name) const;
  const std::string& namespace_of_policies() const { return namespace_; }
  /// Returns the names of policies that were added, deleted or changed in content since `before`:
  /// "namespace/name", or "name" of a DeviceExposurePolicy.
  std::set<std::string> changed_since(const FleetPolicies& before) const;

 private:
  policy::PolicySetPtr made(bool has_excludes) const;
  FleetDrivers drivers_;
  std::string namespace_;
  std::map<std::string, policy::SriovPolicy> sriov_;
  std::map<std::string, policy::DeviceAttributes> attributes_;
  std::map<std::string, policy::ExposurePolicy> exposures_;
};

/// Returns `now` with the objects of a YAML or JSON text, which replace those of their names. Ignores objects
/// of other kinds. Errors: kInvalid, "LINE: what": the text is invalid, contains no policy, or an object
/// whose kind is misspelled or invalid.
Result<FleetPolicies> edited_by(std::string_view text, const FleetPolicies& now);

/// Returns `now` without the policies of a list "KIND/NAME,...". KIND is a name that kubectl accepts for one
/// of the three kinds ("srp", "sriovresourcepolicies", "DeviceExposurePolicy"); without it the name must be
/// unique across kinds. Errors: kInvalid, kNotFound: the wrong element, and the possible ones.
Result<FleetPolicies> without(std::string_view list, const FleetPolicies& now);

/// Returns "SriovResourcePolicy namespace/name", "DeviceExposurePolicy name".
std::string describe(const reports::PolicyRef& policy);
/// Returns the policies of a set that select the node, in order of evaluation.
std::vector<reports::PolicyRef> policies_selecting(const policy::PolicySet& set, const kube::NodeView& node);

/// One entry as which a device would be offered.
struct JudgedEntry {
  std::string driver, name;  // of the entry
  std::string device;        // host device
  reports::PolicyRef policy;
  kube::DevicePtr entry;  // as it would be published, from the known facts
};

/// The result of policies for a node's devices. Gates that depend on time (settling, readiness, quarantine)
/// are unknown here and ignored: an entry may be held back on its node.
struct JudgedNode {
  std::map<std::pair<std::string, std::string>, JudgedEntry> entries;  // by driver and name
  std::map<std::string, policy::Disposition> dispositions;             // by host device
  policy::SelectorResultsPtr selectors;  // results of selectors, for evaluating an edit
  std::set<std::string> problems;  // of policies that can be decoded but not used: an invalid expression
};
/// published: the current entries of the node, nullptr if none: an invalid policy does not withdraw them.
JudgedNode judge_node(const reports::NodeReport& report, const kube::NodeView& node,
                      const policy::PolicySetPtr& policies, const FleetDrivers& drivers,
                      const JudgedNode* published = nullptr);

/// Returns why a judgement from the node's report would be invalid: facts are missing, the report is based on
/// other policies, or a device that it reports as offered would not be by its own facts. "" if it is valid.
/// now: the node judged with the current policies.
std::string cannot_be_judged(const reports::NodeReport& report, const kube::NodeView& node,
                             const policy::PolicySet& policies, const JudgedNode& now);
/// The policies of an edit for a node whose labels may not be read: from the policies in its report, and node
/// selectors without labels.
struct NodePolicies {
  policy::PolicySetPtr before, after;
  std::string why_not;  // why it is unknown whether one of them selects the node; "" if it is known
};
NodePolicies policies_without_labels(const policy::PolicySet& before, const policy::PolicySet& after,
                                     const reports::NodeReport& report);

/// Returns why an edit cannot be judged on a node if policies of these kinds may not be read
/// ("SriovResourcePolicy", ...): its report names one, or a policy of the edit uses attributes of unknown
/// objects. "" if it can.
std::string missing_for_edit(const std::set<std::string>& unlisted, const reports::NodeReport& report,
                             const policy::PolicySet& before, const policy::PolicySet& after,
                             const kube::NodeView& node);

/// Returns the attributes that selectors of these policies read and reports lack: "policy x asks for mac".
/// Searches words of the expression, so comments count, too. changed: names from changed_since().
std::vector<std::string> unreported_facts(const policy::PolicySet& policies,
                                          const std::set<std::string>& changed);

/// The same for one node: interfaces of VFs that its report does not name.
std::string unreported_facts_of(const reports::NodeReport& report, const policy::PolicySet& policies,
                                const std::set<std::string>& changed);

/// An entry that would be added, removed or changed.
struct EntryChange {
  char what = '~';  // '+', '-', '~'
  std::string driver, name, device;
  std::string before, after;             // policies, from describe(); "" if none
  std::vector<std::string> attributes;   // for '~': "key: old -> new"
  std::vector<std::string> claims = {};  // for '-': the current holders, "namespace/name (pod a)"
  bool operator==(const EntryChange&) const = default;
};
std::vector<EntryChange> entry_changes(const JudgedNode& before, const JudgedNode& after);

}  // namespace sliced::kubectl
