#include "policy/exposure/decide_exposure.h"

#include <algorithm>

#include "policy/exposure/attributes.h"
#include "policy/exposure/entry_names.h"
#include "reactor/base/text.h"

namespace sliced::policy {
namespace {

using hotplug::DeviceType;
using hotplug::HostDevice;

// What is offered of one pool, before entries are made.
struct Candidate {
  const HostDevice* device;
  PersonaVerdict* verdict;
  const ExposurePolicy* policy;
  PersonaClaim claim;
  kube::Device entry;
};
struct PoolOfCandidates {
  std::string pf;  // host device id, "" none
  std::vector<Candidate> candidates;
};

class Weighing {
 public:
  Weighing(const Inputs& inputs, const std::set<std::string>& sriov_offered, int32_t unreadable,
           Decision& out)
      : in_(inputs),
        sriov_offered_(sriov_offered),
        unreadable_(unreadable),
        out_(out),
        attributes_(inputs.settings.exposure_driver),
        bases_(base_names(*inputs.inventory, inputs.published.links)) {}

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
    const std::string net = in_.node.name + "/net";
    pools_[net];
    for (const auto& [name, claims] : in_.withdrawn) pools_[name];
    note_pfs();
    for (auto& [name, pool] : pools_) finish_pool(name, pool, name == net);
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
    if (sriov_offered_.contains(device.id.text))
      return refuse(Outcome::kConflict, "a SriovResourcePolicy offers it");
    if (is_exclusive && !device.host_use.empty() && !policy.allow_host_use) return refuse(Outcome::kHostUse);
    if (is_exclusive && device.type == DeviceType::kPf)
      if (const std::string vf = vf_of_other_kind(device); !vf.empty())
        return refuse(Outcome::kConflict, "a SriovResourcePolicy offers its VF " + vf);
    if (!is_exclusive && !in_.settings.shared_devices) return refuse(Outcome::kNoSharing);
    const std::string& base = bases_.at(device.id.text);
    verdict.entry = names_.name(device, base, policy.exposure.name_suffix);
    if (verdict.entry.empty())
      return refuse(Outcome::kRefused,
                    in_quotes(base + policy.exposure.name_suffix) +
                        " is no DNS label of at most 63 characters, or another entry's name");
    const bool is_published = in_.published.exposure.contains(verdict.entry);
    if (is_in_motion(device) && !is_published) return refuse(Outcome::kSettling);
    if (unreadable_ >= 0 && !is_published)
      return refuse(Outcome::kExcludeUnreadable);
    pools_[exposure_pool_name(in_.node.name, device)].candidates.push_back(
        {&device,
         &verdict,
         &policy,
         {verdict.entry, device.id.text, base, is_exclusive, policy.exposure.exclusion_group, false},
         {}});
  }

  bool is_in_motion(const HostDevice& device) const { return in_.settling.contains(device.id.text); }

  std::string vf_of_other_kind(const HostDevice& pf) const {
    for (const std::string& id : sriov_offered_) {
      const HostDevice* vf = in_.inventory->find(id);
      if (vf != nullptr && vf->pf == pf.pci) return id;
    }
    return "";
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
    const auto withdrawn = in_.withdrawn.find(name);
    PoolMembers members = members_of(pool);
    if (withdrawn != in_.withdrawn.end())
      members.personas.insert(members.personas.end(), withdrawn->second.begin(), withdrawn->second.end());
    DesiredPool desired{.driver = in_.settings.exposure_driver, .name = name};
    if (in_.settings.counters)
      count(pool, members, desired);
    else
      keep_without_conflict(pool, members);
    for (Candidate& candidate : pool.candidates)
      if (candidate.verdict->outcome == Outcome::kOffered)
        desired.devices.push_back(std::move(candidate.entry));
    std::sort(desired.devices.begin(), desired.devices.end(),
              [](const auto& a, const auto& b) { return a->name < b->name; });
    if (is_always || !desired.devices.empty() || withdrawn != in_.withdrawn.end())
      out_.pools.push_back(std::move(desired));
  }

  void drop_unacceptable(PoolOfCandidates& pool) {
    for (Candidate& candidate : pool.candidates) {
      candidate.entry = make_entry(candidate);
      std::string why = make_acceptable(
          candidate.entry, in_.quarantine, [](const std::string&) { return false; }, out_.notes);
      if (why.empty()) continue;
      out_.notes.push_back("device " + candidate.entry.name + " held back: " + why);
      candidate.verdict->outcome = Outcome::kRefused;
      candidate.verdict->why = std::move(why);
    }
    std::erase_if(pool.candidates,
                  [](const Candidate& one) { return one.verdict->outcome != Outcome::kOffered; });
  }

  kube::Device make_entry(const Candidate& candidate) {
    const Exposure& exposure = candidate.policy->exposure;
    const auto [at, fresh] = personas_.try_emplace(candidate.verdict->policy);
    if (fresh) {
      at->second = attributes_.persona_of(exposure, in_.settings.list_attributes);
      note_all(candidate.policy->id.name, at->second.notes);
    }
    kube::Device entry;
    entry.name = candidate.verdict->entry;
    std::vector<std::string> notes;
    entry.attributes = attributes_.of(facts_of(*candidate.device, *in_.inventory), at->second, notes);
    note_all(candidate.policy->id.name, notes);
    entry.capacity = exposure.capacity;
    entry.allow_multiple_allocations = exposure.allow_multiple_allocations;
    return entry;
  }

  void note_all(const std::string& policy, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) out_.notes.push_back("policy " + policy + ": " + note);
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
      for (const auto& [id, device] : in_.inventory->devices)
        if (device.type == DeviceType::kVf && device.pf == pf->pci && is_counted(device, pool))
          members.vfs.push_back({id, !device.host_use.empty()});
    for (const Candidate& candidate : pool.candidates) members.personas.push_back(candidate.claim);
    return members;
  }

  void count(PoolOfCandidates& pool, const PoolMembers& members, DesiredPool& desired) {
    Exclusion exclusion = exclude(members);
    desired.counters = std::move(exclusion.counters);
    for (Candidate& candidate : pool.candidates) {
      if (const auto why = exclusion.refused.find(candidate.entry.name); why != exclusion.refused.end()) {
        candidate.verdict->outcome = Outcome::kRefused;
        candidate.verdict->why = why->second;
      }
      if (const auto taken = exclusion.consumed.find(candidate.entry.name); taken != exclusion.consumed.end())
        candidate.entry.consumes_counters = taken->second;
    }
  }

  // What is withdrawn comes first, then what is published; then priority, VFs before their PF, names.
  void keep_without_conflict(PoolOfCandidates& pool, const PoolMembers& members) {
    std::vector<const Candidate*> order;
    for (const Candidate& candidate : pool.candidates) order.push_back(&candidate);
    const auto rank = [&](const Candidate* one) {
      return std::tuple(!in_.published.exposure.contains(one->entry.name), -one->policy->priority,
                        one->device->type == DeviceType::kPf, std::string_view(one->entry.name));
    };
    std::sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    std::vector<PersonaClaim> claims;
    for (const PersonaClaim& claim : members.personas)
      if (claim.is_withdrawn) claims.push_back(claim);
    const bool is_pf_in_use =
        std::any_of(members.vfs.begin(), members.vfs.end(), [](const auto& vf) { return vf.is_host_used; });
    for (const Candidate* one : order)
      if (!(is_pf_in_use && one->device->id.text == pool.pf && one->claim.is_exclusive))
        claims.push_back(one->claim);
    const auto kept = without_conflict(claims, pool.pf);
    for (Candidate& candidate : pool.candidates)
      if (std::find(kept.begin(), kept.end(), candidate.entry.name) == kept.end())
        candidate.verdict->outcome = Outcome::kNoCounters;
  }

  const Inputs& in_;
  const std::set<std::string>& sriov_offered_;
  const int32_t unreadable_;
  Decision& out_;
  const EntryAttributes attributes_;
  const std::map<std::string, std::string> bases_;
  EntryNames names_;
  std::map<int32_t, PersonaAttributes> personas_;  // by policy
  std::map<std::string, PoolOfCandidates> pools_;  // by name
};

}  // namespace

std::string exposure_pool_name(const std::string& node, const HostDevice& device) {
  if (device.type == DeviceType::kPf && device.pci) return node + "/" + device.pci->dashed();
  if (device.type == DeviceType::kVf && device.pf) return node + "/" + device.pf->dashed();
  return node + "/net";
}

ExposureDecision::ExposureDecision(const Inputs& inputs) : inputs_(inputs) {
  ExposureResolver resolver(inputs.policies->exposures, inputs.node, inputs.settings.exposure_driver);
  const auto resolve_all = [&] {
    resolutions_.clear();
    for (const auto& [id, device] : inputs.inventory->devices)
      resolutions_.emplace_hint(resolutions_.end(), id, resolver.of(facts_of(device, *inputs.inventory)));
  };
  resolve_all();
  while (!resolver.spent().empty()) {
    const std::set<int32_t> spent = resolver.spent();
    for (const int32_t index : spent)
      notes_.push_back("policy " + inputs.policies->exposures[static_cast<size_t>(index)].id.name +
                       ": its selector costs more than " + std::to_string(kPolicyCostMax) +
                       " units over the devices of this node, so it is not used; make it simpler");
    resolver.leave(spent);
    resolve_all();
  }
  if (!resolver.node().unreadable.empty()) unreadable_ = resolver.node().unreadable.front();
}

const Resolution& ExposureDecision::of(const std::string& device_id) const {
  static const Resolution kNothing;
  const auto at = resolutions_.find(device_id);
  return at == resolutions_.end() ? kNothing : at->second;
}

void ExposureDecision::decide(const std::set<std::string>& sriov_offered, Decision& out) const {
  out.notes.insert(out.notes.end(), notes_.begin(), notes_.end());
  Weighing weighing(inputs_, sriov_offered, unreadable_, out);
  for (const auto& [id, device] : inputs_.inventory->devices) weighing.add(device, of(id));
  weighing.finish();
}

}  // namespace sliced::policy
