#include "publishers/diff_pool.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "policy/exposure/exclude_record.h"
#include "policy/reserved/record.h"
#include "publishers/pack_slices.h"
#include "reactor/base/text.h"

namespace sliced::publishers {
namespace {

using kube::ResourceSlice;

constexpr size_t kObjectNameMax = 253;
constexpr size_t kCounterSetsPerSliceMax = 8;
constexpr size_t kIndexDigits = 5;
// Keys and values of all of them (k8s.io/apimachinery/pkg/api/validation ValidateAnnotations).
constexpr size_t kAnnotationBytesMax = size_t{256} << 10;
// Limit of records that are read for one plan, which is computed again for each write.
constexpr size_t kRecordsBytesMax = 4 * policy::kRecordBytesMax;
constexpr std::string_view kFull = "others' metadata leaves no room for ours";
constexpr std::string_view kOwnAnnotations[] = {kBootIdAnnotation, policy::kWithdrawnAnnotation,
                                                policy::kExcludesAnnotation, policy::kGroupsAnnotation};

// The slices of a pool with names of this daemon, by index.
using InPlace = std::map<size_t, const ResourceSlice*>;

std::optional<size_t> index_in(std::string_view name) {
  if (name.size() <= kIndexDigits || name[kIndexDigits] != '-') return std::nullopt;
  return parse_hex(name.substr(0, kIndexDigits));
}

// Returns the index of an observed slice if this daemon would give it that name in the pool; nullopt if
// another program created it.
std::optional<size_t> own_index(const ResourceSlice& slice, const std::string& driver,
                                const std::string& node) {
  const auto index = index_in(slice.meta.name);
  if (!index) return std::nullopt;
  for (int salt = 0; salt <= kSaltMax; ++salt)
    if (slice.meta.name == slice_name(*index, driver, node, slice.pool.name, salt)) return index;
  return std::nullopt;
}

kube::ObjectMeta identity_meta(std::string name, const NodeIdentity& node) {
  kube::ObjectMeta meta;
  meta.name = std::move(name);
  if (!node.boot_id.empty()) meta.annotations[std::string(kBootIdAnnotation)] = node.boot_id;
  if (!node.uid.empty()) meta.owner_references.push_back({"v1", "Node", node.name, node.uid, true});
  return meta;
}

// Returns the name of a new slice: skips names of other objects, and of terminating slices.
std::string free_name(size_t index, const policy::DesiredPool& pool, const NodeIdentity& node,
                      const ObservedSlices& observed, const std::map<std::string, int>& salts) {
  std::string name = slice_name(index, pool.driver, node.name, pool.name, 0);
  const auto known = salts.find(name);
  int salt = known == salts.end() ? 0 : std::min(known->second, kSaltMax);
  if (salt > 0) name = slice_name(index, pool.driver, node.name, pool.name, salt);
  while (observed.contains(name) && salt < kSaltMax)
    name = slice_name(index, pool.driver, node.name, pool.name, ++salt);
  return name;
}

void put_record(ResourceSlice& slice, const policy::Record& record) {
  if (!record.empty())
    slice.meta.annotations.insert_or_assign(std::string(policy::kWithdrawnAnnotation), record.text());
}

// Returns the desired slices by index, with pool.generation 0. Counter slices precede device slices.
std::map<size_t, ResourceSlice> wanted_slices(const policy::DesiredPool& pool, const ObservedSlices& observed,
                                              const InPlace& in_place, const NodeIdentity& node,
                                              const std::map<std::string, int>& salts) {
  Assigned assigned;
  for (const auto& [index, slice] : in_place)
    for (const kube::Device& device : slice->devices) assigned[index].push_back(device.name);
  std::map<size_t, ResourceSlice> out;
  const size_t counter_slices =
      (pool.counters.size() + kCounterSetsPerSliceMax - 1) / kCounterSetsPerSliceMax;
  for (size_t i = 0; i < pool.counters.size(); ++i)
    out[i / kCounterSetsPerSliceMax].shared_counters.push_back(pool.counters[i]);
  for (auto& [index, devices] : pack_devices(pool.devices, assigned, slice_size_for(pool), counter_slices))
    out[index].devices = std::move(devices);
  // The pool's record is in its first slice.
  for (auto& [index, slice] : out) {
    const auto at = in_place.find(index);
    slice.meta = identity_meta(
        at == in_place.end() ? free_name(index, pool, node, observed, salts) : at->second->meta.name, node);
    if (index == out.begin()->first) put_record(slice, pool.record);
    if (!pool.excludes.empty() && !slice.devices.empty())
      slice.meta.annotations.emplace(policy::kExcludesAnnotation, pool.excludes);
    if (pool.can_count && !slice.devices.empty())
      slice.meta.annotations.emplace(policy::kGroupsAnnotation,
                                     policy::encode_groups(slice.devices, pool.groups));
    slice.driver = pool.driver;
    slice.node_name = node.name;
    slice.pool = {pool.name, 0, static_cast<int64_t>(out.size())};
    if (pool.skips_node_operations && !slice.devices.empty())
      slice.skip_node_operations = {std::string(kube::kAllNodeOperations)};
  }
  return out;
}

bool same_spec(const ResourceSlice& a, const ResourceSlice& b) {  // but for the generation
  return a.driver == b.driver && a.node_name == b.node_name && a.pool.name == b.pool.name &&
         a.pool.slice_count == b.pool.slice_count && a.devices == b.devices &&
         a.shared_counters == b.shared_counters && a.skip_node_operations == b.skip_node_operations &&
         a.unknown_fields == b.unknown_fields;
}

// Finds this daemon's reference, also to a former Node object of the same name. Compared by the written
// fields.
bool is_own_reference(const kube::OwnerReference& reference, std::string_view node) {
  return reference.api_version == "v1" && reference.kind == "Node" && reference.name == node;
}

// Keeps references of others and adds this daemon's. An object has at most one controller: an existing one
// stays.
std::vector<kube::OwnerReference> owners_of(const ResourceSlice& observed, const ResourceSlice& wanted) {
  const auto is_own = [&](const auto& reference) { return is_own_reference(reference, wanted.node_name); };
  const auto& all = wanted.meta.owner_references;
  const auto ours = std::find_if(all.begin(), all.end(), is_own);
  std::vector<kube::OwnerReference> out;
  std::optional<bool> block;
  bool is_controlled = false;
  size_t place = 0;
  for (const kube::OwnerReference& reference : observed.meta.owner_references) {
    if (is_own(reference)) {
      place = out.size();
      if (ours != all.end() && reference.uid == ours->uid) block = reference.block_owner_deletion;
    } else {
      is_controlled |= reference.controller;
      out.push_back(reference);
    }
  }
  if (ours == all.end()) return out;
  kube::OwnerReference own_reference = *ours;
  own_reference.controller = !is_controlled;
  own_reference.block_owner_deletion = block;
  out.insert(out.begin() + static_cast<long>(place), std::move(own_reference));
  return out;
}

// Returns true if the written metadata is present; additions of others are kept.
bool carries_identity(const ResourceSlice& observed, const ResourceSlice& wanted) {
  for (const auto& [key, value] : wanted.meta.annotations) {
    const auto at = observed.meta.annotations.find(key);
    if (at == observed.meta.annotations.end() || at->second != value) return false;
  }
  for (const std::string_view key : kOwnAnnotations)
    if (observed.meta.annotations.contains(std::string(key)) &&
        !wanted.meta.annotations.contains(std::string(key)))
      return false;
  return observed.meta.owner_references == owners_of(observed, wanted);
}

// The update keeps additions of others (labels, finalizers, owners), so that the writers do not undo each
// other's changes.
ResourceSlice update_of(const ResourceSlice& observed, ResourceSlice wanted) {
  std::vector<kube::OwnerReference> owners = owners_of(observed, wanted);
  const kube::ObjectMeta ours = std::move(wanted.meta);
  wanted.meta = observed.meta;
  wanted.meta.owner_references = std::move(owners);
  for (const std::string_view key : kOwnAnnotations) wanted.meta.annotations.erase(std::string(key));
  wanted.meta.annotations.insert(ours.annotations.begin(), ours.annotations.end());
  return wanted;
}

// Returns true for a slice that only a finalizer keeps: it offers nothing and belongs to no pool. Its record
// is in the pool's first slice by then, or obsolete.
ResourceSlice emptied(ResourceSlice slice) {
  slice.pool.generation = kEmptiedGeneration;
  slice.pool.slice_count = 1;
  slice.devices.clear();
  slice.shared_counters.clear();
  slice.skip_node_operations.clear();
  slice.unknown_fields.clear();
  slice.meta.annotations.erase(std::string(policy::kWithdrawnAnnotation));
  return slice;
}

void remove(const ResourceSlice& slice, std::string why, const PublisherState& memory, SliceChanges& plan) {
  const bool was_refused = memory.undeletable.contains(slice.meta.name);
  const bool stays = slice.meta.being_deleted || !slice.meta.finalizers.empty() || was_refused;
  if (stays && !is_emptied(slice))
    plan.updates.push_back(emptied(slice));
  else if (!slice.meta.being_deleted)
    plan.deletes.push_back({.name = slice.meta.name,
                            .uid = slice.meta.uid,
                            .resource_version = slice.meta.resource_version,
                            .why = std::move(why),
                            .was_refused = was_refused});
}

// Of this daemon's slices, those of the highest generation count. If all of them match the desired ones, that
// generation is being completed (also after a restart); if a single one differs, it is updated with the same
// generation. A generation above the remembered one was written by another program and is not continued. A
// slice that is created beside a remaining one (which is deleted last) must not share its generation.
int64_t generation_for(const std::map<size_t, ResourceSlice>& wanted, const InPlace& in_place,
                       const std::vector<const ResourceSlice*>& left, int64_t remembered, int64_t attempted) {
  const int64_t trusted = remembered > 0 ? std::max(remembered, attempted) : kTrustedGenerationMax;
  int64_t highest = 0, highest_left = 0;
  for (const ResourceSlice* slice : left)
    if (slice->pool.name == wanted.begin()->second.pool.name && slice->pool.generation <= trusted)
      highest_left = std::max(highest_left, slice->pool.generation);
  for (const auto& [index, slice] : in_place)
    if (slice->pool.generation <= trusted) highest = std::max(highest, slice->pool.generation);
  if (in_place.empty()) return std::max(remembered, highest_left) + 1;
  if (highest == 0) highest = std::max<int64_t>(remembered, 1);
  size_t differing = 0, others = 0;
  for (const auto& [index, slice] : wanted) {
    const auto at = in_place.find(index);
    if (at == in_place.end() || at->second->pool.generation != highest)
      ++others;
    else if (!same_spec(*at->second, slice))
      ++differing;
  }
  const bool keep = differing == 0 || (differing == 1 && others == 0);
  const int64_t chosen = keep ? highest : highest + 1;
  return others + differing > 0 && chosen <= highest_left ? highest_left + 1 : chosen;
}

// Returns entries that are not in their desired slice yet.
std::set<std::string> unplaced(const InPlace& in_place, const std::map<size_t, ResourceSlice>& wanted) {
  std::set<std::string> out;
  for (const auto& [index, slice] : wanted) {
    const auto at = in_place.find(index);
    std::set<std::string_view> placed;
    if (at != in_place.end()) {
      if (at->second->devices == slice.devices) continue;
      for (const kube::Device& device : at->second->devices) placed.insert(device.name);
    }
    for (const kube::Device& device : slice.devices)
      if (!placed.contains(device.name)) out.insert(device.name);
  }
  return out;
}

// Moves an entry between slices without losing it: the slice that has it may be written or deleted before the
// new one. So observed and recorded entries stay in the record until all moves are complete. The first slice
// is written first; one more write of it ends the record.
void keep_recorded(const policy::DesiredPool& pool, const ObservedSlices& observed, const InPlace& in_place,
                   std::map<size_t, ResourceSlice>& wanted) {
  const std::set<std::string> moving = unplaced(in_place, wanted);
  if (moving.empty()) return;
  ResourceSlice& first = wanted.begin()->second;
  std::set<std::string_view> in_first;
  for (const kube::Device& device : first.devices) in_first.insert(device.name);
  std::map<std::string, policy::Holding> kept;
  bool is_any_moving = false;
  std::optional<policy::Holding> unknown;  // represents all moving entries
  const auto keep = [&](policy::Holding holding, const ResourceSlice& from) {
    if (is_unknown(holding)) {
      unknown = std::move(holding);
      is_any_moving = true;
      return;
    }
    // Moving an entry from the record of the first slice to its devices takes one write of one object.
    const bool is_one_write = from.meta.name == first.meta.name && in_first.contains(holding.entry);
    is_any_moving |= moving.contains(holding.entry) && !is_one_write;
    kept.emplace(holding.entry, std::move(holding));
  };
  // The present record, and another one during moves. Names that others added count for all moving entries.
  size_t room = kRecordsBytesMax;
  for (const auto& [name, slice] : observed) {
    const auto text = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
    if (slice.pool.name != pool.name || text == slice.meta.annotations.end()) continue;
    if (text->second.size() > room) {
      keep(policy::whole_holding(pool.name), slice);
      continue;
    }
    room -= text->second.size();
    for (const policy::Holding& holding : policy::Record::of(slice).holdings()) keep(holding, slice);
  }
  for (const auto& [name, slice] : observed) {
    if (slice.pool.name != pool.name) continue;
    if (pool.can_count) {
      for (const policy::Holding& holding : policy::holdings_of_entries(slice))
        if (moving.contains(holding.entry)) keep(holding, slice);
      continue;
    }
    for (const kube::Device& device : slice.devices)
      if (moving.contains(device.name)) keep(policy::holding_of_function(device.name), slice);
  }
  if (!is_any_moving) return;
  // Undesired entries are withdrawn and recorded by the decision, or free.
  std::vector<policy::Holding> recorded = pool.record.holdings();
  for (const auto& [index, slice] : wanted)
    for (const kube::Device& device : slice.devices)
      if (const auto at = kept.find(device.name); at != kept.end()) recorded.push_back(at->second);
  if (unknown && std::none_of(recorded.begin(), recorded.end(),
                              [](const policy::Holding& holding) { return policy::is_unknown(holding); }))
    recorded.push_back(std::move(*unknown));
  put_record(first, policy::Record(std::move(recorded), pool.name));
}

size_t size_of(const std::map<std::string, std::string>& annotations) {
  size_t bytes = 0;
  for (const auto& [key, value] : annotations) bytes += key.size() + value.size();
  return bytes;
}

size_t bytes_of_others(const ResourceSlice& slice) {
  size_t bytes = size_of(slice.meta.annotations);
  for (const std::string_view key : kOwnAnnotations)
    if (const auto ours = slice.meta.annotations.find(std::string(key)); ours != slice.meta.annotations.end())
      bytes -= key.size() + ours->second.size();
  return bytes;
}

// Handles a lack of room beside annotations of others: leaves out groups, and shortens records. Returns the
// first slice that still has no room.
std::optional<size_t> fit_records(const policy::DesiredPool& pool, const InPlace& in_place,
                                  std::map<size_t, ResourceSlice>& wanted) {
  for (auto& [index, slice] : wanted) {
    const auto at = in_place.find(index);
    if (at == in_place.end()) continue;
    const size_t others = bytes_of_others(*at->second);
    auto& ours = slice.meta.annotations;
    if (others + size_of(ours) > kAnnotationBytesMax) ours.erase(std::string(policy::kGroupsAnnotation));
    if (others + size_of(ours) <= kAnnotationBytesMax) continue;
    std::string whole = policy::Record({policy::whole_holding(pool.name)}, pool.name).text();
    const auto record = ours.find(std::string(policy::kWithdrawnAnnotation));
    if (record != ours.end() && whole.size() < record->second.size()) record->second = std::move(whole);
    if (others + size_of(ours) > kAnnotationBytesMax) return index;
  }
  return std::nullopt;
}

void diff_one(const policy::DesiredPool& pool, const ObservedSlices& observed, const InPlace& in_place,
              const NodeIdentity& node, const PublisherState& memory, SliceChanges& plan,
              std::vector<const ResourceSlice*>& left) {
  auto wanted = wanted_slices(pool, observed, in_place, node, memory.salts);
  keep_recorded(pool, observed, in_place, wanted);
  if (const auto full = fit_records(pool, in_place, wanted)) {
    auto rest = in_place;
    left.push_back(rest.extract(*full).mapped());
    return diff_one(pool, observed, rest, node, memory, plan, left);
  }

  const auto of_pool = [&](const std::map<std::string, int64_t>& generations) {
    const auto at = generations.find(pool.name);
    return at == generations.end() ? int64_t{0} : at->second;
  };
  const int64_t generation =
      generation_for(wanted, in_place, left, of_pool(memory.generations), of_pool(memory.attempted));
  for (const auto& [index, slice] : in_place)
    if (!wanted.contains(index)) remove(*slice, "no longer needed", memory, plan);
  for (auto& [index, slice] : wanted) {
    slice.pool.generation = generation;
    const auto at = in_place.find(index);
    if (at == in_place.end())
      plan.creates.push_back(std::move(slice));
    else if (!same_content(*at->second, slice))
      plan.updates.push_back(update_of(*at->second, std::move(slice)));
  }
}

bool writes_to(const SliceChanges& plan, const std::string& pool) {
  const auto is_of_pool = [&](const ResourceSlice& slice) { return slice.pool.name == pool; };
  return std::any_of(plan.updates.begin(), plan.updates.end(), is_of_pool) ||
         std::any_of(plan.creates.begin(), plan.creates.end(), is_of_pool);
}

bool is_of_nothing(const ResourceSlice& slice) {
  return slice.devices.empty() && slice.shared_counters.empty();
}

}  // namespace

std::optional<std::set<std::string>> unsettled_pools(const SliceChanges& plan,
                                                     const ObservedSlices& observed) {
  std::set<std::string> out;
  for (const Removal& removal : plan.deletes) {
    if (removal.is_unread) return std::nullopt;
    const auto at = observed.find(removal.name);
    if (at != observed.end() && !is_of_nothing(at->second)) out.insert(at->second.pool.name);
  }
  for (const auto* slices : {&plan.updates, &plan.creates})
    for (const ResourceSlice& slice : *slices) out.insert(slice.pool.name);
  return out;
}

std::string slice_name(size_t index, const std::string& driver, const std::string& node,
                       const std::string& pool, int salt) {
  const std::string tail = "-" + hex(stable_hash(salt == 0 ? pool : pool + "#" + std::to_string(salt)), 8);
  std::string name = hex(index, kIndexDigits) + "-" + driver + "-" + node;
  if (name.size() + tail.size() > kObjectNameMax) {
    const std::string shortened = "-" + hex(stable_hash(name), 8);
    name.resize(kObjectNameMax - tail.size() - shortened.size());
    while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.pop_back();
    name += shortened;
  }
  return name + tail;
}

bool is_of(const ResourceSlice& slice, std::string_view driver, std::string_view node) {
  return slice.driver == driver && slice.node_name == node;
}

bool is_emptied(const ResourceSlice& slice) {
  return slice.pool.generation == kEmptiedGeneration && slice.devices.empty() &&
         slice.shared_counters.empty();
}

bool has_metadata_of_others(const ResourceSlice& slice) {
  return !slice.meta.labels.empty() || !slice.meta.finalizers.empty() || bytes_of_others(slice) > 0;
}

ResourceSlice unread_slice(std::string name, std::string uid, std::string resource_version) {
  ResourceSlice slice;
  slice.meta.name = std::move(name);
  slice.meta.uid = std::move(uid);
  slice.meta.resource_version = std::move(resource_version);
  slice.unknown_fields = {std::string(kube::kUnreadable)};
  return slice;
}

bool is_unreadable(const ResourceSlice& slice) {
  return !slice.unknown_fields.empty() && slice.unknown_fields.front() == kube::kUnreadable;
}

bool is_unread(const ResourceSlice& slice) { return is_unreadable(slice) && slice.driver.empty(); }

bool is_ours(const ResourceSlice& slice, const std::string& driver, const std::string& node) {
  return is_of(slice, driver, node) && own_index(slice, driver, node).has_value();
}

bool same_content(const ResourceSlice& observed, const ResourceSlice& wanted) {
  return same_spec(observed, wanted) && observed.pool.generation == wanted.pool.generation &&
         carries_identity(observed, wanted);
}

SliceChanges diff_pools(const std::vector<policy::DesiredPool>& desired, const ObservedSlices& observed,
                        const NodeIdentity& node, const std::string& driver, const PublisherState& memory) {
  const auto is_foreign = [&](const auto& entry) {
    return !is_of(entry.second, driver, node.name) && !is_unread(entry.second);
  };
  if (std::any_of(observed.begin(), observed.end(), is_foreign)) {
    ObservedSlices own_reference = observed;
    std::erase_if(own_reference, is_foreign);
    return diff_pools(desired, own_reference, node, driver, memory);
  }
  SliceChanges plan;
  std::map<std::string, InPlace> in_place;  // by pool
  std::vector<const ResourceSlice*> left;   // without room for this daemon's annotations
  for (const auto& [name, slice] : observed) {
    if (is_unread(slice)) {
      plan.deletes.push_back({name, slice.meta.uid, slice.meta.resource_version, "unreadable", true,
                              memory.undeletable.contains(name)});
      continue;
    }
    const auto index = own_index(slice, driver, node.name);
    const bool wanted_pool = std::any_of(desired.begin(), desired.end(),
                                         [&](const auto& pool) { return pool.name == slice.pool.name; });
    if (!index)
      remove(slice, "not ours", memory, plan);
    else if (!wanted_pool)
      remove(slice, "obsolete pool", memory, plan);
    else if (slice.meta.being_deleted)
      remove(slice, "terminating", memory, plan);
    else if (memory.full.contains(name))
      left.push_back(&slice);
    else if (const auto [at, fresh] = in_place[slice.pool.name].emplace(*index, &slice); !fresh) {
      // A slice that others filled is created again under the other name.
      const bool is_better = bytes_of_others(slice) < bytes_of_others(*at->second);
      remove(is_better ? *std::exchange(at->second, &slice) : slice, "twin", memory, plan);
    }
  }
  for (const policy::DesiredPool& pool : desired)
    diff_one(pool, observed, in_place[pool.name], node, memory, plan, left);
  // After all entries are in other slices, because the API server may refuse those.
  for (const ResourceSlice* slice : left)
    if (!writes_to(plan, slice->pool.name)) remove(*slice, std::string(kFull), memory, plan);
  const auto by_name = [](const auto& a, const auto& b) { return a.meta.name < b.meta.name; };
  std::sort(plan.deletes.begin(), plan.deletes.end(), [](const Removal& a, const Removal& b) {
    return std::tie(a.was_refused, a.name) < std::tie(b.was_refused, b.name);
  });
  std::sort(plan.updates.begin(), plan.updates.end(), by_name);
  std::sort(plan.creates.begin(), plan.creates.end(), by_name);
  return plan;
}

const ResourceSlice* first_write(const SliceChanges& plan, const ObservedSlices& observed) {
  const auto is_new = [&](const ResourceSlice& slice) {
    const auto record = slice.meta.annotations.find(std::string(policy::kWithdrawnAnnotation));
    if (record == slice.meta.annotations.end()) return false;
    const auto at = observed.find(slice.meta.name);
    if (at == observed.end()) return true;
    const auto stored = at->second.meta.annotations.find(record->first);
    return stored == at->second.meta.annotations.end() || stored->second != record->second;
  };
  for (const auto* slices : {&plan.updates, &plan.creates})
    for (const ResourceSlice& slice : *slices)
      if (is_new(slice)) return &slice;
  if (!plan.deletes.empty() && !plan.deletes.front().was_refused) return nullptr;
  for (const ResourceSlice& slice : plan.updates)
    if (slice.pool.generation == kEmptiedGeneration) return &slice;
  if (plan.updates.empty()) return plan.creates.empty() ? nullptr : &plan.creates.front();
  const ResourceSlice& update = plan.updates.front();
  for (const ResourceSlice& slice : plan.creates)
    if (slice.pool.name == update.pool.name && slice.meta.name < update.meta.name &&
        !slice.shared_counters.empty())
      return &slice;
  return &update;
}

}  // namespace sliced::publishers
