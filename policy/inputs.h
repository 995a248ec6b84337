#pragma once
// Everything that a decision is made from: immutable values, gathered on the loop (daemon/inputs.h) and read on
// whichever thread decides. Nothing else is asked: no clock (the time is a value here), no server, no file. So the same inputs give the same
// decision on every node and in every replay.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hotplug/facts.h"
#include "kube/objects/selector.h"
#include "policy/budget.h"
#include "policy/desired.h"
#include "policy/entry_memory.h"
#include "policy/holding.h"
#include "policy/not_returned.h"
#include "policy/policy_set.h"
#include "policy/published.h"
#include "policy/readiness/track.h"
#include "policy/readiness/word.h"
#include "policy/reserved/unverified.h"

namespace sliced::policy {

struct SelectorAnswers;  // exposure/resolve.h
using SelectorAnswersPtr = std::shared_ptr<const SelectorAnswers>;

/// What options and probes of the server say (publishers/server_features.h). What is not known of a server is taken for
/// no; the defaults here are those of a server that can.
/// Compared as a value: another one makes entries of the decision before useless where they were made under
/// it.
struct Settings {
  std::string sriov_driver = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver = std::string(kExposureDriver);
  bool list_attributes = false;   // the server takes list attributes (gate DRAListTypeAttributes)
  bool lists_numa_nodes = false;  // --numa-node-attribute list, and the server takes list attributes
  /// The server stores counters and the scheduler adds them up (gate DRAPartitionableDevices, 1.36.2).
  bool counters = true;
  /// --exclusion compatibility-groups, and the server stores them (gate DRADeviceCompatibilityGroups). Only with `counters`.
  bool compatibility_groups = false;
  /// The server stores what is allocated several times (gate DRAConsumableCapacity).
  bool shared_devices = true;
  /// Claims need no plugin on the node: --skip-node-operations, and the server stores it (gate DRAOptionalNodeOperations).
  bool skip_node_operations = false;
  Readiness readiness;  // the daemon's, of what policies leave out
  WorkBudgets budgets;
};

/// A desired device entry that the server refused or mutilated: held back as long as its content stays the
/// same.
/// content_hash is of the entry as it was sent: an edit that changes it lets it be tried again at once.
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

/// Somebody else configures this node's hardware and has not said yet that it is done (--until-configured).
struct Unconfigured {
  std::string why;  // what is waited for, in words; "": it is configured, or nobody is asked
  /// Names of entries that stand in slices which say that they are of this boot, by kind of policy: they stay.
  std::set<std::string> sriov = {}, exposure = {};
  bool holds() const { return !why.empty(); }
};

/// Shared by whoever decides, explains or compares; the decision holds its own (Decision::inputs).
/// Never changed once a decision has it: whoever wants another decision makes another one, which shares what
/// has not changed.
struct Inputs {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  kube::NodeView node;
  Settings settings;
  Quarantines quarantine;
  Published published;
  Unconfigured unconfigured = {};
  NotReturnedDevices not_returned = {};
  /// Host devices in motion: what policies say of those that are not offered yet waits, and what is published
  /// of the others stays as it was.
  std::set<std::string> settling;
  DesiredPoolsPtr before;  // what was decided last to be published; nullptr nothing, or nobody asks
  /// When that was; nullopt: nothing was, and what stands in slices (published) is of the process before.
  std::optional<TimePoint> before_at;
  /// Where facts of some VF are unknown (sriov/match.h): the policies that were asked then, in order.
  std::vector<Shared<SriovPolicy>> asked_before;
  /// When this is gathered, and since when conditions of readiness have held then.
  TimePoint now{};
  Tracks tracks;
  NodeState node_state;
  /// Of PFs' word (gates/pf_word.h): nullopt, whatever is known counts, since it was read to decide this once; and what
  /// the decision before found to be asked, nullptr nothing.
  std::optional<QueryTimes> query_times;
  AskedOfPfsPtr asked_of_pfs;
  /// Entries that may be allocated, whatever the policies say now: offered, or withdrawn and not shown free
  /// since. Of the exposure driver by pool; of the other driver by name of the entry (its function's).
  HoldingsByPool holdings;
  std::set<std::string> sriov_holdings;
  bool is_sriov_unverified = false;  // any VF may be allocated through the other driver
  UnverifiedPools unverified;        // beside `holdings`
  bool awaits_pods = false;          // what pods of this node have of unverified pools has not been looked at
  // Of the decision before; nullptr none. entries: without it, only more is made anew.
  SelectorAnswersPtr selectors;
  EntryMemoryPtr entries;
};

}  // namespace sliced::policy
