#pragma once
// What policies make of nodes, by what the nodes report of their devices: the real decision over facts from afar. Pure.
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

namespace sliced::cli {

/// Policies of both kinds, and DeviceAttributes, by their names. A value: a copy is edited beside the one that
/// is. What cannot be understood is kept, too, as a daemon keeps it: it offers nothing, and problems() says why.
class FleetPolicies {
 public:
  /// namespace_: whose SriovResourcePolicies and DeviceAttributes count, as the daemons' --namespace.
  FleetPolicies(FleetDrivers drivers, std::string namespace_)
      : drivers_(std::move(drivers)), namespace_(std::move(namespace_)) {}

  /// Adds an object, or takes the place of the one of its name. Of a name without namespace it is ours.
  /// False: it is of another kind, or in another namespace.
  bool put(const kube::Json& object);
  bool empty() const { return sriov_.empty() && exposures_.empty(); }
  /// In order of evaluation, made anew with each call. Without readiness: whether a device is ready is of its
  /// node and of a moment.
  policy::PolicySetPtr set() const;
  /// The same without excludes.
  policy::PolicySetPtr exposing() const;
  const FleetDrivers& drivers() const { return drivers_; }
  /// What of our policies cannot be understood, "dra-driver-sriov/a spec.priority: ...".
  std::vector<std::string> problems() const;
  /// Takes one away; false: there is none of that name.
  bool remove(const std::string& kind, const std::string& name);
  /// Kinds that have one of that name.
  std::vector<std::string> kinds_of(const std::string& name) const;
  const std::string& namespace_of_policies() const { return namespace_; }
  /// Says something else than in `before`, was not there, or has gone. Who wrote it when does not matter. By name: "namespace/name", or
  /// "name" of a DeviceExposurePolicy.
  std::set<std::string> changed_since(const FleetPolicies& before) const;

 private:
  policy::PolicySetPtr made(bool has_excludes) const;
  FleetDrivers drivers_;
  std::string namespace_;
  std::map<std::string, policy::SriovPolicy> sriov_;
  std::map<std::string, policy::DeviceAttributes> attributes_;
  std::map<std::string, policy::ExposurePolicy> exposures_;
};

/// As they would be with the objects of a YAML or JSON text in place of those of their names.
/// Objects of other kinds are passed over.
/// Errors: kInvalid, "LINE: what": it is broken, has no policy of ours, or an object whose kind is one of ours, or nearly, and which is none.
Result<FleetPolicies> edited_by(std::string_view text, const FleetPolicies& now);

/// As they would be without those of a list "KIND/NAME,...". KIND is a name that kubectl takes for one of the three kinds ("srp",
/// "sriovresourcepolicies", "DeviceExposurePolicy"); without it only one kind may have the name.
/// Errors: kInvalid, kNotFound: which of them is none, and what is possible.
Result<FleetPolicies> without(std::string_view list, const FleetPolicies& now);

/// "SriovResourcePolicy namespace/name", "DeviceExposurePolicy name".
std::string describe(const reports::PolicyRef& policy);
/// Of the policies of a set, in order of evaluation, those that select the node.
std::vector<reports::PolicyRef> policies_selecting(const policy::PolicySet& set, const kube::NodeView& node);

/// One way in which a device would be offered.
struct JudgedEntry {
  std::string driver, name;  // of the entry
  std::string device;        // host device
  reports::PolicyRef policy;
  kube::DevicePtr entry;  // what would be published, as far as the facts go
};

/// What policies make of a node's devices. What holds back because of a moment (settling, readiness, quarantine) is not
/// known from afar and takes no part: an entry here may be held back on its node.
struct JudgedNode {
  std::map<std::pair<std::string, std::string>, JudgedEntry> entries;  // by driver and name
  std::map<std::string, policy::Disposition> dispositions;             // by host device
  policy::SelectorAnswersPtr selectors;  // what they said, for who judges what is edited
  std::set<std::string> problems;  // of policies that can be decoded and not used: an expression that is none
};
/// published: what the node offers now, nullptr nothing: what cannot be understood takes none of it away.
JudgedNode judge_node(const reports::NodeReport& report, const kube::NodeView& node,
                      const policy::PolicySetPtr& policies, const FleetDrivers& drivers,
                      const JudgedNode* published = nullptr);

/// Why nothing may be concluded from what judging the node's report says: facts are left out, the report is of other
/// policies than these, or what it says is offered would not be by its own facts. "": it may.
/// now: the node judged by the policies as they are.
std::string cannot_be_judged(const reports::NodeReport& report, const kube::NodeView& node,
                             const policy::PolicySet& policies, const JudgedNode& now);
/// The policies of an edit as they are for one node whose labels may not be read: by what its report says of each policy, and by
/// node selectors that ask for no label.
struct NodePolicies {
  policy::PolicySetPtr before, after;
  std::string why_not;  // whether one of them selects the node is not known; "" it is
};
NodePolicies policies_without_labels(const policy::PolicySet& before, const policy::PolicySet& after,
                                     const reports::NodeReport& report);

/// Why an edit cannot be judged on a node where policies of these kinds may not be read ("SriovResourcePolicy", ...): its report names
/// one, or a policy of the edit takes attributes from objects that are not known. "": it can.
std::string missing_for_edit(const std::set<std::string>& unlisted, const reports::NodeReport& report,
                             const policy::PolicySet& before, const policy::PolicySet& after,
                             const kube::NodeView& node);

/// Attributes that the selectors of these policies ask for and reports do not have: "policy x asks for mac". Told by
/// the words of the expression, so that one in a comment counts, too. changed: by name, as changed_since() has it.
std::vector<std::string> unreported_facts(const policy::PolicySet& policies,
                                          const std::set<std::string>& changed);

/// The same of one node: the interfaces of VFs where its report does not name them.
std::string unreported_facts_of(const reports::NodeReport& report, const policy::PolicySet& policies,
                                const std::set<std::string>& changed);

/// An entry that would come, go or be another one.
struct EntryChange {
  char what = '~';  // '+', '-', '~'
  std::string driver, name, device;
  std::string before, after;             // policies, as describe() has them; "" none
  std::vector<std::string> attributes;   // of '~': "key: old -> new"
  std::vector<std::string> claims = {};  // of '-': that have it now, "namespace/name (pod a)"
  bool operator==(const EntryChange&) const = default;
};
std::vector<EntryChange> entry_changes(const JudgedNode& before, const JudgedNode& after);

}  // namespace sliced::cli
