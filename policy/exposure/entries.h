#pragma once
// Device entries as DeviceExposurePolicies offer them, before what they take of counters is known. An attribute that
// the API server would refuse is left out with a note, where the entry can do without it.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/entry_memory.h"
#include "policy/exposure/attributes.h"
#include "policy/inputs.h"
#include "policy/notes.h"
#include "policy/same_facts.h"

namespace sliced::policy {

/// Makes the entries of one decision, each when it is asked for; those of devices and policies that are as they were
/// are taken from the decision before (entry_memory.h).
class ExposedEntries {
 public:
  /// notes: what is left out, and why. All outlive this.
  ExposedEntries(const Inputs& inputs, const SameFacts& same, Notes& notes);
  /// policy: index into PolicySet::exposures. Valid as long as this; what is published in its place, with its
  /// counters, may be put there.
  Draft& of(const hotplug::HostDevice& device, int32_t policy, const std::string& name);
  /// What the next decision need not make again.
  KeptEntries kept() { return std::move(kept_); }

 private:
  // What the entries of a policy have in common.
  struct Persona {
    PersonaAttributes adds;
    bool is_valid = false;  // one with them has been checked as a whole, and nothing was wrong
  };
  // nullptr where facts, policy or settings have changed, or making it left something to say.
  const KeptEntries::Kept* former(const hotplug::HostDevice& device, int32_t policy, const std::string& name);
  // False when something was left out.
  bool make(const hotplug::HostDevice& device, int32_t policy, const std::string& name, Draft& out);
  // By type of device, since what a policy adds depends on it; made when it is first asked for.
  Persona& persona_of(hotplug::DeviceType type, int32_t policy);
  // Each with the policy's name in front.
  void note_all(const ExposurePolicy& policy, const std::vector<std::string>& notes);
  const ExposurePolicy& policy_of(int32_t index) const;

  const Inputs& in_;
  const SameFacts& same_;
  Notes& notes_;
  const EntryAttributes attributes_;
  std::map<std::pair<int32_t, hotplug::DeviceType>, Persona> personas_;  // by policy and type
  FormerEntries before_;
  KeptEntries kept_;
};

}  // namespace sliced::policy
