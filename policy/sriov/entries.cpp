#include "policy/sriov/entries.h"

#include <algorithm>
#include <vector>

#include "policy/entry_validation.h"

namespace sliced::policy {

using hotplug::HostDevice;

namespace {

// DeviceAttributes are joined, so that any change may affect any entry.
bool are_same(const PolicySet& a, const PolicySet& b) {
  return &a == &b ||
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [](const auto& x, const auto& y) { return is_same(x, y); });
}

// Returns nullptr if the entries were created for other settings.
const KeptEntries* former_sriov(const Inputs& in) {
  if (in.entries == nullptr) return nullptr;
  const KeptEntries& before = in.entries->sriov;
  const bool stands = before.driver == in.settings.sriov_driver &&
                      before.takes_lists == in.settings.list_attributes &&
                      before.lists_numa_nodes == in.settings.lists_numa_nodes &&
                      are_same(*in.entries->policies, *in.policies);
  return stands ? &before : nullptr;
}

}  // namespace

SriovEntries::SriovEntries(const Inputs& inputs, const SameFacts& same, Notes& notes)
    : in_(inputs),
      same_(same),
      notes_(notes),
      own_(inputs.settings.sriov_driver, inputs.settings.lists_numa_nodes),
      additions_(inputs, own_, notes),
      before_(former_entries(former_sriov(inputs))) {
  kept_.driver = in_.settings.sriov_driver;
  kept_.takes_lists = in_.settings.list_attributes;
  kept_.lists_numa_nodes = in_.settings.lists_numa_nodes;
}

const HostDevice* SriovEntries::pf_of(const HostDevice& vf) {
  if (!vf.pf) return nullptr;
  const auto [at, fresh] = pfs_.try_emplace(*vf.pf, nullptr);
  if (fresh) at->second = in_.inventory->find(vf.pf->text());
  return at->second;
}

const KeptEntries::Kept* SriovEntries::former(const HostDevice& vf, const std::string& name,
                                              const Verdict& verdict) {
  const KeptEntries::Kept* kept = before_.find(name);
  if (kept == nullptr || !same_.has(vf) || !kept->is_plain || kept->config != verdict.config) return nullptr;
  const auto& policy = in_.policies->sriov[static_cast<size_t>(verdict.policy)];
  return is_same(policy, in_.entries->policies->sriov[static_cast<size_t>(kept->policy)]) ? kept : nullptr;
}

const Draft& SriovEntries::of(const HostDevice& vf, const std::string& name, const Verdict& verdict) {
  additions_.of(verdict);  // adds its notes
  const KeptEntries::Kept* before = former(vf, name, verdict);
  KeptEntries::Kept& kept = before == nullptr ? kept_.all.emplace_back() : kept_.all.emplace_back(*before);
  if (before == nullptr) {
    kept.name = name;
    kept.is_plain = make(vf, name, verdict, kept.draft);
    kept.config = verdict.config;
  }
  kept.policy = verdict.policy;
  return kept.draft;
}

// Returns false if it left a note.
bool SriovEntries::make(const HostDevice& vf, const std::string& name, const Verdict& verdict, Draft& out) {
  const Additions& additions = additions_.of(verdict);
  const bool has_room = additions.attributes.size() + own_.keys().size() <= kube::kAttributesAndCapacitiesMax;
  kube::Device entry{.name = name, .attributes = own_.of(vf, pf_of(vf), has_room)};
  entry.attributes.insert(additions.attributes.begin(), additions.attributes.end());
  out.refusal = additions.refusal;
  std::vector<std::string> notes;
  if (out.refusal.empty() && !(additions.is_valid && is_trivially_valid(entry)))
    out.refusal =
        drop_refused(entry, [this](const std::string& key) { return additions_.names_resource(key); }, notes);
  notes_.add(notes);
  out.entry = std::move(entry);
  return notes.empty();
}

}  // namespace sliced::policy
