#pragma once
// The result of a decision: a verdict for each host device, and the pools to publish. An immutable value.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/desired.h"
#include "policy/holding.h"
#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/problem.h"
#include "policy/verdict.h"
#include "reactor/base/flat_map.h"

namespace sliced::policy {

/// Devices that wait for the same readiness condition. The wait ends without an edit and is not a problem of
/// a policy.
struct UnreadyDevices {
  size_t count = 0;
  std::string example, why;  // the first one by name of its entry, and its reason
  bool operator==(const UnreadyDevices&) const = default;
};
/// By reason: "adminMac", "nodeState: syncStatus InProgress: ...", "stableFor: ...".
using UnreadyByReason = std::map<std::string, UnreadyDevices>;
void add_unready(UnreadyByReason& all, std::string reason, const std::string& entry, const std::string& why);
/// "64 devices wait for adminMac, such as 0000-3b-02-0: VF 0 of ens1f0 has admin MAC ..."
std::string text_of(const std::string& reason, const UnreadyDevices& devices);

/// explain.h, the log and publishing read only this value, so that they agree. A stopped decision has no
/// inputs and must not be used.
struct Decision {
  std::shared_ptr<const Inputs> inputs;         // the inputs of the decision
  FlatMap<std::string, Verdict> verdicts;       // by host device id
  std::map<std::string, std::string> refusals;  // reasons of Outcome::kRefused, by host device id
  FlatMap<std::string, std::vector<PersonaVerdict>> personas;  // by host device id, in order of suffix
  /// Pools to publish. They contain each device with the verdict kOffered, and no other.
  DesiredPools pools;
  HoldingsByPool offered;    // offered entries, by pool of the exposure driver
  HoldingsByPool contested;  // likewise, entries that are not offered because of a conflicting allocation
                             // (exposure/exclusion.h)
  std::set<std::string> unverified;  // unverified pools of the exposure driver that are reserved as a whole
  /// Pools of either driver from which a policy would offer an entry that waits for their reserved entries.
  std::set<std::string> wanted;
  bool awaits_pod_claims = false;  // an entry waits until the claims of this node's pods are read
  /// Without counters: an offered entry has another exclusionGroup from now on. Entries that only its former
  /// group excluded can be offered by the next decision, which is due immediately.
  bool is_regrouped = false;
  // Readiness: the time at which a waiting device becomes ready; PFs whose VF settings must be queried,
  // because they may change without a notification; the times since which devices are withheld.
  std::optional<TimePoint> due;
  std::set<hotplug::PciAddress> unanswered_pfs;
  std::map<std::string, TimePoint> unready_since;
  UnreadyByReason unready;
  /// The VF settings of PFs that policies require, for the next decision; and PFs whose query is due
  /// immediately.
  PfQueriesPtr pf_queries;
  std::set<hotplug::PciAddress> pfs_to_query;
  /// Evaluated SriovResourcePolicies: indices into the set, in order of evaluation.
  std::vector<int32_t> asked_sriov;
  // Memory for the next decision.
  SelectorResultsPtr selectors;
  EntryMemoryPtr entries;
  // By index of the policy: the reason that a valid policy is not used, such as its selector.
  std::map<int32_t, Problem> sriov_problems, exposure_problems;
  Notes notes;  // dropped attributes and withheld entries with their reasons, for the log
  Notes waits;  // evidence for which pools wait, "a list of all ResourceClaims, ..."; no problem and not part
                // of `notes`
};

/// A problem of a policy that decoding does not find: its selector does not compile, or it costs too much
/// work.
struct PolicyProblem {
  std::string policy;  // "policy ns/name", "DeviceExposurePolicy name"
  Problem problem;
};
/// Returns them in order of evaluation, SriovResourcePolicies first. The log reports each while it lasts.
std::vector<PolicyProblem> problems_of(const Decision& decision);
/// Returns the reason that the selector of a DeviceExposurePolicy is not used; nullptr if it is used. Points
/// into the decision.
const Problem* selector_problem(const Decision& decision, int32_t policy);

/// Returns the node's first exclude that cannot be used. Requires: there is one.
int32_t first_unreadable_exclude(const Decision& decision);

}  // namespace sliced::policy
