#include "policy/exposure/pools.h"

#include <algorithm>
#include <set>

#include "policy/exposure/resolve.h"
#include "policy/identity.h"
#include "policy/in_order.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

constexpr size_t kEntriesInNote = 16;

// A pool without slices is unverified anyway (publishers::find_unverified). A record that states only this
// needs no slice: every start would write it and delete it after the list of claims.
bool is_worth_a_record(const std::vector<Holding>& withdrawn) {
  return std::any_of(withdrawn.begin(), withdrawn.end(),
                     [](const Holding& one) { return one.entry != kUnknownEntry; });
}

bool drop_refused(std::vector<Candidate>& candidates) {
  return std::erase_if(candidates,
                       [](const Candidate& one) { return one.verdict->outcome != Outcome::kOffered; }) > 0;
}

// Returns true if an offered entry that may be allocated changed its group.
bool is_any_regrouped(const std::vector<Candidate>& candidates, const std::vector<Holding>& holdings) {
  InOrder offered(candidates, &Candidate::name);
  return std::any_of(holdings.begin(), holdings.end(), [&](const Holding& one) {
    const Candidate* candidate = offered.find(one.entry);
    return candidate != nullptr && (one.is_contested || candidate->holding.group != one.group);
  });
}

// Returns the entry with its present counters; unchanged if they are the same.
kube::DevicePtr published(Candidate& candidate) {
  const bool is_draft = is_same(candidate.entry, candidate.draft->entry);
  if (candidate.entry->consumes_counters != candidate.consumes)
    candidate.entry.edit(
        [&](kube::Device& entry) { entry.consumes_counters = std::move(candidate.consumes); });
  if (is_draft) candidate.draft->entry = candidate.entry;
  return candidate.entry;
}

}  // namespace

ExposurePools::ExposurePools(Deciding& deciding, const std::map<std::string, std::string>& links,
                             const SettlingDevices& settling, CandidatesByPool candidates)
    : in_(deciding.in),
      exclude_record_(deciding.resolutions.exclude_record),
      links_(links),
      settling_(settling),
      now_(deciding.now),
      out_(deciding.out) {
  for (auto& [name, all] : candidates) pools_[name].candidates = std::move(all);
}

void ExposurePools::finish() {
  const std::string& net = now_.pools.net();
  if (now_.pools.are_shortened())
    out_.notes.add("the Node's name is too long for pool names of at most " + std::to_string(kPoolNameMax) +
                   " bytes; it is shortened there: " + in_quotes(net));
  pools_[net];
  for (const auto& [name, holdings] : in_.holdings) pools_[name];
  // Also pools for which only VFs of the other kind wait.
  for (const std::string& name : now_.wanted)
    if (name != in_.node.name && in_.unverified.is_of(name)) pools_[name];
  note_functions();
  const bool is_announced = !in_.policies->exposures.empty();
  for (auto& [name, pool] : pools_) finish_pool(name, pool, is_announced && name == net);
}

void ExposurePools::note_functions() {
  auto last = vfs_.end();  // VFs of one PF are adjacent; scalable functions count as VFs
  for (const auto& [id, device] : in_.inventory->devices) {
    if ((device.type == DeviceType::kVf || device.type == DeviceType::kSf) && device.pf) {
      if (last == vfs_.end() || last->first != *device.pf) last = vfs_.try_emplace(*device.pf).first;
      last->second.push_back(&device);
    }
    if (device.type != DeviceType::kPf) continue;
    const auto pool = pools_.find(now_.pools.of(device));
    if (pool != pools_.end()) pool->second.pf = id;
  }
}

const ExposurePools::Vfs& ExposurePools::vfs_of(const HostDevice& pf) const {
  static const Vfs kNone;
  const auto at = pf.pci ? vfs_.find(*pf.pci) : vfs_.end();
  return at == vfs_.end() ? kNone : at->second;
}

void ExposurePools::finish_pool(const std::string& name, Pool& pool, bool is_always) {
  std::vector<Holding> holdings = holdings_of(name);
  if (in_.settings.counters) hold_back_contested(name, pool, holdings);
  DesiredPool desired{.driver = in_.settings.exposure_driver,
                      .name = name,
                      .can_count = true,
                      .skips_node_operations = in_.settings.skip_node_operations};
  if (in_.settings.counters)
    count(pool, holdings, desired);
  else
    keep_unless_conflicting(pool, holdings);
  drop_refused(pool.candidates);
  const auto withdrawn = without_offered(holdings, pool);
  if (!withdrawn.empty()) note_withdrawn(name, withdrawn);
  auto& offered = out_.offered[name];
  offered.reserve(pool.candidates.size());
  desired.devices.reserve(pool.candidates.size());
  for (Candidate& candidate : pool.candidates) {
    desired.devices.push_back(published(candidate));
    offered.push_back(std::move(candidate.holding));
  }
  const auto by_name = [](const auto& a, const auto& b) { return a->name < b->name; };
  if (!std::is_sorted(desired.devices.begin(), desired.devices.end(), by_name))
    std::sort(desired.devices.begin(), desired.devices.end(), by_name);
  const bool has_functions = std::any_of(pool.candidates.begin(), pool.candidates.end(),
                                         [](const Candidate& one) { return one.device->pci.has_value(); });
  if (has_functions) desired.excludes = exclude_record_;
  // The next start would read an empty slice of an unverified pool as a complete record.
  const bool is_verified =
      withdrawn.empty() && !(in_.unverified.is_of(name) && !out_.unverified.contains(name));
  if ((is_always && is_verified) || !desired.devices.empty() || is_worth_a_record(withdrawn))
    out_.pools[in_.settings.exposure_driver].push_back(std::move(desired));
}

void ExposurePools::hold_back_contested(const std::string& name, Pool& pool, std::vector<Holding>& holdings) {
  auto& all = out_.contested[name];
  if (!is_any_regrouped(pool.candidates, holdings)) return;
  std::vector<Holding> offers;
  for (const Candidate& candidate : pool.candidates) offers.push_back(candidate.holding);
  std::map<std::string_view, const Holding*> apart;
  all = contested(offers, holdings, pool.pf);
  for (const Holding& one : all) apart.emplace(one.entry, &one);
  if (apart.empty()) return;
  for (Candidate& candidate : pool.candidates)
    if (apart.contains(candidate.holding.entry)) candidate.verdict->outcome = Outcome::kReserved;
  drop_refused(pool.candidates);
  for (Holding& holding : holdings)
    if (const auto at = apart.find(holding.entry); at != apart.end()) holding = *at->second;
}

// Only a new entry can conflict with an unknown allocation. A pool without needed entries allocates nothing,
// so it does not matter yet whether its slices were lost; it stays unverified until its first entry.
std::vector<Holding> ExposurePools::holdings_of(const std::string& name) {
  const auto found = in_.holdings.find(name);
  std::vector<Holding> holdings = found == in_.holdings.end() ? std::vector<Holding>() : found->second;
  if (!in_.unverified.is_of(name)) return holdings;
  if (holdings.empty() && !now_.wanted.contains(name)) return holdings;
  out_.unverified.insert(name);
  holdings.push_back(whole_holding(name));
  return holdings;
}

// Possibly allocated entries that are not offered and whose device exists or may still appear.
std::vector<Holding> ExposurePools::without_offered(const std::vector<Holding>& holdings,
                                                    const Pool& pool) const {
  if (holdings.empty()) return {};
  InOrder offered(pool.candidates, &Candidate::name);
  std::vector<Holding> out;
  for (const Holding& one : holdings) {
    if (offered.find(one.entry) != nullptr || !(is_for_present_device(one) || one.is_awaited)) continue;
    out.push_back(one);
    out.back().is_withdrawn = true;
  }
  return out;
}

bool ExposurePools::is_for_present_device(const Holding& one) const {
  return one.device == kAnyDevice || in_.inventory->find(one.device) != nullptr;
}

void ExposurePools::note_withdrawn(const std::string& name, const std::vector<Holding>& withdrawn) {
  std::vector<std::string> entries;
  size_t count = 0;
  for (const Holding& one : withdrawn) {
    if (one.entry == kUnknownEntry) {
      if (now_.wanted.contains(name))
        out_.waits.add("a list of all ResourceClaims, which shows the allocated devices of pool " + name +
                       " is in use: its ResourceSlices or their record were missing or unreadable, and its "
                       "devices are held back until then");
    } else if (++count <= kEntriesInNote) {
      entries.push_back(one.entry);
    }
  }
  if (entries.empty()) return;
  if (count > kEntriesInNote) entries.push_back("and " + std::to_string(count - kEntriesInNote) + " more");
  out_.waits.add("the ResourceClaims of devices of pool " + name +
                 " that are no longer offered and may still be in use by a pod: " + join(entries, ", "));
}

// VFs that are being created enter the counters together with their entries.
bool ExposurePools::is_counted(const HostDevice& vf, const Pool& pool) const {
  return !settling_.is_settling(vf) || !vf.host_use.empty() ||
         std::any_of(pool.candidates.begin(), pool.candidates.end(),
                     [&](const Candidate& one) { return one.device == &vf; });
}

PoolMembers ExposurePools::members_of(const Pool& pool) const {
  PoolMembers members{.pf = pool.pf, .uses_groups = in_.settings.compatibility_groups};
  if (const HostDevice* pf = in_.inventory->find(pool.pf); pf != nullptr && !pool.pf.empty())
    for (const HostDevice* vf : vfs_of(*pf))
      if (is_counted(*vf, pool)) members.vfs.push_back({vf->id.text, !vf->host_use.empty()});
  members.personas.reserve(pool.candidates.size());
  for (const Candidate& candidate : pool.candidates) members.personas.push_back(candidate.holding);
  return members;
}

// If the record is lost, each device may be allocated as a whole.
void ExposurePools::charge_all(const std::string& pool, PoolMembers& members) const {
  for (const auto& [id, device] : in_.inventory->devices)
    if (now_.pools.of(device) == pool)
      members.personas.push_back({.entry = "unreadable record of " + id,
                                  .device = id,
                                  .base = device.pci ? function_name(*device.pci) : links_.at(id),
                                  .group = std::string(kAnyGroup),
                                  .is_withdrawn = true});
}

// An entry without a possible counter is not offered, and may become a withdrawn one. Then the counters are
// computed again.
void ExposurePools::count(Pool& pool, const std::vector<Holding>& holdings, DesiredPool& desired) {
  do {
    PoolMembers members = members_of(pool);
    for (Holding& one : without_offered(holdings, pool))
      if (one.device == kAnyDevice)
        charge_all(desired.name, members);
      else if (is_for_present_device(one))
        members.personas.push_back(std::move(one));
    Exclusion exclusion = exclude(members);
    desired.counters = std::move(exclusion.counters);
    for (Candidate& candidate : pool.candidates) {
      if (const auto why = exclusion.refused.find(candidate.holding.entry); why != exclusion.refused.end()) {
        candidate.verdict->outcome = Outcome::kRefused;
        candidate.verdict->why = why->second;
      }
      const auto consumed = exclusion.consumed.find(candidate.holding.entry);
      candidate.consumes = consumed == exclusion.consumed.end() ? std::vector<kube::CounterConsumption>()
                                                                : std::move(consumed->second);
    }
  } while (drop_refused(pool.candidates));
}

// A restarted daemon does not know the groups of entries in slices: offered ones count as in their present
// group. With any group, two compatible entries would exclude each other.
std::set<std::string_view> ExposurePools::offered_of_any_group(const Pool& pool,
                                                               const std::vector<Holding>& holdings) const {
  std::set<std::string_view> offered, out;
  for (const Candidate& candidate : pool.candidates) offered.insert(candidate.holding.entry);
  for (const Holding& one : holdings)
    if (one.group == kAnyGroup && in_.published.exposure.contains(one.entry) && offered.contains(one.entry))
      out.insert(one.entry);
  return out;
}

// If one of two conflicting entries may be allocated, it has precedence. Then priority, VFs before their PF,
// names.
void ExposurePools::keep_unless_conflicting(Pool& pool, const std::vector<Holding>& holdings) {
  std::set<std::string_view> former;
  for (const Holding& one : holdings) former.insert(one.entry);
  PoolHoldings allocated(pool.pf);
  bool is_any_device_allocated = false;
  const auto offered = offered_of_any_group(pool, holdings);
  for (const Holding& one : holdings)
    if (one.device == kAnyDevice)
      is_any_device_allocated = true;
    else if (is_for_present_device(one) && !offered.contains(one.entry))
      allocated.add(one);
  // A change of its group while it is withheld would not be noticed, so it counts in its former and its
  // present group.
  for (const Candidate& candidate : pool.candidates)
    if (former.contains(candidate.holding.entry)) allocated.add(candidate.holding);
  std::vector<const Candidate*> order;
  for (const Candidate& candidate : pool.candidates)
    if (!is_any_device_allocated && !has_host_used_vf(candidate, pool) &&
        !allocated.exclude(candidate.holding))
      order.push_back(&candidate);
  const auto rank = [&](const Candidate* one) {
    return std::tuple(!former.contains(one->holding.entry), -one->policy->priority,
                      one->device->type == DeviceType::kPf, std::string_view(one->holding.entry));
  };
  std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  std::vector<Holding> in_order;
  for (const Candidate* one : order) in_order.push_back(one->holding);
  const auto names = without_conflict(in_order, pool.pf);
  const std::set<std::string_view> kept(names.begin(), names.end());
  for (Candidate& candidate : pool.candidates)
    if (!kept.contains(candidate.holding.entry)) candidate.verdict->outcome = Outcome::kNoCounters;
  drop_refused(pool.candidates);
  out_.is_regrouped |= is_any_regrouped(pool.candidates, holdings);
}

// Returns whether the candidate is a PF that is offered as a whole while the host uses a VF of it.
bool ExposurePools::has_host_used_vf(const Candidate& candidate, const Pool& pool) const {
  if (candidate.holding.device != pool.pf || !candidate.holding.is_exclusive) return false;
  const auto& vfs = vfs_of(*candidate.device);
  return std::any_of(vfs.begin(), vfs.end(), [](const HostDevice* vf) { return !vf->host_use.empty(); });
}

}  // namespace sliced::policy
