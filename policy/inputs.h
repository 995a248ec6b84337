#pragma once
// All inputs of a decision: immutable values, gathered on the loop thread (daemon/inputs.h) and read on the
// thread that decides. A decision reads no clock, server or file, so that the same inputs give the same
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
#include "policy/readiness/asked_of_pf.h"
#include "policy/readiness/track.h"
#include "policy/reserved/unverified.h"

namespace sliced::policy {

struct SelectorResults;  // exposure/resolve.h
using SelectorResultsPtr = std::shared_ptr<const SelectorResults>;

/// Options, and features of the API server (publishers/server_features.h). Unknown features count as absent;
/// the defaults here are those of a server with all features except list attributes and groups. A change
/// invalidates entries of the previous decision that depend on it.
struct Settings {
  std::string sriov_driver = "sriovnetwork.k8snetworkplumbingwg.io";
  std::string exposure_driver = std::string(kExposureDriver);
  bool list_attributes = false;    // the server stores list attributes (gate DRAListTypeAttributes)
  bool lists_numa_nodes = false;   // --numa-node-attribute list, and the server stores list attributes
  bool dranet_attributes = false;  // --dranet-attributes on: for entries of DeviceExposurePolicies
  /// The server stores counters and the scheduler uses them (gate DRAPartitionableDevices, 1.36.2).
  bool counters = true;
  /// --exclusion compatibility-groups, and the server stores them (gate DRADeviceCompatibilityGroups).
  /// Requires `counters`.
  bool compatibility_groups = false;
  /// The server stores multiple allocations of a device (gate DRAConsumableCapacity).
  bool shared_devices = true;
  /// Claims need no plugin on the node: --skip-node-operations, and the server stores it (gate
  /// DRAOptionalNodeOperations).
  bool skip_node_operations = false;
  bool binding_conditions = false;  // entries may have them
  Readiness readiness;              // the daemon's default for fields that policies omit
  WorkBudgets budgets;
};

/// An entry that the server refused or changed on write. It is withheld while its content stays the same.
/// content_hash: of the entry as sent, so that an edit that changes it causes a new attempt immediately.
struct Quarantine {
  uint64_t content_hash = 0;
  std::string why;
};

using QuarantinedEntries = std::map<std::string, Quarantine>;  // by name
/// By kind of policy, because both may have an entry of the same name.
struct Quarantines {
  QuarantinedEntries sriov, exposure;
  bool empty() const { return sriov.empty() && exposure.empty(); }
};

/// The state of the signal that this node's hardware is configured (--until-configured).
struct Unconfigured {
  std::string why;  // the missing signal, for people; "" if the node is configured or no signal is required
  /// Names of entries in slices of this boot, by kind of policy. They stay published.
  std::set<std::string> sriov = {}, exposure = {};
  bool holds() const { return !why.empty(); }
};

/// Immutable once a decision has it. A new decision gets a new Inputs, which shares the unchanged parts.
struct Inputs {
  hotplug::InventoryPtr inventory;
  PolicySetPtr policies;
  kube::NodeView node;
  Settings settings;
  Quarantines quarantine;
  Published published;
  Unconfigured unconfigured = {};
  NotReturnedDevices not_returned = {};
  /// Settling host devices. New entries of them wait, and published entries of them stay unchanged.
  std::set<std::string> settling;
  DesiredPoolsPtr before;  // pools of the previous decision; nullptr if there is none or it is not needed
  /// Time of the previous decision; nullopt if there is none, and `published` is of the previous process.
  std::optional<TimePoint> before_at;
  /// If facts of a VF are unknown (sriov/match.h): the policies of the previous decision, in order.
  std::vector<Shared<SriovPolicy>> asked_before;
  /// The time of gathering, and the readiness conditions with the times since which they hold.
  TimePoint now{};
  Tracks tracks;
  NodeState node_state;
  /// Ages of VF settings (gates/stale_conditions.h). nullopt: all known values count, because they were read for this
  /// decision. pf_queries: required queries of the previous decision; nullptr if none.
  std::optional<QueryTimes> query_times;
  PfQueriesPtr pf_queries;
  /// Entries that may be allocated, independent of the policies: offered, or withdrawn and not shown free
  /// since. Of the exposure driver by pool; of the SR-IOV driver by entry name (its function's).
  HoldingsByPool holdings;
  std::set<std::string> sriov_holdings;
  bool is_sriov_unverified = false;  // any VF may be allocated through the SR-IOV driver
  UnverifiedPools unverified;        // in addition to `holdings`
  bool awaits_pod_claims = false;    // the allocations of this node's pods from unverified pools have not
                                     // been read
  // Memory of the previous decision; nullptr if none. Without `entries` all entries are created again.
  SelectorResultsPtr selectors;
  EntryMemoryPtr entries;
};

}  // namespace sliced::policy
