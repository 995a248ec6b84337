#pragma once
// Counts of a whole cluster's devices and their claims: small enough for thousands of nodes, and updated by
// single objects. Pure.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/reports/node_lease.h"
#include "daemon/reports/node_report.h"
#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubectl/why/claim.h"
#include "kubectl/why/free.h"
#include "reactor/base/result.h"

namespace sliced::kubectl {

/// The drivers' names.
struct FleetDrivers {
  std::string sriov, exposure;
};

/// The counted parts of a device entry's consumesCounters.
struct FleetConsumption {
  why::Amounts amounts;
  why::GroupsInUse::Consumptions groups;  // without their counters, which are in `amounts`
  bool operator==(const FleetConsumption&) const = default;
};

struct FleetDevice {
  std::string name;
  bool is_tainted = false;  // with a taint that keeps pods away
  /// nullptr: none. Devices of a slice with equal consumption share it.
  std::shared_ptr<const FleetConsumption> counters = {};
  bool operator==(const FleetDevice& other) const {
    return name == other.name && is_tainted == other.is_tainted &&
           (counters == other.counters || (counters && other.counters && *counters == *other.counters));
  }
};

/// The counted parts of a ResourceSlice. node "": of several nodes, or of none. generation and slice_count:
/// of spec.pool, 0 if missing.
struct FleetSlice {
  std::string name = {}, driver = {}, pool = {}, node = {};
  int64_t generation = 0, slice_count = 0;
  std::vector<FleetDevice> devices = {};
  why::Amounts shared_counters = {};  // supplied to its pool
  bool operator==(const FleetSlice&) const = default;
};
/// Errors: kInvalid without a name, a driver, a pool, or with devices that have no names; the text names the
/// slice. Fields that are not counted are not checked.
Result<FleetSlice> decode_fleet_slice(const kube::Json& object);

/// The devices of one claim, without those with admin access.
struct FleetClaim {
  std::string id = {};                  // "namespace/name"
  std::vector<std::string> users = {};  // pods, and other consumers as "plural/name"
  struct Device {
    std::string driver, pool, name;
  };
  std::vector<Device> devices = {};
};
FleetClaim fleet_claim(const why::Claim& claim);

/// A policy on one node, from the node's report: "namespace/name", or "name". A problem is truncated at 200
/// bytes.
struct FleetPolicyUse {
  std::string name;
  int64_t matched = 0, offered = 0;
  std::string problem = {};  // why it is not used as it is written; "" if it is
  std::string kind = {}, action = {};
  int64_t generation = 0;  // of the node's decision
  int64_t hidden = 0;      // matched devices that are not offered
  bool operator==(const FleetPolicyUse&) const = default;
};
/// A policy of either kind: the nodes that it selects, and its generation.
struct FleetPolicy {
  std::string kind = {}, name = {};  // as in FleetPolicyUse
  int64_t generation = 0;
  kube::NodeSelector nodes = {};
  int64_t edited = 0;  // kube::last_edited()
};
/// Errors: kInvalid without a name, or for another kind.
Result<FleetPolicy> decode_fleet_policy(const kube::Json& object);
/// Time for nodes to decide by an edit and report it, before they count as lagging: reports are written at
/// most every 10 s, spread over 10 s more.
inline constexpr int64_t kEditGrace = 60;  // seconds
/// The used parts of a NodeDeviceReport.
struct FleetReport {
  std::string node = {}, version = {}, waits_for = {};
  std::string kubelet_plugin = {};  // as NodeReport::kubelet_plugin
  std::string changed = {};         // time of the offer's last change: "2026-11-21T00:17:41.296Z"; "" if
                                    // unknown
  size_t hidden = 0, held_back = 0;
  std::vector<FleetPolicyUse> policies = {};
  bool has_all_policies = true;            // false: the report had no room for some
  std::vector<std::string> problems = {};  // at most kReportProblemsMax, then the number of further ones
  bool operator==(const FleetReport&) const = default;
};
inline constexpr size_t kReportProblemsMax = 5;
FleetReport fleet_report(const reports::NodeReport& report);

/// Device counts of one or several pools. allocated: offered and allocated; gone: allocated and no longer
/// offered. free (kubectl/why/free.h): not allocated, without a taint, in a complete pool, with sufficient
/// shared counters. A shared device with a claim does not count as free, because its remaining capacity is
/// unknown here.
struct Usage {
  size_t devices = 0, allocated = 0, free = 0, tainted = 0, gone = 0;
  void add(const Usage& other);
  bool operator==(const Usage&) const = default;
};

/// A node's part of a pool: devices of its newest generation. A pool with allocated devices and without
/// slices belongs to the node in its name.
struct PoolRow {
  std::string driver = {}, name = {};
  int64_t generation = 0, slices = 0, slices_wanted = 0;  // slices of the newest generation, on all nodes
  Usage usage = {};
  bool is_complete() const { return slices == slices_wanted; }
  bool operator==(const PoolRow&) const = default;
};

/// A policy that the node has not decided by in its current form.
struct PolicyLag {
  std::string kind = {}, name = {};
  int64_t reported = 0;  // generation of the node's decision; 0 if none
  int64_t current = 0;   // current generation; 0: deleted
  bool operator==(const PolicyLag&) const = default;
};
/// Returns "has not applied intel generation 4 and 2 more policies"; "" for none.
std::string describe(const std::vector<PolicyLag>& lags);

struct NodeRow {
  std::string name = {};
  bool is_there = true;  // false: there are slices for it, but no such Node
  std::vector<PoolRow> pools = {};
  Usage usage = {};
  std::optional<FleetReport> report = {};
  /// Seconds since its daemon last renewed its expired Lease. nullopt: the Lease is valid, missing (an older
  /// daemon, or one without permission), or not readable.
  std::optional<int64_t> silent_for = {};
  std::vector<PolicyLag> behind = {};
  bool knows_slices = true,
       knows_claims = true;  // false: they could not be read, so their counts are unknown
  /// Problems as texts; the worst first.
  std::vector<std::string> problems = {};
  /// A part of it cannot be allocated, or its slices are orphans.
  bool is_bad = false;
  bool has_slices() const;
  bool operator==(const NodeRow&) const = default;
};
/// Returns "bad", "empty" (no slices), "warning" or "ok": the worst that applies. A node without slices of
/// which none are expected is "empty".
std::string_view health_of(const NodeRow& row);
/// Returns whether the node reports that pods with claims do not start on it, because its kubelet plugin is
/// off or waits.
bool is_without_plugin(const NodeRow& row);
/// Returns the problems that fit into kStateBytes, at least one (truncated), and the number of further ones:
/// "daemon silent for 9m (+2 more)". Without any, the reason for which the node waits; otherwise "ok".
std::string state_of(const NodeRow& row);
inline constexpr size_t kStateBytes = 90;
/// Returns "45s", "12m", "3h", "5d".
std::string age_text(int64_t seconds);

/// A row without a name counts for devices, but not as a node.
struct FleetTotals {
  size_t nodes = 0, without_slices = 0, bad = 0, warning = 0, silent = 0;
  size_t without_plugin = 0;  // with a report that the kubelet plugin is off, or waits
  Usage usage;
};
FleetTotals totals_of(const std::vector<NodeRow>& rows);

/// Objects by name; put() replaces an earlier object with the name. A slice of another driver, or a claim
/// without devices of the drivers, is not kept. Memory: about 40 bytes per device, some KiB per report, and
/// three times its names per allocated device. Threads: one.
class Fleet {
 public:
  /// Ignores slices of other drivers.
  explicit Fleet(std::set<std::string> drivers) : drivers_(std::move(drivers)) {}

  /// Nodes cannot be listed: nodes with slices count as existing.
  void set_knows_nodes(bool knows) { knows_nodes_ = knows; }
  /// Slices or claims cannot be listed: their counts are unknown.
  void set_knows_slices(bool knows) { knows_slices_ = knows; }
  void set_knows_claims(bool knows) { knows_claims_ = knows; }
  /// Seconds since 1970, by the API server's clock if it is known. Before it is set, no daemon counts as
  /// silent, and edits have no grace period.
  void set_now(int64_t now) { now_ = now; }
  void put_node(const std::string& name) { put_node(kube::NodeView{name, {}}); }
  void put_node(kube::NodeView node);
  void remove_node(const std::string& name) { nodes_.erase(name); }
  void put_slice(FleetSlice slice);
  void remove_slice(const std::string& name) { slices_.erase(name); }
  void put_claim(FleetClaim claim);
  void remove_claim(const std::string& id);
  void put_report(FleetReport report);
  void remove_report(const std::string& node) { reports_.erase(node); }
  /// All policies of the kind were put, for that namespace ("" for a cluster-scoped kind). A reported policy
  /// that was not put counts as deleted. Nodes whose daemons use another namespace are not judged.
  void set_knows_policies(const std::string& kind, const std::string& namespace_) {
    known_kinds_[kind] = namespace_;
  }
  void put_policy(FleetPolicy policy);
  /// Deleted now. Its nodes have kEditGrace to report that; a policy that was never put has no grace period.
  void remove_policy(const std::string& kind, const std::string& name);
  void clear_policies(const std::string& kind);
  void put_lease(reports::NodeLease lease);
  void remove_lease(const std::string& node) { leases_.erase(node); }
  void clear_leases() { leases_.clear(); }
  /// Returns the seconds since the last renewal of the node's expired Lease, by set_now(); nullopt if it is
  /// valid or missing.
  std::optional<int64_t> silent_for(const std::string& node) const;
  void clear_nodes() { nodes_.clear(); }
  void clear_slices() { slices_.clear(); }
  void clear_claims();
  void clear_reports() { reports_.clear(); }

  /// Returns one row per node, by name (natural_less()), and one row without a name for slices and claims of
  /// no single node. Counts with each call: linear in devices and in allocated ones. Allocated devices of a
  /// pool that are not offered appear once, on the pool's first node.
  std::vector<NodeRow> rows() const;
  /// Returns the claims with the device, as "namespace/name (pod a, pod b)".
  std::vector<std::string> holders(const std::string& driver, const std::string& pool,
                                   const std::string& device) const;
  /// Returns driver and name of pools with allocated devices whose names contain the node: "NODE" or
  /// "NODE/...", as sliced names them.
  std::vector<std::pair<std::string, std::string>> held_pools_of(const std::string& node) const;
  /// The holders of all allocated devices, as holders(), by node (from the pool's name), then by driver and
  /// device.
  using HeldEntries = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;
  std::map<std::string, HeldEntries> held_entries() const;
  /// Returns the names of the pool's allocated devices, offered or not; sorted.
  std::vector<std::string> held_of(const std::string& driver, const std::string& pool) const;

 private:
  using PoolId = std::pair<std::string, std::string>;  // driver, name
  using Claims = std::vector<const FleetClaim*>;
  using Held = std::unordered_map<std::string, Claims>;  // by device
  struct Newest;
  std::map<PoolId, Newest> newest() const;
  static Usage usage_of(const FleetSlice& slice, const Held* held, const why::CountersLeft& counters,
                        const why::GroupsInUse& groups);
  void find_lags(NodeRow& row) const;

  const std::set<std::string> drivers_;
  bool knows_nodes_ = true, knows_slices_ = true, knows_claims_ = true;
  std::optional<int64_t> now_;
  std::map<std::string, kube::NodeView> nodes_;
  std::map<std::string, reports::NodeLease> leases_;
  std::map<std::pair<std::string, std::string>, FleetPolicy> policies_;  // by kind and name
  // by kind and name; time of deletion, for kEditGrace
  std::map<std::pair<std::string, std::string>, int64_t> deleted_;
  std::map<std::string, std::string> known_kinds_;  // with the namespace
  std::map<std::string, FleetSlice> slices_;
  std::map<std::string, FleetReport> reports_;
  std::map<std::string, FleetClaim> claims_;
  std::map<PoolId, Held> held_;  // points into claims_
};

}  // namespace sliced::kubectl
