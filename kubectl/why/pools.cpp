#include "kubectl/why/pools.h"

#include <algorithm>
#include <set>

namespace sliced::why {
namespace {

const std::vector<SlicePtr> kNone;

bool is_relevant(const Slice& slice, const kube::NodeView& node) {
  if (!slice.where.node_name.empty() || slice.where.all_nodes || slice.where.selector)
    return is_on(slice.where, node);
  return slice.is_per_device &&
         std::any_of(slice.device_where.begin(), slice.device_where.end(),
                     [&](const Placement& placement) { return is_on(placement, node); });
}

bool is_understood(const Slice& slice, const Features& features) {
  if (!features.partitionable_devices && (slice.is_per_device || !slice.common.shared_counters.empty()))
    return false;
  return features.compatibility_groups || !slice.has_compatibility_groups;
}

bool by_name(const SlicePtr& a, const SlicePtr& b) { return a->common.meta.name < b->common.meta.name; }

void add_devices(const Slice& slice, const kube::NodeView& node, Pool& pool) {
  for (size_t i = 0; i < slice.common.devices.size(); ++i) {
    const kube::Device& device = slice.common.devices[i];
    pool.devices.push_back(
        {&device, &slice,
         !slice.is_per_device || (i < slice.device_where.size() && is_on(slice.device_where[i], node)),
         i < slice.binds.size() && slice.binds[i]});
  }
}

std::string add_counter_sets(const Slice& slice, Pool& pool) {
  for (const kube::CounterSet& set : slice.common.shared_counters)
    if (!pool.counter_sets.emplace(set.name, &set.counters).second)
      return "two counter sets are named " + set.name;
  return "";
}

std::string check_consumption(const kube::Device& device, const Pool& pool) {
  for (const kube::CounterConsumption& consumption : device.consumes_counters) {
    const auto set = pool.counter_sets.find(consumption.counter_set);
    if (set == pool.counter_sets.end())
      return "device " + device.name + " consumes of counter set " + consumption.counter_set +
             ", which is not there";
    for (const auto& [name, amount] : consumption.counters)
      if (!set->second->contains(name))
        return "device " + device.name + " consumes counter " + name + ", which counter set " +
               consumption.counter_set + " does not have";
  }
  return "";
}

// Returns why the pool cannot be allocated from.
std::string find_invalid(const Pool& pool, const Features& features) {
  std::set<std::string_view> names;
  for (const Candidate& one : pool.devices)
    if (!names.insert(one.device->name).second) return "two devices are named " + one.device->name;
  if (!features.partitionable_devices) return "";
  for (const Candidate& one : pool.devices)
    if (std::string wrong = check_consumption(*one.device, pool); !wrong.empty()) return wrong;
  for (const kube::Device* one : pool.elsewhere)
    if (std::string wrong = check_consumption(*one, pool); !wrong.empty()) return wrong;
  return "";
}

void build(std::vector<SlicePtr> here, const std::vector<SlicePtr>& others, const kube::NodeView& node,
           const Features& features, Pool& pool) {
  std::stable_sort(here.begin(), here.end(), by_name);
  std::string invalid;
  const auto has_counters = [&](const Slice& slice) {
    return features.partitionable_devices && !slice.common.shared_counters.empty();
  };
  for (const SlicePtr& slice : here) {
    if (!has_counters(*slice))
      add_devices(*slice, node, pool);
    else if (std::string wrong = add_counter_sets(*slice, pool); invalid.empty())
      invalid = std::move(wrong);
  }
  for (const SlicePtr& slice : others) {
    const bool is_here = std::find(here.begin(), here.end(), slice) != here.end();
    if (is_here) continue;
    if (!has_counters(*slice)) {
      for (const kube::Device& device : slice->common.devices) pool.elsewhere.push_back(&device);
    } else if (std::string wrong = add_counter_sets(*slice, pool); invalid.empty()) {
      invalid = std::move(wrong);
    }
    pool.slices.push_back(slice);
  }
  pool.slices.insert(pool.slices.end(), here.begin(), here.end());
  pool.invalid = invalid.empty() ? find_invalid(pool, features) : invalid;
  if (pool.invalid.empty()) return;
  pool.devices.clear();
  pool.elsewhere.clear();
  pool.counter_sets.clear();
}

// The slices of the newest generation that are for the node, by pool.
std::map<PoolId, std::vector<SlicePtr>> newest_here(const SliceIndex& slices, const kube::NodeView& node,
                                                    const Features& features) {
  std::map<PoolId, std::vector<SlicePtr>> out;
  for (const auto* some : {&slices.of_node(node.name), &slices.of_no_node()})
    for (const SlicePtr& slice : *some) {
      if (!is_understood(*slice, features) || !is_relevant(*slice, node)) continue;
      const kube::ResourceSlice& common = slice->common;
      std::vector<SlicePtr>& kept = out[{common.driver, common.pool.name}];
      if (!kept.empty() && common.pool.generation < kept.front()->common.pool.generation) continue;
      if (!kept.empty() && common.pool.generation > kept.front()->common.pool.generation) kept.clear();
      kept.push_back(slice);
    }
  return out;
}

}  // namespace

std::string describe(const DeviceId& id) {
  return std::string(id.driver) + "/" + std::string(id.pool) + "/" + std::string(id.device);
}

SliceIndex::SliceIndex(std::vector<SlicePtr> slices) {
  for (SlicePtr& slice : slices) {
    by_pool_[{slice->common.driver, slice->common.pool.name}].push_back(slice);
    if (slice->where.node_name.empty())
      of_no_node_.push_back(std::move(slice));
    else
      by_node_[slice->where.node_name].push_back(std::move(slice));
  }
}

const std::vector<SlicePtr>& SliceIndex::of_node(const std::string& node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? kNone : found->second;
}

const std::vector<SlicePtr>& SliceIndex::of_pool(const PoolId& pool) const {
  const auto found = by_pool_.find(pool);
  return found == by_pool_.end() ? kNone : found->second;
}

std::vector<Pool> gather_pools(const SliceIndex& slices, const kube::NodeView& node, const Features& features,
                               bool as_if_complete) {
  std::vector<Pool> out, with_conditions;
  for (auto& [id, here] : newest_here(slices, node, features)) {
    Pool pool;
    pool.id = id;
    pool.generation = here.front()->common.pool.generation;
    pool.slices_wanted = here.front()->common.pool.slice_count;
    pool.slices_here = static_cast<int64_t>(here.size());
    std::vector<SlicePtr> all;
    if (pool.slices_here != pool.slices_wanted) {
      // Slices for other nodes may be the missing ones, or newer.
      bool is_obsolete = false;
      for (const SlicePtr& slice : slices.of_pool(id)) {
        is_obsolete |= slice->common.pool.generation > pool.generation;
        if (slice->common.pool.generation == pool.generation &&
            (features.compatibility_groups || !slice->has_compatibility_groups))
          all.push_back(slice);
      }
      if (is_obsolete) continue;
      pool.slices_here = static_cast<int64_t>(all.size());
      pool.is_incomplete = !as_if_complete && pool.slices_here != pool.slices_wanted;
    }
    if (!pool.is_incomplete) build(std::move(here), all, node, features, pool);
    const bool has_conditions =
        std::any_of(pool.devices.begin(), pool.devices.end(), [](const Candidate& one) { return one.binds; });
    (has_conditions ? with_conditions : out).push_back(std::move(pool));
  }
  out.insert(out.end(), std::make_move_iterator(with_conditions.begin()),
             std::make_move_iterator(with_conditions.end()));
  return out;
}

}  // namespace sliced::why
