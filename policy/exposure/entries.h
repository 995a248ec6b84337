#pragma once
// Device entries of DeviceExposurePolicies, before their counters are known. An attribute that the API server
// would refuse is left out with a note, unless the entry requires it.
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

/// Creates the entries of one decision on demand. Entries of unchanged devices and policies come from the
/// previous decision (entry_memory.h).
class ExposedEntries {
 public:
  /// notes: attributes that are left out, with reasons. Requires: all arguments outlive this object.
  ExposedEntries(const Inputs& inputs, const SameFacts& same, Notes& notes);
  /// policy: index into PolicySet::exposures. The reference is valid as long as this object. The caller may
  /// replace its entry by the published one with counters.
  Draft& of(const hotplug::HostDevice& device, int32_t policy, const std::string& name);
  /// Returns the memory for the next decision.
  KeptEntries kept() { return std::move(kept_); }

 private:
  // The common part of a policy's entries.
  struct Persona {
    PersonaAttributes adds;
    bool is_valid = false;  // an entry with it passed the whole validation
  };
  // Returns nullptr if facts, policy or settings changed, or if creating the entry left a note.
  const KeptEntries::Kept* former(const hotplug::HostDevice& device, int32_t policy, const std::string& name);
  // Returns false if an attribute was left out.
  bool make(const hotplug::HostDevice& device, int32_t policy, const std::string& name, Draft& out);
  // By device type, on which the added attributes depend; computed on first use.
  Persona& persona_of(hotplug::DeviceType type, int32_t policy);
  // Adds notes with the name of the policy.
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
