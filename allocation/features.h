#pragma once
// What a kube-scheduler takes into account: its feature gates as they are by default, by release.
#include <optional>
#include <string>
#include <string_view>

namespace sliced::allocation {

/// k8s.io/dynamic-resource-allocation/structured Features; what is alpha there is left out, for it is off.
struct Features {
  bool admin_access = true;
  bool prioritized_list = true;       // firstAvailable
  bool partitionable_devices = true;  // counters, perDeviceNodeSelection
  bool device_taints = true;
  bool taint_rules = true;  // DeviceTaintRules
  bool binding_conditions = true;
  bool consumable_capacity = true;  // shared devices, capacity requests
  bool fractional_range = true;
  bool operator==(const Features&) const = default;
};

/// Of "v1.36.3"; nullopt where the text is no version. Releases after the last known one count as that one.
std::optional<Features> features_of(std::string_view version);

}  // namespace sliced::allocation
