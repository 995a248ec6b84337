#include "policy/exposure/decide_exposure.h"

#include <algorithm>

#include "policy/exposure/attributes.h"
#include "policy/exposure/entry_names.h"
#include "policy/exposure/withdrawn.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

constexpr size_t kEntriesInNote = 16;
constexpr size_t kPoolNameMax = 253;  // segments and slashes together (API: PoolNameMaxLength)
constexpr size_t kHashDigits = 16;

// The node's part of a name that would be too long is cut, and tells nodes apart by a hash.
std::string pool_name(const std::string& node, const std::string& rest) {
  std::string name = node + "/" + rest;
  if (name.size() <= kPoolNameMax) return name;
  name.resize(kPoolNameMax - 2 - kHashDigits - rest.size());
  while (name.back() == '.' || name.back() == '-') name.pop_back();
  return name + "-" + hex(stable_hash(node), kHashDigits) + "/" + rest;
}

// What is offered of one pool, before entries are made.
struct Candidate {
  const HostDevice* device;
  PersonaVerdict* verdict;
  const ExposurePolicy* policy;
  Holding claim;
  kube::Device entry;
};
struct PoolOfCandidates {
  std::string pf;  // host device id, "" none
  std::vector<Candidate> candidates;
};

// What the entries of a policy have in common.
struct Persona {
  PersonaAttributes adds;
  bool is_acceptable = false;  // one with them has been checked as a whole, and nothing was wrong
};

class Weighing {
 public:
  Weighing(const Inputs& inputs, const std::set<std::string>& sriov_taken, int32_t unreadable,
           const std::string& exclude_record, Decision& out)
      : in_(inputs),
        sriov_taken_(sriov_taken),
        unreadable_(unreadable),
        exclude_record_(exclude_record),
        out_(out),
        attributes_(inputs.settings.exposure_driver),
        bases_(base_names(*inputs.inventory, inputs.published.links)),
        names_(*inputs.inventory, inputs.published.links) {
    for (const auto& [id, device] : inputs.inventory->devices)
      if (device.type == DeviceType::kVf && device.pf)
        vfs_[*device.pf].push_back(&device);
      else
        is_vf_of_nobody_held_ |= is_held_by_sriov(device);
    for (const auto& [pool, claims] : inputs.holdings)
      for (const Holding& claim : claims) {
        held_in_[claim.device].insert(pool);
        held_.emplace(std::pair<std::string_view, std::string_view>(pool, claim.entry), &claim);
      }
  }

  void add(const HostDevice& device, const Resolution& resolution) {
    if (resolution.personas.empty()) return;
    auto& verdicts = out_.personas[device.id.text];
    verdicts.reserve(resolution.personas.size());
    for (const int32_t index : resolution.personas) {
      verdicts.push_back({.policy = index});
      consider(device, verdicts.back());
    }
  }

  void finish() {
    const std::string net = pool_name(in_.node.name, "net");
    if (net != in_.node.name + "/net")
      out_.notes.add("the Node's name is too long for pool names of at most " + std::to_string(kPoolNameMax) +
                     " bytes; it is shortened there: " + in_quotes(net));
    pools_[net];
    for (const auto& [name, claims] : in_.holdings) pools_[name];
    // Also those of which only the other kind's VFs wait to be shown free.
    for (const std::string& name : out_.wanted)
      if (name != in_.node.name && in_.doubt.is_of(name)) pools_[name];
    note_pfs();
    const bool is_announced = !in_.policies->exposures.empty();
    for (auto& [name, pool] : pools_) finish_pool(name, pool, is_announced && name == net);
  }

 private:
  const ExposurePolicy& policy_of(int32_t index) const {
    return in_.policies->exposures[static_cast<size_t>(index)];
  }

  void consider(const HostDevice& device, PersonaVerdict& verdict) {
    const ExposurePolicy& policy = policy_of(verdict.policy);
    const bool is_exclusive = !policy.exposure.allow_multiple_allocations;
    const auto refuse = [&](Outcome outcome, std::string why = "") {
      verdict.outcome = outcome;
      verdict.why = std::move(why);
    };
    if (!device.broken.empty()) return refuse(Outcome::kBroken);
    if (sriov_taken_.contains(device.id.text))
      return refuse(Outcome::kConflict, "a SriovResourcePolicy offers it");
    if (is_held_by_sriov(device)) return refuse(Outcome::kHeldByOther);
    if (is_exclusive && !device.host_use.empty() && !policy.allow_host_use) return refuse(Outcome::kHostUse);
    if (is_exclusive && device.type == DeviceType::kPf) {
      if (const std::string vf = vf_of_other_kind(device); !vf.empty())
        return refuse(Outcome::kConflict, "a SriovResourcePolicy offers its VF " + vf);
      if (has_vf_held_by_sriov(device)) return refuse(Outcome::kHeldByOther);
    }
    if (!is_exclusive && !in_.settings.shared_devices) return refuse(Outcome::kNoSharing);
    const std::string& base = bases_.at(device.id.text);
    verdict.entry = names_.name(device, base, policy.exposure.name_suffix);
    if (verdict.entry.empty())
      return refuse(Outcome::kRefused,
                    in_quotes(base + policy.exposure.name_suffix) +
                        " is no DNS label of at most 63 characters, or another entry's name");
    const std::string& pool = pool_of(device);
    out_.wanted.insert(pool);
    if (is_held_elsewhere(pool, device) || is_held_otherwise(pool, verdict.entry, is_exclusive, device))
      return refuse(Outcome::kCharged);
    const bool is_published = in_.published.exposure.contains(verdict.entry);
    if (!is_published && (is_exclusive || device.type == DeviceType::kVf) && is_sriov_doubted(device))
      return refuse(Outcome::kHeldByOther);
    if (is_in_motion(device) && !is_published) return refuse(Outcome::kSettling);
    if (unreadable_ >= 0 && !is_published) return refuse(Outcome::kExcludeUnreadable);
    pools_[pool].candidates.push_back(
        {&device,
         &verdict,
         &policy,
         {verdict.entry, device.id.text, base, is_exclusive, policy.exposure.exclusion_group, false},
         {}});
  }

  // VFs of one PF come one after the other.
  const std::string& pool_of(const HostDevice& device) {
    if (device.type == DeviceType::kVf && device.pf && device.pf == last_pf_) return last_pool_;
    last_pf_ = device.type == DeviceType::kVf ? device.pf : std::nullopt;
    return last_pool_ = exposure_pool_name(in_.node.name, device);
  }

  bool is_in_motion(const HostDevice& device) const { return in_.settling.contains(device.id.text); }

  bool is_held_by_sriov(const HostDevice& device) const {
    return device.pci && in_.sriov_holdings.contains(device.pci->dashed());
  }

  // Whether the other driver may have it, or a VF of it, is not known; where all of the pool is charged for
  // doubt of its own, that keeps it from being allocated.
  bool is_sriov_doubted(const HostDevice& device) {
    if (!in_.is_sriov_doubted || (device.type != DeviceType::kVf && vfs_of(device).empty())) return false;
    out_.wanted.insert(in_.node.name);  // the other driver's pool
    const std::string& pool = pool_of(device);
    return !in_.doubt.is_of(pool) && !held_.contains({pool, kUnknownEntry});
  }

  bool has_vf_held_by_sriov(const HostDevice& pf) const {
    const auto& vfs = vfs_of(pf);
    return is_vf_of_nobody_held_ ||
           std::any_of(vfs.begin(), vfs.end(), [&](const HostDevice* vf) { return is_held_by_sriov(*vf); });
  }

  // A VF that is being made anew is a function without a PF for a moment. Counters do not cross pools.
  bool is_held_elsewhere(const std::string& pool, const HostDevice& device) const {
    const auto pools = held_in_.find(device.id.text);
    return pools != held_in_.end() && (pools->second.size() > 1 || !pools->second.contains(pool));
  }

  // An entry that was shared and is to be exclusive, or the reverse: the scheduler does not see one in the
  // other. And one that was another device's: who was allocated that would have this one.
  bool is_held_otherwise(const std::string& pool, const std::string& entry, bool is_exclusive,
                         const HostDevice& device) const {
    const auto held = held_.find({pool, entry});
    if (held == held_.end()) return false;
    const std::string& holder = held->second->device;
    return held->second->is_exclusive != is_exclusive || (!holder.empty() && holder != device.id.text);
  }

  std::string vf_of_other_kind(const HostDevice& pf) const {
    for (const HostDevice* vf : vfs_of(pf))
      if (sriov_taken_.contains(vf->id.text)) return vf->id.text;
    return "";
  }

  const std::vector<const HostDevice*>& vfs_of(const HostDevice& pf) const {
    static const std::vector<const HostDevice*> kNone;
    const auto at = pf.pci ? vfs_.find(*pf.pci) : vfs_.end();
    return at == vfs_.end() ? kNone : at->second;
  }

  void note_pfs() {
    for (const auto& [id, device] : in_.inventory->devices) {
      if (device.type != DeviceType::kPf) continue;
      const auto pool = pools_.find(exposure_pool_name(in_.node.name, device));
      if (pool != pools_.end()) pool->second.pf = id;
    }
  }

  void finish_pool(const std::string& name, PoolOfCandidates& pool, bool is_always) {
    drop_unacceptable(pool);
    const std::vector<Holding> held = held_of(name, is_always);
    DesiredPool desired{.driver = in_.settings.exposure_driver, .name = name, .can_count = true};
    if (in_.settings.counters)
      count(pool, held, desired);
    else
      keep_without_conflict(pool, held);
    drop_refused(pool);
    const auto withdrawn = without_offered(held, pool);
    if (!withdrawn.empty()) note_withdrawn(name, withdrawn, desired);
    auto& claims = out_.offered[name];
    for (Candidate& candidate : pool.candidates) {
      desired.devices.push_back(std::move(candidate.entry));
      claims.push_back(std::move(candidate.claim));
    }
    std::sort(desired.devices.begin(), desired.devices.end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
    const bool has_functions = std::any_of(pool.candidates.begin(), pool.candidates.end(),
                                           [](const Candidate& one) { return one.device->pci.has_value(); });
    if (has_functions) desired.excludes = exclude_record_;
    if (is_always || !desired.devices.empty() || is_worth_a_record(name, withdrawn))
      out_.pools.push_back(std::move(desired));
  }

  // A pool without slices is one of which nothing is known, so that alone needs none.
  bool is_worth_a_record(const std::string& name, const std::vector<Holding>& withdrawn) const {
    return std::any_of(withdrawn.begin(), withdrawn.end(), [&](const Holding& claim) {
      return claim.entry != kUnknownEntry || out_.wanted.contains(name);
    });
  }

  // What is published as nothing must not look like a record of nothing.
  std::vector<Holding> held_of(const std::string& name, bool is_always) {
    const auto found = in_.holdings.find(name);
    std::vector<Holding> held = found == in_.holdings.end() ? std::vector<Holding>() : found->second;
    if (!in_.doubt.is_of(name)) return held;
    if (held.empty() && !is_always && !out_.wanted.contains(name)) return held;
    out_.doubted.insert(name);
    held.push_back(claim_of_unreadable(name));
    return held;
  }

  // Of what may be allocated, what is not offered and whose device is still there, or may come still.
  std::vector<Holding> without_offered(const std::vector<Holding>& held, const PoolOfCandidates& pool) const {
    std::set<std::string_view> offered;
    for (const Candidate& candidate : pool.candidates) offered.insert(candidate.claim.entry);
    std::vector<Holding> out;
    for (const Holding& claim : held) {
      if (offered.contains(claim.entry) || !(is_here(claim) || claim.is_awaited)) continue;
      out.push_back(claim);
      out.back().is_withdrawn = true;
    }
    return out;
  }

  bool is_here(const Holding& claim) const {
    return claim.device == kAnyDevice || in_.inventory->find(claim.device) != nullptr;
  }

  void note_withdrawn(const std::string& name, const std::vector<Holding>& withdrawn, DesiredPool& desired) {
    desired.annotations.emplace(kWithdrawnAnnotation, encode_record(withdrawn, name));
    std::vector<std::string> entries;
    for (const Holding& claim : withdrawn) {
      if (claim.entry == kUnknownEntry)
        out_.notes.add("pool " + name +
                       ": what of it may be allocated is not known, since its slices or their record "
                       "were lost; all of it is charged until the ResourceClaims tell");
      else if (entries.size() < kEntriesInNote)
        entries.push_back(claim.entry);
    }
    if (entries.empty()) return;
    if (withdrawn.size() > kEntriesInNote)
      entries.push_back("and others, " + std::to_string(withdrawn.size()) + " in all");
    out_.notes.add(
        "pool " + name +
        ": withdrawn and not yet shown free by the ResourceClaims, so still charged: " + join(entries, ", "));
  }

  void drop_unacceptable(PoolOfCandidates& pool) {
    for (Candidate& candidate : pool.candidates) {
      candidate.entry = make_entry(candidate);
      std::string why = check(candidate);
      if (why.empty()) continue;
      out_.notes.add("device " + candidate.entry.name + " held back: " + why);
      candidate.verdict->outcome = Outcome::kRefused;
      candidate.verdict->why = std::move(why);
    }
    drop_refused(pool);
  }

  std::string check(Candidate& candidate) {
    Persona& persona = persona_of(candidate);
    if (persona.is_acceptable && is_plainly_good(candidate.entry))
      return refused_before(candidate.entry, in_.quarantine.exposure);
    std::vector<std::string> notes;
    std::string why = make_acceptable(
        candidate.entry, in_.quarantine.exposure, [](const std::string&) { return false; }, notes);
    persona.is_acceptable = why.empty() && notes.empty();
    out_.notes.add(notes);
    return why;
  }

  static bool drop_refused(PoolOfCandidates& pool) {
    return std::erase_if(pool.candidates,
                         [](const Candidate& one) { return one.verdict->outcome != Outcome::kOffered; }) > 0;
  }

  Persona& persona_of(const Candidate& candidate) {
    const DeviceType type = candidate.device->type;
    const auto [at, fresh] = personas_.try_emplace({candidate.verdict->policy, type});
    if (fresh) {
      at->second.adds =
          attributes_.persona_of(candidate.policy->exposure, type, in_.settings.list_attributes);
      note_all(candidate.policy->id.name, at->second.adds.notes);
    }
    return at->second;
  }

  kube::Device make_entry(const Candidate& candidate) {
    const Exposure& exposure = candidate.policy->exposure;
    kube::Device entry;
    entry.name = candidate.verdict->entry;
    std::vector<std::string> notes;
    entry.attributes =
        attributes_.of(facts_of(*candidate.device, *in_.inventory), persona_of(candidate).adds, notes);
    note_all(candidate.policy->id.name, notes);
    entry.capacity = exposure.capacity;
    entry.allow_multiple_allocations = exposure.allow_multiple_allocations;
    return entry;
  }

  void note_all(const std::string& policy, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) out_.notes.add("policy " + policy + ": " + note);
  }

  // VFs that are just being made come and go in the counters with their entries.
  bool is_counted(const HostDevice& vf, const PoolOfCandidates& pool) const {
    return !is_in_motion(vf) || !vf.host_use.empty() ||
           std::any_of(pool.candidates.begin(), pool.candidates.end(),
                       [&](const Candidate& one) { return one.device == &vf; });
  }

  PoolMembers members_of(const PoolOfCandidates& pool) const {
    PoolMembers members{.pf = pool.pf};
    if (const HostDevice* pf = in_.inventory->find(pool.pf); pf != nullptr && !pool.pf.empty())
      for (const HostDevice* vf : vfs_of(*pf))
        if (is_counted(*vf, pool)) members.vfs.push_back({vf->id.text, !vf->host_use.empty()});
    for (const Candidate& candidate : pool.candidates) members.personas.push_back(candidate.claim);
    return members;
  }

  // Of a pool whose record is lost each device may be allocated as a whole.
  void charge_all(const std::string& pool, PoolMembers& members) const {
    for (const auto& [id, base] : bases_)
      if (const HostDevice* device = in_.inventory->find(id);
          device != nullptr && exposure_pool_name(in_.node.name, *device) == pool)
        members.personas.push_back({.entry = "unreadable record of " + id,
                                    .device = id,
                                    .base = base,
                                    .group = std::string(kAnyGroup),
                                    .is_withdrawn = true});
  }

  // What no counter can be given for is not offered, and what is not offered may be withdrawn: once more
  // then.
  void count(PoolOfCandidates& pool, const std::vector<Holding>& held, DesiredPool& desired) {
    do {
      PoolMembers members = members_of(pool);
      for (Holding& claim : without_offered(held, pool))
        if (claim.device == kAnyDevice)
          charge_all(desired.name, members);
        else if (is_here(claim))
          members.personas.push_back(std::move(claim));
      Exclusion exclusion = exclude(members);
      desired.counters = std::move(exclusion.counters);
      for (Candidate& candidate : pool.candidates) {
        if (const auto why = exclusion.refused.find(candidate.entry.name); why != exclusion.refused.end()) {
          candidate.verdict->outcome = Outcome::kRefused;
          candidate.verdict->why = why->second;
        }
        const auto taken = exclusion.consumed.find(candidate.entry.name);
        candidate.entry.consumes_counters = taken == exclusion.consumed.end()
                                                ? std::vector<kube::CounterConsumption>()
                                                : std::move(taken->second);
      }
    } while (drop_refused(pool));
  }

  // Two entries of which one may be allocated cannot both be offered. Then priority, VFs before their PF,
  // names.
  void keep_without_conflict(PoolOfCandidates& pool, const std::vector<Holding>& held) {
    std::set<std::string_view> held_entries;
    for (const Holding& claim : held) held_entries.insert(claim.entry);
    PoolHoldings allocated(pool.pf);
    bool is_any_device_allocated = false;
    for (const Holding& claim : held)
      if (claim.device == kAnyDevice)
        is_any_device_allocated = true;
      else if (is_here(claim))
        allocated.add(claim);
    // What is held back meanwhile is not seen to change its group, so it has the former and that of today.
    for (const Candidate& candidate : pool.candidates)
      if (held_entries.contains(candidate.claim.entry)) allocated.add(candidate.claim);
    std::vector<const Candidate*> order;
    for (const Candidate& candidate : pool.candidates)
      if (!is_any_device_allocated && !has_host_used_vf(candidate, pool) &&
          !allocated.exclude(candidate.claim))
        order.push_back(&candidate);
    const auto rank = [&](const Candidate* one) {
      return std::tuple(!held_entries.contains(one->claim.entry), -one->policy->priority,
                        one->device->type == DeviceType::kPf, std::string_view(one->entry.name));
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    std::vector<Holding> claims;
    for (const Candidate* one : order) claims.push_back(one->claim);
    const auto names = without_conflict(claims, pool.pf);
    const std::set<std::string_view> kept(names.begin(), names.end());
    for (Candidate& candidate : pool.candidates)
      if (!kept.contains(candidate.entry.name)) candidate.verdict->outcome = Outcome::kNoCounters;
  }

  // A PF as a whole.
  bool has_host_used_vf(const Candidate& candidate, const PoolOfCandidates& pool) const {
    if (candidate.claim.device != pool.pf || !candidate.claim.is_exclusive) return false;
    const auto& vfs = vfs_of(*candidate.device);
    return std::any_of(vfs.begin(), vfs.end(), [](const HostDevice* vf) { return !vf->host_use.empty(); });
  }

  const Inputs& in_;
  const std::set<std::string>& sriov_taken_;
  const int32_t unreadable_;
  const std::string& exclude_record_;
  Decision& out_;
  const EntryAttributes attributes_;
  const std::map<std::string, std::string> bases_;
  bool is_vf_of_nobody_held_ = false;  // the other driver's, whose PF cannot be read just now: it may be any
  std::map<hotplug::PciAddress, std::vector<const HostDevice*>> vfs_;             // by PF
  std::map<std::string_view, std::set<std::string_view>> held_in_;                // pools, by host device
  std::map<std::pair<std::string_view, std::string_view>, const Holding*> held_;  // by pool and entry
  EntryNames names_;
  std::map<std::pair<int32_t, DeviceType>, Persona> personas_;  // by policy and type
  std::map<std::string, PoolOfCandidates> pools_;               // by name
  std::optional<hotplug::PciAddress> last_pf_;
  std::string last_pool_;
};

}  // namespace

std::string exposure_pool_name(const std::string& node, const HostDevice& device) {
  if (device.type == DeviceType::kPf && device.pci) return pool_name(node, device.pci->dashed());
  if (device.type == DeviceType::kVf && device.pf) return pool_name(node, device.pf->dashed());
  return pool_name(node, "net");
}

ExposureDecision::ExposureDecision(const Inputs& inputs, const std::stop_token& stop)
    : inputs_(inputs),
      selectors_(ask_selectors(inputs.policies->exposures, inputs.node, inputs.settings.exposure_driver,
                               *inputs.inventory, inputs.selectors, inputs.settings.budgets, stop,
                               inputs.published)) {
  if (stop.stop_requested()) return;
  exclude_record_ = selectors_->exclude_record;
  resolutions_ = resolve(inputs.policies->exposures, *selectors_, *inputs.inventory,
                         inputs.settings.budgets.entries, problems_);
  note_unknown();
  for (const auto& [pool, claims] : inputs.holdings)
    for (const Holding& claim : claims) held_devices_[claim.device] |= claim.is_exclusive;
  note_doubt();
  if (!selectors_->node.unreadable.empty()) unreadable_ = selectors_->node.unreadable.front();
}

// The other driver's VFs wait where one of these policies offers the PF or a VF of it too; a PF that none of
// them offers is that driver's alone.
void ExposureDecision::note_doubt() {
  auto resolution = resolutions_.begin();
  for (const auto& [id, device] : inputs_.inventory->devices) {
    if ((resolution++)->personas.empty()) continue;
    std::string pool = exposure_pool_name(inputs_.node.name, device);
    if (inputs_.doubt.is_of(pool)) doubted_pools_.insert(std::move(pool));
  }
}

// Once for each policy: explain names the devices.
void ExposureDecision::note_unknown() {
  std::set<int32_t> excludes;
  for (const Resolution& one : resolutions_)
    if (one.is_unknown) excludes.insert(one.excluded_by);
  for (const int32_t index : excludes)
    notes_.push_back("policy " + inputs_.policies->exposures[static_cast<size_t>(index)]->id.name +
                     ": excludes by facts of interfaces, and some are in another network namespace; their "
                     "functions are not offered (exclude-unknown) until they are back");
}

// In whatever pool: a function without its physfn link for a moment looks like one of the others.
bool ExposureDecision::may_be_allocated(const HostDevice& vf) const {
  if (held_devices_.contains(vf.id.text)) return true;
  // What stands in our slices stood beside whatever was given away.
  const bool is_published = vf.pci && inputs_.published.sriov.contains(vf.pci->dashed());
  if (!is_published && doubted_pools_.contains(exposure_pool_name(inputs_.node.name, vf))) return true;
  if (!vf.pf) return false;
  const auto pf = held_devices_.find(vf.pf->text());
  return pf != held_devices_.end() && pf->second;
}

// What this driver has given away, in whichever boot, it gave away beside all that stood.
bool ExposureDecision::awaits_pods(const HostDevice& vf) const {
  return inputs_.awaits_pods && !(vf.pci && inputs_.sriov_holdings.contains(vf.pci->dashed())) &&
         inputs_.doubt.is_of(exposure_pool_name(inputs_.node.name, vf));
}

void ExposureDecision::decide(const std::set<std::string>& sriov_taken, Decision& out) const {
  out.exposure_problems = problems_;
  out.notes.add(notes_);
  Weighing weighing(inputs_, sriov_taken, unreadable_, exclude_record_, out);
  for (const bool are_functions : {true, false}) {
    auto resolution = resolutions_.begin();
    for (const auto& [id, device] : inputs_.inventory->devices) {
      if (device.pci.has_value() == are_functions) weighing.add(device, *resolution);
      ++resolution;
    }
  }
  weighing.finish();
}

}  // namespace sliced::policy
