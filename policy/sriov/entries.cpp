#include "policy/sriov/entries.h"

#include <algorithm>
#include <vector>

#include "policy/entry_validation.h"
#include "policy/sriov/selection.h"

namespace sliced::policy {

using hotplug::HostDevice;

namespace {

// DeviceAttributes are joined by what they are all together.
bool are_same(const PolicySet& a, const PolicySet& b) {
  return &a == &b ||
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [](const auto& x, const auto& y) { return is_same(x, y); });
}

// nullptr: nothing of it stands.
const KeptEntries* former_sriov(const Inputs& in) {
  if (in.entries == nullptr) return nullptr;
  const KeptEntries& before = in.entries->sriov;
  const bool stands = before.driver == in.settings.sriov_driver &&
                      before.takes_lists == in.settings.list_attributes &&
                      are_same(*in.entries->policies, *in.policies);
  return stands ? &before : nullptr;
}

}  // namespace

SriovEntries::SriovEntries(const Inputs& inputs, const SameFacts& same, Notes& notes)
    : in_(inputs),
      same_(same),
      notes_(notes),
      own_(inputs.settings.sriov_driver),
      resource_name_key_(inputs.settings.sriov_driver + "/" + std::string(kResourceNameId)),
      before_(former_entries(former_sriov(inputs))) {
  kept_.driver = in_.settings.sriov_driver;
  kept_.takes_lists = in_.settings.list_attributes;
}

bool SriovEntries::names_resource(const std::string& key) const {
  return key == kMultusResourceName || key == resource_name_key_;
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
  additions_of(verdict);  // says what it leaves out
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

// False when there was something to say.
bool SriovEntries::make(const HostDevice& vf, const std::string& name, const Verdict& verdict, Draft& out) {
  const Additions& additions = additions_of(verdict);
  kube::Device entry{.name = name, .attributes = own_.of(vf, pf_of(vf))};
  entry.attributes.insert(additions.attributes.begin(), additions.attributes.end());
  out.refusal = additions.refusal;
  std::vector<std::string> notes;
  if (out.refusal.empty() && !(additions.is_valid && is_trivially_valid(entry)))
    out.refusal = drop_refused(entry, [this](const std::string& key) { return names_resource(key); }, notes);
  notes_.add(notes);
  out.entry = std::move(entry);
  return notes.empty();
}

const SriovEntries::Additions& SriovEntries::additions_of(const Verdict& verdict) {
  const auto [at, fresh] = additions_.try_emplace({verdict.policy, verdict.config});
  if (fresh) {
    const SriovPolicy& policy = in_.policies->sriov[static_cast<size_t>(verdict.policy)];
    at->second = join(policy, policy.configs[static_cast<size_t>(verdict.config)]);
  }
  return at->second;
}

SriovEntries::Additions SriovEntries::join(const SriovPolicy& policy, const ResourceConfig& config) {
  Additions out;
  join_objects(policy, config, out);
  if (!config.resource_name.empty()) out.attributes[resource_name_key_] = config.resource_name;
  make_room(policy, out);
  out.is_valid = kube::validate_device({.name = "x", .attributes = out.attributes}).empty();
  return out;
}

void SriovEntries::join_objects(const SriovPolicy& policy, const ResourceConfig& config, Additions& out) {
  for (const DeviceAttributes* one : attributes_for(*in_.policies, policy, config)) {
    const DeviceAttributes& object = *one;
    for (const auto& [key, why] : object.refused)
      if (names_resource(key)) out.refusal = "DeviceAttributes " + object.id.name + ": " + key + " " + why;
    for (const auto& [key, value] : object.attributes) {
      if (!kube::is_list(value) || in_.settings.list_attributes)
        out.attributes[key] = value;
      else
        notes_.add(
            "policy " + text_of(policy.id) + ": attribute " + key.str() + " of DeviceAttributes " +
            object.id.name +
            " left out: the API server does not take list attributes, or has not said yet that it does");
    }
  }
}

// The entry's own attributes come first; what no longer fits is dropped from the end of the alphabet.
void SriovEntries::make_room(const SriovPolicy& policy, Additions& out) {
  const size_t room = kube::kAttributesAndCapacitiesMax - own_.keys().size();
  std::vector<std::string> droppable;
  for (const auto& [key, value] : out.attributes)
    if (!names_resource(key)) droppable.push_back(key);
  for (; out.attributes.size() > room && !droppable.empty(); droppable.pop_back()) {
    out.attributes.erase(droppable.back());
    notes_.add("policy " + text_of(policy.id) + ": attribute " + droppable.back() +
               " left out: a device entry holds at most " +
               std::to_string(kube::kAttributesAndCapacitiesMax) + " attributes, " + std::to_string(room) +
               " of them from DeviceAttributes");
  }
}

}  // namespace sliced::policy
