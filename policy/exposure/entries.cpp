#include "policy/exposure/entries.h"

#include "policy/acceptable.h"

namespace sliced::policy {

ExposedEntries::ExposedEntries(const Inputs& inputs, Notes& notes)
    : in_(inputs), notes_(notes), attributes_(inputs.settings.exposure_driver) {}

const ExposurePolicy& ExposedEntries::policy_of(int32_t index) const {
  return in_.policies->exposures[static_cast<size_t>(index)];
}

Draft ExposedEntries::make(const hotplug::HostDevice& device, int32_t policy, const std::string& name) {
  const ExposurePolicy& of = policy_of(policy);
  Persona& persona = persona_of(device.type, policy);
  std::vector<std::string> notes;
  Draft out;
  out.entry.name = name;
  out.entry.attributes = attributes_.of(facts_of(device, *in_.inventory), persona.adds, notes);
  note_all(of, notes);
  out.entry.capacity = of.exposure.capacity;
  out.entry.allow_multiple_allocations = of.exposure.allow_multiple_allocations;
  if (persona.is_acceptable && is_plainly_good(out.entry)) return out;
  notes.clear();
  out.refusal = drop_refused(out.entry, [](const std::string&) { return false; }, notes);
  persona.is_acceptable = out.refusal.empty() && notes.empty();
  notes_.add(notes);
  return out;
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
