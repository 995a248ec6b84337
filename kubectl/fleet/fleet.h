#pragma once
// What a whole cluster offers and who has it, as counts: kept small, so that thousands of nodes fit, and kept current by
// objects that come one by one. Pure.
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

namespace sliced::cli {

/// Under which names the drivers publish.
struct FleetDrivers {
  std::string sriov, exposure;
};

/// An entry of a slice, as far as it is counted.
/// consumesCounters of a device.
struct FleetConsumption {
  allocation::Amounts amounts;
  allocation::GroupsInUse::Consumptions groups;  // their counters are in `amounts` alone
  bool operator==(const FleetConsumption&) const = default;
};

struct FleetDevice {
  std::string name;
  bool is_tainted = false;  // a taint keeps pods from it
  /// nullptr: none. Devices of a slice that consume the same share it.
  std::shared_ptr<const FleetConsumption> counters = {};
  bool operator==(const FleetDevice& other) const {
    return name == other.name && is_tainted == other.is_tainted &&
           (counters == other.counters || (counters && other.counters && *counters == *other.counters));
  }
};

/// A ResourceSlice of which everything but that has been let go. node "": of several nodes, or of none.
/// generation and slice_count are spec.pool's, 0 where they are missing.
struct FleetSlice {
  std::string name = {}, driver = {}, pool = {}, node = {};
  int64_t generation = 0, slice_count = 0;
  std::vector<FleetDevice> devices = {};
  allocation::Amounts shared_counters = {};  // what it supplies to its pool
  bool operator==(const FleetSlice&) const = default;
};
/// kInvalid without a name, a driver, a pool, or with devices that have no names; the text names the slice.
/// What is not counted may be of any shape.
Result<FleetSlice> decode_fleet_slice(const kube::Json& object);

/// Devices that one claim has, without those that it has with admin access.
struct FleetClaim {
  std::string id = {};                  // "namespace/name"
  std::vector<std::string> users = {};  // pods, and other consumers as "plural/name"
  struct Device {
    std::string driver, pool, name;
  };
  std::vector<Device> devices = {};
};
FleetClaim fleet_claim(const allocation::Claim& claim);

/// A policy on one node, as the node reports it: "namespace/name", or "name". A problem is cut at 200 bytes.
struct FleetPolicyUse {
  std::string name;
  int64_t matched = 0, offered = 0;
  std::string problem = {};  // why it is not used as it is written; "" it is
  std::string kind = {}, action = {};
  int64_t generation = 0;  // that the node has decided by
  int64_t hidden = 0;      // of matched, those that are not offered
  bool operator==(const FleetPolicyUse&) const = default;
};
/// What is kept of a policy of either kind: which nodes have to decide by which generation of it.
struct FleetPolicy {
  std::string kind = {}, name = {};  // as FleetPolicyUse has them
  int64_t generation = 0;
  kube::NodeSelector nodes = {};
  int64_t edited = 0;  // kube::last_edited()
};
/// Errors: kInvalid where it has no name, or is of neither kind.
Result<FleetPolicy> decode_fleet_policy(const kube::Json& object);
/// How long nodes may take to decide by an edit, and to report it, before they are said to be behind: reports are written at most
/// every 10 s, and spread over 10 s more.
inline constexpr int64_t kEditGrace = 60;  // seconds
/// What is kept of a NodeDeviceReport.
struct FleetReport {
  std::string node = {}, version = {}, waits_for = {};
  std::string kubelet_plugin = {};  // as NodeReport::kubelet_plugin
  std::string changed = {};         // when the offer changed last: "2026-11-21T00:17:41.296Z"; "" not known
  size_t hidden = 0, held_back = 0;
  std::vector<FleetPolicyUse> policies = {};
  bool has_all_policies = true;            // else the report had no room for some
  std::vector<std::string> problems = {};  // at most kReportProblemsMax, then how many more there are
  bool operator==(const FleetReport&) const = default;
};
inline constexpr size_t kReportProblemsMax = 5;
FleetReport fleet_report(const reports::NodeReport& report);

/// Devices of one pool, or of several. allocated: of those that are offered; gone: of those that are not any more.
/// free: kubectl/why/free.h: had by no claim, without a taint, in a complete pool, and the counters that it shares with
/// others are enough. Of a shared device that a claim has it is not said how much is left: it is not free.
struct Usage {
  size_t devices = 0, allocated = 0, free = 0, tainted = 0, gone = 0;
  void add(const Usage& other);
  bool operator==(const Usage&) const = default;
};

/// What a node has of a pool: devices of its newest generation. Of one without slices claims have devices, and it is told on the
/// node that its name is made of.
struct PoolRow {
  std::string driver = {}, name = {};
  int64_t generation = 0, slices = 0, slices_wanted = 0;  // slices of the newest generation, on all nodes
  Usage usage = {};
  bool is_complete() const { return slices == slices_wanted; }
  bool operator==(const PoolRow&) const = default;
};

/// A policy that a node has not decided by as it is now.
struct PolicyLag {
  std::string kind = {}, name = {};
  int64_t reported = 0;  // generation that the node has decided by; 0 none
  int64_t current = 0;   // generation that it is of now; 0: it was deleted
  bool operator==(const PolicyLag&) const = default;
};
/// "has not applied intel generation 4 and 2 more policies"; "" for none.
std::string describe(const std::vector<PolicyLag>& lags);

struct NodeRow {
  std::string name = {};
  bool is_there = true;  // false: there are slices for it, and no such Node
  std::vector<PoolRow> pools = {};
  Usage usage = {};
  std::optional<FleetReport> report = {};
  /// For how many seconds its daemon has not renewed its Lease, where that has expired. nullopt: it has not, or the node has none (the
  /// daemon is of an older version, or may not write it), or nobody may read it.
  std::optional<int64_t> silent_for = {};
  std::vector<PolicyLag> behind = {};
  bool knows_slices = true,
       knows_claims = true;  // false: they could not be read, and what is counted of them is not known
  /// What is not as it should be, in words; the worst first.
  std::vector<std::string> problems = {};
  /// Nothing is given out of a part of it, or its slices are orphans.
  bool is_bad = false;
  bool has_slices() const;
  bool operator==(const NodeRow&) const = default;
};
/// "bad", "empty" (no slices), "warning", "ok": the worst of a node's. A node without slices that others are not expected to have
/// either is "empty" and not "bad".
std::string_view health_of(const NodeRow& row);
/// Whether the node reports that pods with claims do not start on it, since its kubelet plugin is off or waits.
bool is_without_plugin(const NodeRow& row);
/// What is not as it should be: as many problems as kStateBytes have room for, one at least, which is cut there, and how many more
/// there are: "daemon silent for 9m (+2 more)". Without any, what the node waits for, which is no problem; else "ok".
std::string state_of(const NodeRow& row);
inline constexpr size_t kStateBytes = 90;
/// "45s", "12m", "3h", "5d".
std::string age_text(int64_t seconds);

/// A row without a name counts with its devices, and is no node.
struct FleetTotals {
  size_t nodes = 0, without_slices = 0, bad = 0, warning = 0, silent = 0;
  size_t without_plugin = 0;  // whose report says that the kubelet plugin is off, or waits
  Usage usage;
};
FleetTotals totals_of(const std::vector<NodeRow>& rows);

/// Objects by their names; put() replaces what was known by that name, also by nothing: a slice of another
/// driver, or a claim that has none of our devices, is not kept.
/// Memory: some 40 bytes a device, some KiB a report, and three times its names a device that is allocated.
/// Threads: one. Nothing is looked up anywhere else: what nobody puts is not known.
class Fleet {
 public:
  /// Slices of other drivers than these are passed over.
  explicit Fleet(std::set<std::string> drivers) : drivers_(std::move(drivers)) {}

  /// Nodes cannot be listed: those that have slices are there.
  void set_knows_nodes(bool knows) { knows_nodes_ = knows; }
  /// Slices or claims cannot be listed: what is counted of them is not known.
  void set_knows_slices(bool knows) { knows_slices_ = knows; }
  void set_knows_claims(bool knows) { knows_claims_ = knows; }
  /// Seconds since 1970, by the API server's clock where it is known. Before it is set no daemon is silent, and edits have no grace.
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
  /// All policies of the kind are put, of that namespace ("" where the kind has none). A policy of it that a node reports and that was
  /// not put is one that was deleted. Of nodes whose daemons follow another namespace nothing is concluded.
  void set_knows_policies(const std::string& kind, const std::string& namespace_) {
    known_kinds_[kind] = namespace_;
  }
  void put_policy(FleetPolicy policy);
  /// Deleted now. Its nodes have kEditGrace to report that; a policy that was never put was deleted at an unknown time and has none.
  void remove_policy(const std::string& kind, const std::string& name);
  void clear_policies(const std::string& kind);
  void put_lease(reports::NodeLease lease);
  void remove_lease(const std::string& node) { leases_.erase(node); }
  void clear_leases() { leases_.clear(); }
  /// For how many seconds the node's daemon has not renewed its Lease, by set_now(); nullopt: that has not expired, or there is none.
  std::optional<int64_t> silent_for(const std::string& node) const;
  void clear_nodes() { nodes_.clear(); }
  void clear_slices() { slices_.clear(); }
  void clear_claims();
  void clear_reports() { reports_.clear(); }

  /// One row a node, by name (natural_less()); of slices and claims that are no single node's, one row without a name. Counted
  /// anew with each call: linear in devices, and in what claims have. What claims have of a pool and is not
  /// offered is told once, on the pool's first node.
  std::vector<NodeRow> rows() const;
  /// Claims that have the device, as "namespace/name (pod a, pod b)".
  std::vector<std::string> holders(const std::string& driver, const std::string& pool,
                                   const std::string& device) const;
  /// Driver and name of pools that claims have devices of, and that are a node's by their names: "NODE" or
  /// "NODE/...", as ours are called.
  std::vector<std::pair<std::string, std::string>> held_pools_of(const std::string& node) const;
  /// Of all nodes at once, as holders() has them, by node (by the pool's name), then by driver and device.
  using HeldEntries = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;
  std::map<std::string, HeldEntries> held_entries() const;
  /// Names of the pool's devices that claims have, offered or not; sorted.
  std::vector<std::string> held_of(const std::string& driver, const std::string& pool) const;

 private:
  using PoolId = std::pair<std::string, std::string>;  // driver, name
  using Claims = std::vector<const FleetClaim*>;
  using Held = std::unordered_map<std::string, Claims>;  // by device
  struct Newest;
  std::map<PoolId, Newest> newest() const;
  static Usage usage_of(const FleetSlice& slice, const Held* held, const allocation::CountersLeft& counters,
                        const allocation::GroupsInUse& groups);
  void find_lags(NodeRow& row) const;

  const std::set<std::string> drivers_;
  bool knows_nodes_ = true, knows_slices_ = true, knows_claims_ = true;
  std::optional<int64_t> now_;
  std::map<std::string, kube::NodeView> nodes_;
  std::map<std::string, reports::NodeLease> leases_;
  std::map<std::pair<std::string, std::string>, FleetPolicy> policies_;  // by kind and name
  std::map<std::pair<std::string, std::string>, int64_t> deleted_;       // the same; when, for kEditGrace
  std::map<std::string, std::string> known_kinds_;                       // to the namespace
  std::map<std::string, FleetSlice> slices_;
  std::map<std::string, FleetReport> reports_;
  std::map<std::string, FleetClaim> claims_;
  std::map<PoolId, Held> held_;  // points into claims_
};

}  // namespace sliced::cli
