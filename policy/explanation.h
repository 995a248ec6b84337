#pragma once
// The decision about one host device as text for people: the output of `explain`, as text and as JSON.
// explain.h creates it on demand; a decision stores indices only.
#include <cstddef>
#include <string>
#include <vector>

namespace sliced::policy {

/// One evaluated rule, as text. The printer escapes foreign bytes in it (interface names, values of
/// policies). Rules after the deciding one are not evaluated and have no Rule.
struct Rule {
  std::string policy;  // "namespace/name"; "" for a rule that belongs to no policy
  std::string place;   // "spec.configs[0].resourceFilters[1]"
  std::string result;  // "match", "no"
  std::string field;   // "vendors"
  std::string found;   // "8086"
  std::string wanted;  // "one of 15b3"
  bool operator==(const Rule&) const = default;
};
/// Rule::wanted of an invalid policy, or of an invalid config. Its rules are the same for every device.
inline constexpr const char* kUnderstoodPolicy = "a policy that can be understood";
inline constexpr const char* kUnderstoodConfig = "a config that can be understood";
/// One way in which a DeviceExposurePolicy offers a device, or would offer it. outcome: name_of(Outcome).
/// entry: "" if the policy has no free name for it.
struct PersonaExplanation {
  std::string policy, entry, outcome;
  std::string summary;  // one sentence
  bool operator==(const PersonaExplanation&) const = default;
};
/// The complete explanation of a device. A copy, which outlives decision and inventory. Bounded: explain()
/// limits the rules and counts the others.
struct Explanation {
  std::string device;                        // host device id
  std::string outcome;                       // name_of(Outcome); with several personas the best one
  std::string entry;                         // name of the device entry if offered; with several the first
  std::vector<PersonaExplanation> personas;  // of DeviceExposurePolicies, in order of suffix
  std::string summary;                       // one sentence
  std::string settings_problem;  // its settings from before a pod are unknown, with the remedy; "" if known
  std::string mac_problem;       // its MAC address from before a pod is unknown, with the remedy; "" if known
  std::string
      iommu_problem;  // why a claim with VfConfig driver vfio-pci is refused for the device; "" if accepted
  std::vector<std::string> unreadable;  // facts that could not be read, "settings: EMSGSIZE"
  std::vector<Rule> rules;              // in order of evaluation, up to the deciding one
  size_t rules_left_out = 0;            // minimum number of rules that are not shown
  bool operator==(const Explanation&) const = default;
};

}  // namespace sliced::policy
