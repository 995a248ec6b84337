#include "kubectl/fleet/fleet.h"

#include <algorithm>

#include "kube/objects/kinds.h"
#include "policy/exposure/decode_policy.h"
#include "policy/identity.h"
#include "policy/sriov/policy.h"
#include "reactor/base/first_few.h"
#include "reactor/base/text.h"

namespace sliced::kubectl {
namespace {

const kube::Json* required(const kube::Json& object, std::initializer_list<std::string_view> path) {
  const kube::Json* value = object.find(path);
  return value != nullptr && value->string() != nullptr && !value->string()->empty() ? value : nullptr;
}

int64_t integer_at(const kube::Json& object, std::initializer_list<std::string_view> path) {
  const kube::Json* value = object.find(path);
  return value != nullptr && value->integer() != nullptr ? *value->integer() : 0;
}

// Adds amounts of counters, of sets or of a device's consumption; ignores invalid amounts.
void add_counters(const kube::Json& of, std::string_view set, why::Amounts& out) {
  const kube::Json* counters = of.find("counters");
  if (counters == nullptr || counters->object() == nullptr) return;
  for (const auto& [name, counter] : *counters->object()) {
    const kube::Json* value = counter.find("value");
    if (value == nullptr) continue;
    const auto amount = kube::Quantity::decode(*value);
    if (amount) out[std::string(set) + "/" + std::string(name)] += amount->nanos();
  }
}

why::Amounts decode_counters(const kube::Json* list, std::string_view set_key) {
  why::Amounts out;
  if (list == nullptr || list->array() == nullptr) return out;
  for (const kube::Json& one : *list->array()) add_counters(one, one.text(set_key), out);
  return out;
}

why::GroupsInUse::Consumptions decode_groups(const kube::Json* list) {
  why::GroupsInUse::Consumptions out;
  if (list == nullptr || list->array() == nullptr) return out;
  for (const kube::Json& one : *list->array()) {
    kube::CounterConsumption& to = out.emplace_back();
    to.counter_set = one.text("counterSet");
    const kube::Json* groups = one.find("compatibilityGroups");
    if (groups == nullptr || groups->array() == nullptr) continue;
    for (const kube::Json& group : *groups->array())
      if (group.string() != nullptr) to.compatibility_groups.push_back(*group.string());
  }
  return out;
}

bool has_taint(const kube::Json& device) {
  const kube::Json* taints = device.find("taints");
  if (taints == nullptr || taints->array() == nullptr) return false;
  return std::any_of(taints->array()->begin(), taints->array()->end(), [](const kube::Json& taint) {
    return why::keeps_pods_away({"", "", std::string(taint.text("effect"))});
  });
}

Result<std::vector<FleetDevice>> decode_devices(const kube::Json* devices) {
  std::vector<FleetDevice> out;
  if (devices == nullptr || devices->array() == nullptr) return out;
  out.reserve(devices->array()->size());
  for (const kube::Json& device : *devices->array()) {
    const std::string_view name = device.text("name");
    if (name.empty()) return Error{Errc::kInvalid, "spec.devices: an entry has no name"};
    FleetDevice one{.name = std::string(name), .is_tainted = has_taint(device)};
    const kube::Json* consumed = device.find("consumesCounters");
    if (FleetConsumption counters{decode_counters(consumed, "counterSet"), decode_groups(consumed)};
        !counters.amounts.empty()) {
      // VFs of one PF consume the same.
      const bool is_same = !out.empty() && out.back().counters && *out.back().counters == counters;
      one.counters =
          is_same ? out.back().counters : std::make_shared<const FleetConsumption>(std::move(counters));
    }
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Result<FleetSlice> decode_fleet_slice(const kube::Json& object) {
  const kube::Json* name = required(object, {"metadata", "name"});
  const kube::Json* driver = required(object, {"spec", "driver"});
  const kube::Json* pool = required(object, {"spec", "pool", "name"});
  if (name == nullptr) return Error{Errc::kInvalid, "a ResourceSlice without a name"};
  const std::string of = "ResourceSlice " + escaped(*name->string()) + ": ";
  if (driver == nullptr) return Error{Errc::kInvalid, of + "spec.driver is missing"};
  if (pool == nullptr) return Error{Errc::kInvalid, of + "spec.pool.name is missing"};
  auto devices = decode_devices(object.find({"spec", "devices"}));
  if (!devices) return Error{Errc::kInvalid, of + devices.error().what};
  const kube::Json* node = required(object, {"spec", "nodeName"});
  return FleetSlice{.name = *name->string(),
                    .driver = *driver->string(),
                    .pool = *pool->string(),
                    .node = node != nullptr ? *node->string() : "",
                    .generation = integer_at(object, {"spec", "pool", "generation"}),
                    .slice_count = integer_at(object, {"spec", "pool", "resourceSliceCount"}),
                    .devices = *std::move(devices),
                    .shared_counters = decode_counters(object.find({"spec", "sharedCounters"}), "name")};
}

FleetClaim fleet_claim(const why::Claim& claim) {
  FleetClaim out{.id = claim.id(), .users = claim.users, .devices = {}};
  if (!claim.allocation) return out;
  for (const auto& one : claim.allocation->devices)
    if (!one.admin_access) out.devices.push_back({one.driver, one.pool, one.device});
  return out;
}

FleetReport fleet_report(const reports::NodeReport& report) {
  FleetReport out{.node = report.node,
                  .version = report.daemon_version,
                  .waits_for = report.waits_for,
                  .kubelet_plugin = report.kubelet_plugin,
                  .changed = report.last_change.time,
                  .hidden = static_cast<size_t>(std::max<int64_t>(0, report.hidden)),
                  .held_back = static_cast<size_t>(std::max<int64_t>(0, report.held_back)),
                  .problems = {}};
  for (const reports::PolicyReport& one : report.policies)
    out.policies.push_back({.name = one.policy.namespace_.empty()
                                        ? one.policy.name
                                        : one.policy.namespace_ + "/" + one.policy.name,
                            .matched = one.matched,
                            .offered = one.offered,
                            .problem = cut(one.problem, 200),
                            .kind = one.policy.kind,
                            .action = one.action,
                            .generation = one.generation,
                            .hidden = std::max<int64_t>(0, one.matched - one.offered)});
  out.has_all_policies = report.left_out.policies == 0;
  for (const std::string& problem : report.problems)
    if (out.problems.size() < kReportProblemsMax) out.problems.push_back(cut(problem, 200));
  const size_t all =
      report.problems.size() + static_cast<size_t>(std::max<int64_t>(0, report.left_out.problems));
  if (all > out.problems.size()) out.problems.push_back(and_more(all - out.problems.size()));
  return out;
}

void Usage::add(const Usage& other) {
  devices += other.devices;
  allocated += other.allocated;
  free += other.free;
  tainted += other.tainted;
  gone += other.gone;
}

bool NodeRow::has_slices() const {
  return std::any_of(pools.begin(), pools.end(), [](const PoolRow& pool) { return pool.slices > 0; });
}

Result<FleetPolicy> decode_fleet_policy(const kube::Json& object) {
  const std::string_view kind = object.text("kind");
  auto meta = kube::decode_object_meta(object);
  if (!meta) return std::move(meta.error());
  FleetPolicy out{
      .kind = std::string(kind), .generation = meta->generation, .edited = kube::last_edited(object)};
  if (kind == kube::kSriovResourcePolicies.kind) {
    const auto policy = policy::decode_sriov_policy(object, meta);
    out.name = policy::text_of(policy.id);
    out.nodes = policy.node_selector;
  } else if (kind == kube::kDeviceExposurePolicies.kind) {
    const auto policy = policy::decode_exposure_policy(object);
    out.name = policy::text_of(policy.id);
    out.nodes = policy.node_selector;
  } else {
    return Error{Errc::kInvalid, kube::describe_object(object) + " is not a policy"};
  }
  return out;
}

std::string describe(const std::vector<PolicyLag>& lags) {
  if (lags.empty()) return "";
  const PolicyLag& first = lags.front();
  std::string out = first.current == 0
                        ? "has not reported the deletion of " + first.name
                        : "has not applied " + first.name + " generation " + std::to_string(first.current);
  const size_t more = lags.size() - 1;
  return out +
         (more == 0 ? "" : " and " + std::to_string(more) + (more == 1 ? " more policy" : " more policies"));
}

std::string age_text(int64_t seconds) {
  seconds = std::max<int64_t>(0, seconds);
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3'600) return std::to_string(seconds / 3'600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

namespace {

// Returns the beginning of a text, without a partial word: "pool w-1: 2 allocated ...".
std::string cut_at_word(const std::string& text, size_t size_max) {
  if (text.size() <= size_max) return text;
  constexpr std::string_view kDots = " ...";
  const size_t space = text.rfind(' ', size_max - kDots.size());
  if (space == std::string::npos || space == 0) return cut(text, size_max);
  return text.substr(0, space) + std::string(kDots);
}

}  // namespace

std::string state_of(const NodeRow& row) {
  if (row.problems.empty())
    return row.report && !row.report->waits_for.empty()
               ? cut_at_word("waits for " + row.report->waits_for, kStateBytes)
               : "ok";
  std::string out;
  for (size_t i = 0; i < row.problems.size(); ++i) {
    const size_t more = row.problems.size() - i;
    const std::string& next = row.problems[i];
    if (i > 0 && out.size() + 2 + next.size() > kStateBytes)
      return out + " (+" + std::to_string(more) + " more)";
    out += (i == 0 ? "" : "; ") + cut_at_word(next, kStateBytes);
  }
  return out;
}

std::string_view health_of(const NodeRow& row) {
  if (row.is_bad) return "bad";
  if (row.knows_slices && !row.has_slices() && row.usage.gone == 0) return "empty";
  return row.problems.empty() ? "ok" : "warning";
}

bool is_without_plugin(const NodeRow& row) {
  return row.report && (row.report->kubelet_plugin == "off" || row.report->kubelet_plugin == "waiting");
}

FleetTotals totals_of(const std::vector<NodeRow>& rows) {
  FleetTotals out;
  for (const NodeRow& row : rows) {
    out.nodes += row.is_there && !row.name.empty();
    out.without_slices += row.knows_slices && !row.has_slices() && !row.name.empty();
    out.bad += row.is_bad;
    out.warning += health_of(row) == "warning";
    out.silent += row.silent_for.has_value();
    out.without_plugin += is_without_plugin(row);
    out.usage.add(row.usage);
  }
  return out;
}

void Fleet::put_slice(FleetSlice slice) {
  if (!drivers_.contains(slice.driver)) return remove_slice(slice.name);
  std::string name = slice.name;
  slices_.insert_or_assign(std::move(name), std::move(slice));
}

void Fleet::put_claim(FleetClaim claim) {
  remove_claim(claim.id);
  std::erase_if(claim.devices, [&](const auto& one) { return !drivers_.contains(one.driver); });
  if (claim.devices.empty()) return;
  std::string id = claim.id;
  const FleetClaim& kept = claims_.insert_or_assign(std::move(id), std::move(claim)).first->second;
  for (const auto& one : kept.devices) {
    Claims& claims = held_[{one.driver, one.pool}][one.name];
    if (claims.empty() || claims.back() != &kept) claims.push_back(&kept);  // it may have several shares
  }
}

void Fleet::put_node(kube::NodeView node) {
  std::string name = node.name;
  nodes_.insert_or_assign(std::move(name), std::move(node));
}

void Fleet::put_policy(FleetPolicy policy) {
  std::pair<std::string, std::string> key{policy.kind, policy.name};
  deleted_.erase(key);
  policies_.insert_or_assign(std::move(key), std::move(policy));
}

void Fleet::remove_policy(const std::string& kind, const std::string& name) {
  if (policies_.erase({kind, name}) == 0 || !now_) return;
  std::erase_if(deleted_, [this](const auto& one) { return *now_ - one.second >= kEditGrace; });
  deleted_[{kind, name}] = *now_;
}

void Fleet::clear_policies(const std::string& kind) {
  std::erase_if(policies_, [&](const auto& one) { return one.first.first == kind; });
}

void Fleet::put_lease(reports::NodeLease lease) {
  std::string node = lease.node;
  leases_.insert_or_assign(std::move(node), std::move(lease));
}

std::optional<int64_t> Fleet::silent_for(const std::string& node) const {
  const auto lease = leases_.find(node);
  if (!now_ || lease == leases_.end() || !lease->second.is_expired(*now_)) return std::nullopt;
  return *now_ - lease->second.renewed;
}

void Fleet::put_report(FleetReport report) {
  std::string node = report.node;
  reports_.insert_or_assign(std::move(node), std::move(report));
}

void Fleet::remove_claim(const std::string& id) {
  const auto found = claims_.find(id);
  if (found == claims_.end()) return;
  for (const auto& one : found->second.devices) {
    Held& held = held_[{one.driver, one.pool}];
    Claims& claims = held[one.name];
    std::erase(claims, &found->second);
    if (claims.empty()) held.erase(one.name);
    if (held.empty()) held_.erase({one.driver, one.pool});
  }
  claims_.erase(found);
}

void Fleet::clear_claims() {
  held_.clear();
  claims_.clear();
}

// A pool's newest generation.
struct Fleet::Newest {
  int64_t generation = 0, slices_wanted = 0;
  std::vector<const FleetSlice*> slices;
};

std::map<Fleet::PoolId, Fleet::Newest> Fleet::newest() const {
  std::map<PoolId, Newest> out;
  for (const auto& [name, slice] : slices_) {
    Newest& pool = out[{slice.driver, slice.pool}];
    if (pool.slices.empty() || slice.generation > pool.generation)
      pool = {slice.generation, slice.slice_count, {}};
    if (slice.generation == pool.generation) pool.slices.push_back(&slice);
  }
  return out;
}

Usage Fleet::usage_of(const FleetSlice& slice, const Held* held, const why::CountersLeft& counters,
                      const why::GroupsInUse& groups) {
  Usage out{.devices = slice.devices.size()};
  for (const FleetDevice& device : slice.devices) {
    const bool is_held = held != nullptr && held->contains(device.name);
    out.allocated += is_held;
    out.tainted += device.is_tainted;
    out.free += !is_held && !device.is_tainted &&
                (!device.counters || (counters.short_of(device.counters->amounts) == nullptr &&
                                      groups.conflict(device.counters->groups) == nullptr));
  }
  return out;
}

namespace {

std::string title_of(const PoolRow& pool) { return "pool " + pool.driver + "/" + pool.name; }

void find_problems(NodeRow& row) {
  if (!row.is_there) row.problems.push_back("slices of a Node that does not exist");
  if (row.silent_for) row.problems.push_back("daemon silent for " + age_text(*row.silent_for));
  for (const PoolRow& pool : row.pools)
    if (!pool.is_complete())
      row.problems.push_back(title_of(pool) + " incomplete: " + std::to_string(pool.slices) + " of " +
                             std::to_string(pool.slices_wanted) + " slices");
  row.is_bad = !row.problems.empty();
  if (is_without_plugin(row))
    row.problems.push_back(row.report->kubelet_plugin == "off"
                               ? "kubelet plugin off: pods with claims do not start"
                               : "kubelet plugin waits for another program: pods with claims do not start");
  for (const PoolRow& pool : row.pools)
    if (pool.usage.gone > 0)
      row.problems.push_back(title_of(pool) + ": " + std::to_string(pool.usage.gone) +
                             " allocated but no longer offered");
  if (!row.behind.empty()) row.problems.push_back(describe(row.behind));
  if (row.report) {
    row.problems.insert(row.problems.end(), row.report->problems.begin(), row.report->problems.end());
  }
  if (row.knows_slices && !row.has_slices()) row.problems.push_back("no slices");
}

// The name of our pools is that of the node, or "node/function".
std::string_view node_named_by(std::string_view pool) { return pool.substr(0, pool.find('/')); }

}  // namespace

std::vector<NodeRow> Fleet::rows() const {
  std::map<std::string, NodeRow> by_node;
  for (const auto& [name, node] : nodes_) by_node[name].name = name;
  for (const auto& [name, report] : reports_)
    if (!knows_nodes_ && !knows_slices_) by_node[name].name = name;
  const auto pools = newest();
  for (const auto& [id, pool] : pools) {
    const auto found = held_.find(id);
    const Held* held = found == held_.end() ? nullptr : &found->second;
    std::map<std::string, Usage> usage;  // by node
    why::CountersLeft counters;
    why::GroupsInUse groups;
    for (const FleetSlice* slice : pool.slices) {
      counters.supply(slice->shared_counters);
      for (const FleetDevice& device : slice->devices)
        if (device.counters && held != nullptr && held->contains(device.name)) {
          counters.draw(device.counters->amounts);
          groups.add(device.counters->groups);
        }
    }
    for (const FleetSlice* slice : pool.slices)
      usage[slice->node].add(usage_of(*slice, held, counters, groups));
    // Allocated devices of a pool that are not offered are counted once, on the pool's first node.
    size_t offered_and_held = 0;
    for (const auto& [node, used] : usage) offered_and_held += used.allocated;
    if (held != nullptr && held->size() > offered_and_held)
      usage.begin()->second.gone = held->size() - offered_and_held;
    for (const auto& [node, used] : usage) {
      NodeRow& row = by_node[node];
      row.name = node;
      row.pools.push_back({id.first, id.second, pool.generation, static_cast<int64_t>(pool.slices.size()),
                           pool.slices_wanted, used});
      if (!row.pools.back().is_complete()) row.pools.back().usage.free = 0;
      row.usage.add(row.pools.back().usage);
    }
  }
  for (const auto& [id, held] : held_) {
    if (pools.contains(id)) continue;
    const auto node = by_node.find(std::string(node_named_by(id.second)));
    NodeRow& row = node != by_node.end() ? node->second : by_node[""];
    row.pools.push_back({.driver = id.first, .name = id.second, .usage = {.gone = held.size()}});
    row.usage.add(row.pools.back().usage);
  }
  std::vector<NodeRow> out;
  for (auto& [name, row] : by_node) {
    row.is_there = name.empty() || !knows_nodes_ || nodes_.contains(name);
    if (const auto report = reports_.find(name); report != reports_.end()) row.report = report->second;
    row.knows_slices = knows_slices_;
    row.knows_claims = knows_claims_;
    row.silent_for = silent_for(name);
    find_lags(row);
    find_problems(row);
    out.push_back(std::move(row));
  }
  std::sort(out.begin(), out.end(),
            [](const NodeRow& a, const NodeRow& b) { return natural_less(a.name, b.name); });
  return out;
}

// A policy is missing only if the report could contain it: it names every policy that selects its node,
// unless there was no room.
void Fleet::find_lags(NodeRow& row) const {
  const auto node = nodes_.find(row.name);
  if (!row.report || node == nodes_.end()) return;
  std::map<std::pair<std::string_view, std::string_view>, int64_t> reported;
  std::set<std::string_view> elsewhere;  // kinds for which the daemon uses another namespace
  for (const FleetPolicyUse& use : row.report->policies) {
    const auto known = known_kinds_.find(use.kind);
    if (known == known_kinds_.end()) continue;
    if (!known->second.empty() && !use.name.starts_with(known->second + "/")) elsewhere.insert(known->first);
    reported[{use.kind, use.name}] = use.generation;
  }
  for (const auto& [key, policy] : policies_) {
    const auto at = reported.find({policy.kind, policy.name});
    const int64_t generation = at == reported.end() ? 0 : at->second;
    if (at != reported.end()) reported.erase(at);
    if (elsewhere.contains(policy.kind) || !known_kinds_.contains(policy.kind)) continue;
    if (generation >= policy.generation || (generation == 0 && !row.report->has_all_policies)) continue;
    if (now_ && policy.edited > 0 && *now_ - policy.edited < kEditGrace) continue;
    if (!kube::match_node(policy.nodes, node->second).matched) continue;
    row.behind.push_back({policy.kind, policy.name, generation, policy.generation});
  }
  const auto is_just_deleted = [this](std::string_view kind, std::string_view name) {
    const auto at = deleted_.find({std::string(kind), std::string(name)});
    return at != deleted_.end() && now_ && *now_ - at->second < kEditGrace;
  };
  for (const auto& [key, generation] : reported)
    if (!elsewhere.contains(key.first) && !is_just_deleted(key.first, key.second))
      row.behind.push_back({std::string(key.first), std::string(key.second), generation, 0});
}

std::vector<std::string> Fleet::holders(const std::string& driver, const std::string& pool,
                                        const std::string& device) const {
  std::vector<std::string> out;
  const auto held = held_.find({driver, pool});
  if (held == held_.end()) return out;
  const auto found = held->second.find(device);
  if (found == held->second.end()) return out;
  for (const FleetClaim* claim : found->second)
    out.push_back(claim->id + (claim->users.empty() ? "" : " (pod " + join(claim->users, ", pod ") + ")"));
  return out;
}

std::vector<std::pair<std::string, std::string>> Fleet::held_pools_of(const std::string& node) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [id, held] : held_)
    if (node_named_by(id.second) == node) out.push_back(id);
  return out;
}

std::map<std::string, Fleet::HeldEntries> Fleet::held_entries() const {
  std::map<std::string, HeldEntries> out;
  for (const auto& [pool, held] : held_) {
    HeldEntries& entries = out[std::string(node_named_by(pool.second))];
    for (const auto& [device, claims] : held)
      for (std::string& holder : holders(pool.first, pool.second, device))
        entries[{pool.first, device}].push_back(std::move(holder));
  }
  return out;
}

std::vector<std::string> Fleet::held_of(const std::string& driver, const std::string& pool) const {
  std::vector<std::string> out;
  if (const auto held = held_.find({driver, pool}); held != held_.end())
    for (const auto& [device, claims] : held->second) out.push_back(device);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace sliced::kubectl
