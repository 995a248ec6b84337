#pragma once
// Device entries as DeviceExposurePolicies offer them, before what they take of counters is known.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/exposure/attributes.h"
#include "policy/gates/gate.h"
#include "policy/inputs.h"
#include "policy/notes.h"

namespace sliced::policy {

/// Makes the entries of one decision.
class ExposedEntries {
 public:
  /// notes: what is left out, and why. Both outlive this.
  ExposedEntries(const Inputs& inputs, Notes& notes);
  /// policy: index into PolicySet::exposures.
  Draft make(const hotplug::HostDevice& device, int32_t policy, const std::string& name);

 private:
  // What the entries of a policy have in common.
  struct Persona {
    PersonaAttributes adds;
    bool is_acceptable = false;  // one with them has been checked as a whole, and nothing was wrong
  };
  Persona& persona_of(hotplug::DeviceType type, int32_t policy);
  void note_all(const ExposurePolicy& policy, const std::vector<std::string>& notes);
  const ExposurePolicy& policy_of(int32_t index) const;

  const Inputs& in_;
  Notes& notes_;
  const EntryAttributes attributes_;
  std::map<std::pair<int32_t, hotplug::DeviceType>, Persona> personas_;  // by policy and type
};

}  // namespace sliced::policy
