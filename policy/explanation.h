#pragma once
// What is decided of one host device, as text for people: what `explain` prints, as text and as JSON.
// Made on demand by explain.h; a decision itself keeps indices only.
#include <cstddef>
#include <string>
#include <vector>

namespace sliced::policy {

/// One rule that spoke about a device, as text. Foreign bytes in it (names of interfaces, values of policies) are
/// escaped by whoever prints it.
/// Of one that was not reached there is none.
struct Rule {
  std::string policy;  // "namespace/name"; "" for rules that are not a policy's
  std::string place;   // "spec.configs[0].resourceFilters[1]"
  std::string said;    // "match", "no"
  std::string field;   // "vendors"
  std::string found;   // "8086"
  std::string wanted;  // "one of 15b3"
  bool operator==(const Rule&) const = default;
};
/// Rule::wanted of a policy, or of a config of one, that is not used because of a mistake in it. Its rules are the same for every device.
inline constexpr const char* kUnderstoodPolicy = "a policy that can be understood";
inline constexpr const char* kUnderstoodConfig = "a config that can be understood";
/// One way in which a DeviceExposurePolicy offers a device, or would.
/// outcome: name_of(Outcome). entry "" where the policy's own name leaves none.
struct PersonaExplanation {
  std::string policy, entry, outcome;
  std::string summary;  // one sentence
  bool operator==(const PersonaExplanation&) const = default;
};
/// All that is known of why a device is offered, or is not.
/// A copy, which outlives decision and inventory. In bounds: how many rules are shown is explain.h's to say,
/// the rest is counted.
struct Explanation {
  std::string device;                        // host device id
  std::string outcome;                       // name_of(Outcome); of several personas the best
  std::string entry;                         // device entry name when offered; of several the first
  std::vector<PersonaExplanation> personas;  // of DeviceExposurePolicies, in order of suffix
  std::string summary;                       // one sentence
  std::string settings_problem;  // its settings of before a pod are unknown, with the remedy; "" none
  std::string mac_problem;       // its MAC address of before a pod's is unknown, with the remedy; "" none
  std::string
      iommu_problem;  // why a claim with VfConfig driver vfio-pci is refused for the device; "" it is not
  std::vector<std::string> unreadable;  // facts of the device that could not be read, "settings: EMSGSIZE"
  std::vector<Rule> rules;              // in the order of evaluation, up to the one that decided
  size_t rules_left_out = 0;            // how many there are at least beyond those that are shown
  bool operator==(const Explanation&) const = default;
};

}  // namespace sliced::policy
