#include "policy/exposure/entries.h"

#include "policy/entry_validation.h"
#include "policy/exposure/dranet_attributes.h"

namespace sliced::policy {
namespace {

// Returns nullptr if the entries were created for other settings.
const KeptEntries* former_exposures(const Inputs& in) {
  if (in.entries == nullptr) return nullptr;
  const KeptEntries& before = in.entries->exposure;
  const bool is_current = before.driver == in.settings.exposure_driver &&
                          before.takes_lists == in.settings.list_attributes &&
                          before.lists_numa_nodes == in.settings.lists_numa_nodes &&
                          before.has_dranet == in.settings.dranet_attributes;
  return is_current ? &before : nullptr;
}

}  // namespace

ExposedEntries::ExposedEntries(const Inputs& inputs, const SameFacts& same, Notes& notes)
    : in_(inputs),
      same_(same),
      notes_(notes),
      attributes_(
          inputs.settings.exposure_driver, inputs.settings.lists_numa_nodes,
          inputs.settings.dranet_attributes ? dranet_attributes() : std::span<const AddedAttribute>()),
      before_(former_entries(former_exposures(inputs))) {
  kept_.driver = in_.settings.exposure_driver;
  kept_.takes_lists = in_.settings.list_attributes;
  kept_.lists_numa_nodes = in_.settings.lists_numa_nodes;
  kept_.has_dranet = in_.settings.dranet_attributes;
}

const ExposurePolicy& ExposedEntries::policy_of(int32_t index) const {
  return in_.policies->exposures[static_cast<size_t>(index)];
}

const KeptEntries::Kept* ExposedEntries::former(const hotplug::HostDevice& device, int32_t policy,
                                                const std::string& name) {
  const KeptEntries::Kept* kept = before_.find(name);
  if (kept == nullptr || !same_.has(device) || !kept->is_plain) return nullptr;
  const auto& was = in_.entries->policies->exposures[static_cast<size_t>(kept->policy)];
  return is_same(in_.policies->exposures[static_cast<size_t>(policy)], was) ? kept : nullptr;
}

Draft& ExposedEntries::of(const hotplug::HostDevice& device, int32_t policy, const std::string& name) {
  persona_of(device.type, policy);  // adds the notes of the persona
  const KeptEntries::Kept* before = former(device, policy, name);
  KeptEntries::Kept& kept = before == nullptr ? kept_.all.emplace_back() : kept_.all.emplace_back(*before);
  if (before == nullptr) {
    kept.name = name;
    kept.is_plain = make(device, policy, name, kept.draft);
  }
  kept.policy = policy;
  return kept.draft;
}

// Returns false if it left a note.
bool ExposedEntries::make(const hotplug::HostDevice& device, int32_t policy, const std::string& name,
                          Draft& out) {
  const ExposurePolicy& of = policy_of(policy);
  Persona& persona = persona_of(device.type, policy);
  std::vector<std::string> notes, dropped;
  kube::Device entry{.name = name};
  entry.attributes = attributes_.of(facts_of(device, *in_.inventory), persona.adds, notes);
  note_all(of, notes);
  entry.capacity = of.exposure.capacity;
  entry.allow_multiple_allocations = of.exposure.allow_multiple_allocations;
  if (!persona.is_valid || !is_trivially_valid(entry)) {
    out.refusal = drop_refused(entry, [](const std::string&) { return false; }, dropped);
    persona.is_valid = out.refusal.empty() && dropped.empty();
    notes_.add(dropped);
  }
  out.entry = std::move(entry);
  return notes.empty() && dropped.empty();
}

ExposedEntries::Persona& ExposedEntries::persona_of(hotplug::DeviceType type, int32_t policy) {
  const auto [at, fresh] = personas_.try_emplace({policy, type});
  if (fresh) {
    at->second.adds = attributes_.persona_of(policy_of(policy).exposure, type, in_.settings.list_attributes);
    note_all(policy_of(policy), at->second.adds.notes);
  }
  return at->second;
}

void ExposedEntries::note_all(const ExposurePolicy& policy, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) notes_.add("policy " + policy.id.name + ": " + note);
}

}  // namespace sliced::policy
