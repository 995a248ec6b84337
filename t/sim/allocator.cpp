#include "t/sim/allocator.h"

#include <algorithm>

#include "reactor/base/text.h"

namespace sliced::sim {
namespace {

using kube::Json;

// Of what is published here: whole numbers, perhaps with a suffix.
int64_t amount_of(std::string text) {
  int64_t unit = 1;
  if (text.ends_with("k")) unit = 1'000, text.pop_back();
  if (text.ends_with("M")) unit = 1'000'000, text.pop_back();
  return parse_int(text).value_or(-1) * unit;
}

Tokens tokens_in(const Json* counters) {
  Tokens out;
  if (counters == nullptr || counters->object() == nullptr) return out;
  for (const auto& [name, value] : *counters->object())
    out[name] = amount_of(std::string(value.text("value")));
  return out;
}

template <class Visit>
void visit(const Json* list, const Visit& each) {
  if (list == nullptr || list->array() == nullptr) return;
  for (const Json& one : *list->array()) each(one);
}

int64_t number_at(const Json& object, std::initializer_list<std::string_view> path) {
  const Json* at = object.find(path);
  return at == nullptr || !at->integer() ? -1 : *at->integer();
}

SlicedEntry entry_in(const Json& device, Entry attributes) {
  SlicedEntry out;
  out.name = device.text("name");
  out.attributes = std::move(attributes);
  const Json* shared = device.find("allowMultipleAllocations");
  out.is_shared = shared != nullptr && *shared == Json(true);
  if (out.is_shared) out.capacity = tokens_in(device.find("capacity"));
  for (const auto& [name, value] : out.capacity) {
    const Json* standard = device.find("capacity")->find({name, "requestPolicy", "default"});
    out.each[name] = standard == nullptr || !standard->string() ? value : amount_of(*standard->string());
    if (const Json* range = device.find("capacity")->find({name, "requestPolicy", "validRange"})) {
      if (const std::string_view min = range->text("min"); !min.empty())
        out.least[name] = amount_of(std::string(min));
      if (const std::string_view step = range->text("step"); !step.empty())
        out.step[name] = amount_of(std::string(step));
    }
  }
  visit(device.find("consumesCounters"), [&](const Json& one) {
    out.consumes[std::string(one.text("counterSet"))] = tokens_in(one.find("counters"));
  });
  visit(device.find("taints"), [&](const Json& one) { out.taints.insert(std::string(one.text("key"))); });
  return out;
}

}  // namespace

SliceContent slice_content(const Json& object) {
  StoredSlice stored = stored_slice(object);
  SliceContent out;
  out.name = stored.name;
  out.driver = stored.driver;
  out.node = stored.node;
  out.pool = stored.pool;
  out.generation = stored.generation;
  out.slice_count = number_at(object, {"spec", "pool", "resourceSliceCount"});
  if (const Json* notes = object.find({"metadata", "annotations"}); notes != nullptr)
    out.record = std::string(notes->text("dra.networking/withdrawn"));
  visit(object.find({"spec", "sharedCounters"}), [&](const Json& set) {
    out.counters[std::string(set.text("name"))] = tokens_in(set.find("counters"));
  });
  size_t i = 0;
  visit(object.find({"spec", "devices"}), [&](const Json& device) {
    out.entries.push_back(entry_in(device, std::move(stored.devices[i++].second)));
  });
  return out;
}

SlicedPools pools_in(const std::vector<SlicePtr>& slices) {
  SlicedPools pools;
  for (const SlicePtr& slice : slices) {
    SlicedPool& pool = pools[slice->driver + "/" + slice->pool];
    pool.driver = slice->driver;
    pool.name = slice->pool;
    if (slice->generation > pool.generation) pool.slices.clear(), pool.generation = slice->generation;
    if (slice->generation == pool.generation) pool.slices.push_back(slice);
  }
  for (auto& [id, pool] : pools) {
    const auto names_all = [&](const SlicePtr& slice) {
      return slice->slice_count == static_cast<int64_t>(pool.slices.size());
    };
    pool.is_whole = std::all_of(pool.slices.begin(), pool.slices.end(), names_all);
    pool.may_count_as_whole = std::any_of(pool.slices.begin(), pool.slices.end(), names_all);
    for (const SlicePtr& slice : pool.slices) {
      for (const SlicedEntry& entry : slice->entries) pool.entries.emplace(entry.name, &entry);
      pool.counters.insert(slice->counters.begin(), slice->counters.end());
    }
  }
  return pools;
}

const Allocated::Share& Allocated::of(const std::string& id) const {
  static const Share kNone;
  const auto at = entries.find(id);
  return at == entries.end() ? kNone : at->second;
}

std::map<std::string, Tokens> tokens_left(const SlicedPool& pool, const Allocated& allocated) {
  std::map<std::string, Tokens> left = pool.counters;
  const std::string prefix = pool.driver + "/" + pool.name + "/";
  for (const auto& [name, entry] : pool.entries) {
    if (entry->consumes.empty() || !allocated.of(prefix + name).is_any()) continue;
    for (const auto& [set, taken] : entry->consumes)
      for (const auto& [counter, tokens] : taken) left[set][counter] -= tokens;
  }
  return left;
}

Tokens taken_by(const SlicedEntry& entry, const Tokens& asked) {
  Tokens out = entry.each;
  for (const auto& [name, amount] : asked) {
    const auto least = entry.least.find(name);
    if (!out.contains(name)) continue;
    out[name] = amount;
    if (least == entry.least.end()) continue;
    const int64_t above = std::max<int64_t>(amount - least->second, 0);
    const auto step = entry.step.find(name);
    out[name] = least->second +
                (step == entry.step.end() ? above : (above + step->second - 1) / step->second * step->second);
  }
  return out;
}

void give_away(const SlicedPool& pool, const SlicedEntry& entry, const Tokens& taken, Allocated& allocated) {
  auto& share = allocated.entries[pool.driver + "/" + pool.name + "/" + entry.name];
  entry.is_shared ? ++share.shares : share.is_exclusive = true;
  for (const auto& [name, amount] : taken) share.taken += amount;
}

std::string why_not_given(const SlicedPool& pool, const SlicedEntry& entry, const Allocated& allocated,
                          const Tokens& asked) {
  if (!pool.may_count_as_whole) return "its pool is not whole";
  for (const auto& [name, one] : pool.entries)
    for (const auto& [set, taken] : one->consumes)
      if (!pool.counters.contains(set)) return "its pool is invalid: there is no counter set " + set;
  const Allocated::Share& own = allocated.of(pool.driver + "/" + pool.name + "/" + entry.name);
  if (own.is_exclusive) return "it is allocated";
  for (const auto& [name, amount] : asked)
    if (!entry.capacity.contains(name)) return "it has no capacity " + name;
  const Tokens taken = taken_by(entry, asked);
  for (const auto& [name, value] : entry.capacity)
    if (own.taken + taken.at(name) > value) return "all of its " + name + " are allocated";
  const bool has_taken_its_tokens = entry.is_shared && own.shares > 0;
  if (entry.consumes.empty() || has_taken_its_tokens) return "";
  // One that is overdrawn keeps every entry of the pool that takes tokens from being given away.
  for (const auto& [set, counters] : tokens_left(pool, allocated))
    for (const auto& [counter, left] : counters) {
      const auto takes = entry.consumes.find(set);
      const bool is_in_use = takes != entry.consumes.end() && takes->second.contains(counter);
      const int64_t wanted = is_in_use ? takes->second.at(counter) : 0;
      if (wanted > left)
        return counter + " has " + std::to_string(left) + " of " + std::to_string(wanted) + " tokens";
    }
  return "";
}

}  // namespace sliced::sim
