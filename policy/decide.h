#pragma once
// (inventory, policies, node) -> verdicts and desired pools. Pure, deterministic, fail closed.
//
// A verdict keeps indices only; the text (which field said no, the value found, the value wanted) is made by
// explain() when somebody reads it, by the same matching functions that decided.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/resource_slice.h"
#include "kube/selector.h"
#include "policy/budget.h"
#include "policy/exposure/exclusion.h"
#include "policy/exposure/resolve.h"
#include "policy/notes.h"
#include "policy/policy_set.h"
#include "policy/published.h"

namespace sliced::policy {

struct Settings {
  std::string sriov_driver = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver = std::string(kExposureDriver);
  bool list_attributes = false;  // the server takes list attributes (gate DRAListTypeAttributes)
  /// The server stores counters and the scheduler adds them up (gate DRAPartitionableDevices, 1.36.2).
  bool counters = true;
  /// The server stores what is allocated several times (gate DRAConsumableCapacity).
  bool shared_devices = true;
  WorkBudgets budgets;
};

/// A desired device entry that the server refused or mutilated: held back as long as its content stays the
/// same.
struct Quarantine {
  uint64_t content_hash = 0;
  std::string why;
};

using QuarantinedEntries = std::map<std::string, Quarantine>;  // by name
/// By kind of policy: both may have an entry of one name.
struct Quarantines {
  QuarantinedEntries sriov, exposure;
  bool empty() const { return sriov.empty() && exposure.empty(); }
};

/// Pools of the exposure driver of which no record tells what may be allocated.
struct Doubt {
  bool is_any = false;                // every pool but those of `except`
  std::set<std::string> except = {};  // names
  bool is_of(const std::string& pool) const { return is_any && !except.contains(pool); }
};

struct Inputs {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  kube::NodeView node;
  Settings settings;
  Quarantines quarantine;
  Published published;
  /// Host devices in motion: what exposure policies say of those that are not published yet waits.
  std::set<std::string> settling;
  /// Entries that may be allocated, whatever the policies say now: offered, or withdrawn and not shown free
  /// since. Of the exposure driver by pool; of the other driver by name of the entry (its function's).
  std::map<std::string, std::vector<Holding>> holdings;
  std::set<std::string> sriov_holdings;
  bool is_sriov_doubted = false;  // any VF may be allocated through the other driver
  Doubt doubt;                    // beside `holdings`
  bool awaits_pods = false;       // what pods of this node have of pools in doubt has not been looked at
  SelectorAnswersPtr selectors;   // of the decision before; nullptr none
};

enum class Outcome : uint8_t {
  kOffered,
  kNotAVf,    // SriovResourcePolicy offers VFs only
  kNoPolicy,  // none selects this node
  kNoMatch,   // every filter of every policy said no
  kHostUse,   // matched, but the host uses it
  kBroken,    // its identity cannot be trusted
  kRefused,   // matched, but the API server would refuse or has refused the entry
  // Of DeviceExposurePolicies.
  kExcluded,           // a policy excludes it
  kExcludeUnreadable,  // an exclude that cannot be understood may mean it, and it is not offered yet
  kExcludeUnknown,     // an exclude asks for facts of its interface, which is elsewhere
  kConflict,           // a SriovResourcePolicy offers the function, or one of its VFs
  kNoCounters,         // it excludes another entry, and the cluster cannot count that
  kNoSharing,          // it may be allocated several times, and the cluster cannot count that
  kSettling,           // it has just appeared, and more may follow
  // Of both: a former entry may still be allocated.
  kHeldByOther,  // the other driver's
  kCharged,      // the same, when it could be allocated in another way
};
std::string_view name_of(Outcome outcome);  // "offered", "not-a-vf", ..., "in-use-by-host"

struct Verdict {
  Outcome outcome = Outcome::kNoMatch;
  int32_t policy = -1;  // index into PolicySet::sriov: which decided (kOffered, kHostUse, kRefused)
  int32_t config = -1;  // of its configs
  int32_t filter = -1;  // of the config's filters; -1: the config has none and takes every VF
  int32_t exposure =
      -1;  // index into PolicySet::exposures, of kExcluded, kExcludeUnreadable, kExcludeUnknown
  bool operator==(const Verdict&) const = default;
};

/// What must be published together.
struct DesiredPool {
  std::string driver, name;
  std::vector<kube::DevicePtr> devices;  // by name
  std::vector<kube::CounterSet> counters;
  bool can_count = false;                          // it has counters, or could get them
  std::map<std::string, std::string> annotations;  // of the pool's first slice, beside the node's
  std::string excludes;  // that entries of functions stand under, for each slice with some (exclude_record.h)
  bool operator==(const DesiredPool&) const = default;
};

/// What one DeviceExposurePolicy makes of a device.
struct PersonaVerdict {
  int32_t policy = -1;  // index into PolicySet::exposures
  Outcome outcome = Outcome::kOffered;
  std::string entry;  // name of the device entry, "" when it has none
  std::string why;    // where the outcome alone does not say it
  bool operator==(const PersonaVerdict&) const = default;
};

struct Decision {
  std::shared_ptr<const Inputs> inputs;         // what it was decided from
  std::map<std::string, Verdict> verdicts;      // by host device id
  std::map<std::string, std::string> refusals;  // why, for Outcome::kRefused, by host device id
  std::map<std::string, std::vector<PersonaVerdict>> personas;  // by host device id, in order of suffix
  std::vector<DesiredPool> pools;
  std::map<std::string, std::vector<Holding>> offered;  // what is offered, by pool of the exposure driver
  std::set<std::string> doubted;  // pools of the exposure driver that are charged as a whole for doubt
  /// Pools, of either driver, of which somebody wants what waits while anything of them may be allocated.
  std::set<std::string> wanted;
  bool awaits_pods = false;      // something waits until the pods of this node have been looked at
  SelectorAnswersPtr selectors;  // for the next decision
  // By policy: why it is not used although it was understood, and its selector has been asked.
  std::map<int32_t, Problem> sriov_problems, exposure_problems;
  Notes notes;  // what was dropped or held back and why, for the log
};

/// Which policy and config take each VF, without building entries: the inner loop, kept apart for its
/// benchmark. selected: indices of the policies that select the node.
Verdict decide_function(const hotplug::HostDevice& device, const PolicySet& policies,
                        const std::vector<int32_t>& selected);
std::vector<int32_t> policies_for_node(const PolicySet& policies, const kube::NodeView& node);

/// What takes it long is broken off once stop is requested; what is returned then is of no use.
Decision decide(std::shared_ptr<const Inputs> inputs, const std::stop_token& stop = {});

/// What is wrong with a policy that its decoding does not tell: its selector cannot be compiled, or it takes
/// too much work.
struct PolicyProblem {
  std::string policy;  // "policy ns/name", "DeviceExposurePolicy name"
  Problem problem;
};
std::vector<PolicyProblem> problems_of(const Decision& decision);

/// Drops attributes that the API server would refuse alone (a note each). What is left to refuse, or what it
/// refused before; "" when the entry is good. is_vital: an attribute that may not be dropped.
std::string make_acceptable(kube::Device& entry, const QuarantinedEntries& quarantine,
                            const std::function<bool(const std::string&)>& is_vital,
                            std::vector<std::string>& notes);

/// Nothing of it can be refused but what its policy adds, which is checked once: a text of the kernel's may
/// be wrong. False when it is worth a whole check.
bool is_plainly_good(const kube::Device& entry);
/// Why the server refused this very content before; "" when it did not.
std::string refused_before(const kube::Device& entry, const QuarantinedEntries& quarantine);

/// One rule that spoke about a device, as text.
struct Rule {
  std::string policy;  // "namespace/name"; "" for rules that are not a policy's
  std::string place;   // "spec.configs[0].resourceFilters[1]"
  std::string said;    // "match", "no"
  std::string field;   // "vendors"
  std::string found;   // "8086"
  std::string wanted;  // "one of 15b3"
  bool operator==(const Rule&) const = default;
};
/// One way in which a DeviceExposurePolicy offers a device, or would.
struct PersonaExplanation {
  std::string policy, entry, outcome;
  std::string summary;  // one sentence
  bool operator==(const PersonaExplanation&) const = default;
};
struct Explanation {
  std::string device;                        // host device id
  std::string outcome;                       // name_of(Outcome); of several personas the best
  std::string entry;                         // device entry name when offered; of several the first
  std::vector<PersonaExplanation> personas;  // of DeviceExposurePolicies, in order of suffix
  std::string summary;                       // one sentence
  std::vector<Rule> rules;                   // in the order of evaluation, up to the one that decided
  size_t rules_left_out = 0;                 // how many there are at least beyond those that are shown
  bool operator==(const Explanation&) const = default;
};
/// Rules are as many as policies and filters: at most rules_max of those that say no are shown, and policies
/// beyond that are not looked at. The one that decides is always there.
inline constexpr size_t kRulesMax = 1'000;
Explanation explain(const Decision& decision, const std::string& device_id, size_t rules_max = kRulesMax);

/// A stable fingerprint of an entry's content, for Quarantine.
uint64_t content_hash(const kube::Device& device);

}  // namespace sliced::policy
