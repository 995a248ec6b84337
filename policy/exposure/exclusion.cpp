#include "policy/exposure/exclusion.h"

#include <algorithm>
#include <set>

#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using kube::Counters;
using kube::Quantity;

constexpr size_t kCountersPerSetMax = 32;  // resource/v1: ResourceSliceMaxCountersPerCounterSet
constexpr const char* kPfSet = "pf";
constexpr const char* kSlots = "exclusion-slots";
// With compatibility groups: names of counters and groups.
constexpr const char* kWhole = "whole";
constexpr const char* kParts = "parts";
constexpr int64_t kPartsMax = 1'000'000;  // more than a PF can have, so that it never limits

Quantity quantity(int64_t value) { return Quantity(value); }

std::string group_counter(const std::string& group) { return "group-" + group; }
// For sets that several devices share. Base and group name together might be too long.
std::string group_counter_of(const std::string& base, const std::string& group) {
  return base + "-g-" + hex(stable_hash(group), 8);
}

using Personas = std::vector<const Holding*>;

// Returns the maximum number of tokens of a device's entries: one for each shared entry.
int64_t tokens_of_all(const Personas& personas) {
  const auto shared =
      std::count_if(personas.begin(), personas.end(), [](const Holding* one) { return !one->is_exclusive; });
  return std::max<int64_t>(1, shared);
}

// Returns the tokens of withdrawn entries. An exclusive entry is not allocated beside others of its device,
// so only the larger of both counts.
int64_t reserved_tokens_of(const Personas& personas, int64_t tokens_of_exclusive) {
  int64_t shared = 0, exclusive = 0;
  for (const Holding* one : personas) {
    if (!one->is_withdrawn) continue;
    if (one->is_exclusive)
      exclusive = tokens_of_exclusive;
    else
      ++shared;
  }
  return std::max(shared, exclusive);
}

// Returns groups with several personas of one device, which must exclude each other.
std::set<std::string> groups_of(const Personas& personas) {
  std::map<std::string, int> counts;
  int any = 0;
  for (const Holding* one : personas) {
    if (one->group == kAnyGroup)
      ++any;
    else if (!one->group.empty())
      ++counts[one->group];
  }
  std::set<std::string> out;
  for (const auto& [group, count] : counts)
    if (count + any > 1) out.insert(group);
  return out;
}

bool is_group_in_use(const Personas& personas, const std::string& group) {
  return std::any_of(personas.begin(), personas.end(), [&](const Holding* one) {
    return one->is_withdrawn && (one->group == group || one->group == kAnyGroup);
  });
}

bool has_exclusive_beside_others(const Personas& personas) {
  return personas.size() > 1 &&
         std::any_of(personas.begin(), personas.end(), [](const Holding* one) { return one->is_exclusive; });
}

// Returns true if each VF has at most one persona and the PF none, so that no two exclude each other. Fast
// for members in order.
bool is_one_for_each(const PoolMembers& members) {
  const Holding* last = nullptr;
  for (const Holding& one : members.personas) {
    if (one.device == members.pf || (last != nullptr && one.device <= last->device)) return false;
    last = &one;
  }
  return true;
}

class Counting {
 public:
  explicit Counting(const PoolMembers& members) : members_(members) {
    for (const Holding& persona : members_.personas) by_device_[persona.device].push_back(&persona);
    for (const PoolMembers::Vf& vf : members_.vfs) vfs_.insert(vf.device);
  }

  Exclusion run() {
    if (!members_.pf.empty()) count_pf();
    for (const auto& [device, personas] : by_device_)
      if (device != members_.pf) count_device(personas);
    if (!shared_set_.counters.empty()) out_.counters.push_back(std::move(shared_set_));
    return std::move(out_);
  }

 private:
  // Takes tokens for an offered entry; withdrawn ones reduced the total. group: its compatibility group in
  // this set; "" if none or already set.
  void take(const Holding& persona, const std::string& set, const std::string& counter, int64_t tokens,
            const std::string& group = "") {
    if (persona.is_withdrawn) return;
    auto& consumed = out_.consumed[persona.entry];
    auto at = std::find_if(consumed.begin(), consumed.end(),
                           [&](const kube::CounterConsumption& one) { return one.counter_set == set; });
    if (at == consumed.end()) at = consumed.insert(at, {set, {}});
    at->counters.insert_or_assign(counter, quantity(tokens));
    if (!group.empty()) at->compatibility_groups = {group};
  }

  const Personas& of_device(const std::string& device) const {
    static const Personas kNone;
    const auto at = by_device_.find(device);
    return at == by_device_.end() ? kNone : at->second;
  }

  void count_pf() {
    const Personas& pf = of_device(members_.pf);
    kube::CounterSet set{.name = kPfSet};
    const bool has_exclusive =
        std::any_of(pf.begin(), pf.end(), [](const Holding* one) { return one->is_exclusive; });
    const bool has_others = pf.size() > 1 || members_.personas.size() > pf.size() ||
                            std::any_of(members_.vfs.begin(), members_.vfs.end(),
                                        [](const PoolMembers::Vf& vf) { return vf.is_host_used; });
    if (has_exclusive && has_others) members_.uses_groups ? group_whole(pf, set) : count_slots(pf, set);
    for (const std::string& group : groups_of(pf)) {
      if (set.counters.size() == kCountersPerSetMax) {
        refuse_group(pf, group);
        continue;
      }
      set.counters.emplace(group_counter(group), quantity(is_group_in_use(pf, group) ? 0 : 1));
      for (const Holding* one : pf)
        if (one->group == group) take(*one, kPfSet, group_counter(group), 1);
    }
    if (!set.counters.empty()) out_.counters.push_back(std::move(set));
  }

  void count_slots(const Personas& pf, kube::CounterSet& set) {
    int64_t full = tokens_of_all(pf), host_used = 0, reserved = 0;
    for (const PoolMembers::Vf& vf : members_.vfs) {
      const Personas& personas = of_device(vf.device);
      full += tokens_of_all(personas);
      host_used += vf.is_host_used;
      full += vf.is_host_used && !personas.empty();
    }
    // Also for devices that are not among the VFs now: their reserved tokens must not reduce those of others.
    for (const auto& [device, personas] : by_device_)
      if (device != members_.pf && !vfs_.contains(device)) full += tokens_of_all(personas);
    for (const auto& [device, personas] : by_device_)
      reserved += reserved_tokens_of(personas, device == members_.pf ? full : 1);
    set.counters.emplace(kSlots, quantity(std::max<int64_t>(0, full - host_used - reserved)));
    for (const Holding& persona : members_.personas)
      if (persona.device == members_.pf || vfs_.contains(persona.device))
        take(persona, kPfSet, kSlots, tokens_of(persona, full));
  }

  // The groups exclude whole and parts. Two exclusive personas of the PF share a group and one token.
  void group_whole(const Personas& pf, kube::CounterSet& set) {
    bool may_be_whole = std::none_of(members_.vfs.begin(), members_.vfs.end(),
                                     [](const PoolMembers::Vf& vf) { return vf.is_host_used; });
    for (const Holding& persona : members_.personas) may_be_whole &= !persona.is_withdrawn;
    const bool is_whole_in_use = std::any_of(
        pf.begin(), pf.end(), [](const Holding* one) { return one->is_withdrawn && one->is_exclusive; });
    set.counters.emplace(kWhole, quantity(may_be_whole ? 1 : 0));
    set.counters.emplace(kParts, quantity(is_whole_in_use ? 0 : kPartsMax));
    for (const Holding& persona : members_.personas)
      if (persona.device == members_.pf || vfs_.contains(persona.device)) {
        const char* name = persona.device == members_.pf && persona.is_exclusive ? kWhole : kParts;
        take(persona, kPfSet, name, 1, name);
      }
  }

  int64_t tokens_of(const Holding& persona, int64_t full) const {
    return persona.device == members_.pf && persona.is_exclusive ? full : 1;
  }

  void refuse_group(const Personas& personas, const std::string& group) {
    bool is_first = true;
    for (const Holding* one : personas) {
      if (one->group != group || one->is_withdrawn) continue;
      if (!std::exchange(is_first, false))
        out_.refused[one->entry] = "exclusionGroup " + group + ": a counter set holds at most " +
                                   std::to_string(kCountersPerSetMax) + " counters";
    }
  }

  // Devices other than the PF share counter sets; all counters of one device are in one set.
  void count_device(const Personas& personas) {
    const std::string& base = personas.front()->base;
    Counters counters;
    const auto groups = groups_of(personas);
    const bool has_tokens = has_exclusive_beside_others(personas);
    if (!has_tokens && groups.empty()) return;
    if ((has_tokens ? 1 : 0) + groups.size() > kCountersPerSetMax) {
      for (const std::string& group : groups) refuse_group(personas, group);
      return;
    }
    const int64_t full = tokens_of_all(personas);
    const auto tokens = [&](const Holding& one) { return one.is_exclusive ? full : int64_t{1}; };
    if (has_tokens) counters.emplace(base, quantity(full - reserved_tokens_of(personas, full)));
    for (const std::string& group : groups)
      counters.emplace(group_counter_of(base, group), quantity(is_group_in_use(personas, group) ? 0 : 1));
    const std::string set = set_for(counters);
    for (const Holding* one : personas) {
      if (has_tokens) take(*one, set, base, tokens(*one));
      if (groups.contains(one->group)) take(*one, set, group_counter_of(base, one->group), 1);
    }
  }

  std::string set_for(const Counters& counters) {
    if (shared_set_.counters.size() + counters.size() > kCountersPerSetMax) {
      out_.counters.push_back(std::move(shared_set_));
      shared_set_ = {};
    }
    if (shared_set_.counters.empty()) shared_set_.name = "devices-" + std::to_string(shared_sets_++);
    shared_set_.counters.insert(counters.begin(), counters.end());
    return shared_set_.name;
  }

  const PoolMembers& members_;
  std::map<std::string_view, Personas> by_device_;
  std::set<std::string_view> vfs_;
  Exclusion out_;
  kube::CounterSet shared_set_;
  int shared_sets_ = 0;
};

struct Regrouped {
  const Holding* was;
  Holding now;
  bool is_offer;
};

bool are_contested(const Regrouped& a, const Regrouped& b, const std::string& pf) {
  if (&a == &b || !(a.is_offer || b.is_offer) || !exclude_each_other(a.now, b.now, pf)) return false;
  return (a.was->is_contested && b.was->is_contested) || !exclude_each_other(*a.was, *b.was, pf);
}

}  // namespace

std::vector<Holding> contested(const std::vector<Holding>& offers, const std::vector<Holding>& holdings,
                               const std::string& pf) {
  std::map<std::string_view, const Holding*> offered;
  for (const Holding& offer : offers) offered.emplace(offer.entry, &offer);
  std::map<std::string_view, std::vector<Regrouped>> by_device;
  bool is_any = false;
  for (const Holding& holding : holdings) {
    const auto offer = offered.find(holding.entry);
    const bool is_offer = offer != offered.end();
    is_any |= is_offer && (holding.is_contested || offer->second->group != holding.group);
    Holding now = holding;
    if (is_offer) now.group = offer->second->group;
    now.is_withdrawn = now.is_contested = true;
    by_device[holding.device].push_back({&holding, std::move(now), is_offer});
  }
  std::vector<Holding> out;
  if (!is_any) return out;
  const auto is_beside = [&](const Regrouped& one, std::string_view device) {
    const auto at = by_device.find(device);
    return at != by_device.end() &&
           std::any_of(at->second.begin(), at->second.end(),
                       [&](const Regrouped& other) { return are_contested(one, other, pf); });
  };
  for (const auto& [device, all] : by_device)
    for (const Regrouped& one : all) {
      const bool is_whole = device == pf && one.now.is_exclusive;
      const bool is_any_other =
          is_whole ? std::any_of(by_device.begin(), by_device.end(),
                                 [&](const auto& other) { return is_beside(one, other.first); })
                   : is_beside(one, device) || is_beside(one, pf);
      if (is_any_other) out.push_back(one.now);
    }
  return out;
}

Exclusion exclude(const PoolMembers& members) {
  return is_one_for_each(members) ? Exclusion{} : Counting(members).run();
}

std::vector<std::string> without_conflict(const std::vector<Holding>& in_order, const std::string& pf) {
  PoolHoldings kept(pf);
  std::vector<std::string> out;
  for (const Holding& persona : in_order) {
    if (kept.exclude(persona)) continue;
    kept.add(persona);
    if (!persona.is_withdrawn) out.push_back(persona.entry);
  }
  return out;
}

}  // namespace sliced::policy
