#pragma once
// What comes of a decision: a verdict for each host device, and the pools to publish. A value: it is made on a
// worker or on the loop, handed over once, and stands until the next one.
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

/// Devices that wait for one thing (readiness). It ends by itself and is no problem of a policy.
struct UnreadyDevices {
  size_t count = 0;
  std::string example, why;  // the first of them by name of the entry, and why it waits
  bool operator==(const UnreadyDevices&) const = default;
};
/// By reason: "adminMac", "nodeState: syncStatus InProgress: ...", "stableFor: ...".
using UnreadyByReason = std::map<std::string, UnreadyDevices>;
void add_unready(UnreadyByReason& all, std::string reason, const std::string& entry, const std::string& why);
/// "64 devices wait for adminMac, such as 0000-3b-02-0: VF 0 of ens1f0 has admin MAC ..."
std::string text_of(const std::string& reason, const UnreadyDevices& devices);

/// Everything that is said of it later (explain.h, the log, publishing) comes from here, so that none of them can
/// disagree.
/// One that was broken off (decide()'s stop) has no inputs, and nothing of it may be used.
struct Decision {
  std::shared_ptr<const Inputs> inputs;         // what it was decided from
  FlatMap<std::string, Verdict> verdicts;       // by host device id
  std::map<std::string, std::string> refusals;  // why, for Outcome::kRefused, by host device id
  FlatMap<std::string, std::vector<PersonaVerdict>> personas;  // by host device id, in order of suffix
  /// To be published as they are. What a verdict calls offered stands in one of them, and nothing else does.
  DesiredPools pools;
  HoldingsByPool offered;    // what is offered, by pool of the exposure driver
  HoldingsByPool contested;  // likewise: what is not, for what is allocated beside it (exposure/exclusion.h)
  std::set<std::string> unverified;  // pools of the exposure driver that are charged as a whole as unverified
  /// Pools, of either driver, of which somebody wants what waits while anything of them may be allocated.
  std::set<std::string> wanted;
  bool awaits_pods = false;  // something waits until the pods of this node have been looked at
  /// Without counters: what goes on being offered has another exclusionGroup from now on, and what it kept out by
  /// the one before can be offered by the next decision, which is due at once.
  bool is_regrouped = false;
  // Of readiness: when something that waits will have been ready for long enough; PFs that have to be asked what
  // they enforce, since what waits for that may not be told; since when devices are held back.
  std::optional<TimePoint> due;
  std::set<hotplug::PciAddress> awaited_pfs;
  std::map<std::string, TimePoint> unready_since;
  UnreadyByReason unready;
  /// What policies ask of PFs' word, for the next decision; PFs that have not been asked since, and are to be at once.
  AskedOfPfsPtr asked_of_pfs;
  std::set<hotplug::PciAddress> untold_pfs;
  /// SriovResourcePolicies that were asked: indices into the set, in order of evaluation.
  std::vector<int32_t> asked_sriov;
  // For the next decision.
  SelectorAnswersPtr selectors;
  EntryMemoryPtr entries;
  // By policy: why it is not used although it was understood, and its selector has been asked.
  std::map<int32_t, Problem> sriov_problems, exposure_problems;
  Notes notes;  // what was dropped or held back and why, for the log
  Notes
      waits;  // what pools wait for, "a list of all ResourceClaims, ..."; no problem, and no part of `notes`
};

/// What is wrong with a policy that its decoding does not tell: its selector cannot be compiled, or it takes
/// too much work.
struct PolicyProblem {
  std::string policy;  // "policy ns/name", "DeviceExposurePolicy name"
  Problem problem;
};
/// In order of evaluation, SriovResourcePolicies first; for the log, which says each while it lasts.
std::vector<PolicyProblem> problems_of(const Decision& decision);
/// Why the selector of a DeviceExposurePolicy is not used; nullptr: it is.
/// Points into the decision.
const Problem* selector_problem(const Decision& decision, int32_t policy);

/// The first of the node's excludes that cannot be understood. There must be one.
int32_t first_unreadable_exclude(const Decision& decision);

}  // namespace sliced::policy
