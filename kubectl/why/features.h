#pragma once
// What a kube-scheduler takes into account: its feature gates as they are by default, by release.
// Gates that somebody has turned on or off are not seen: what is said of such a cluster may be wrong.
#include <optional>
#include <string>
#include <string_view>

namespace sliced::allocation {

/// k8s.io/dynamic-resource-allocation/structured Features; other alpha features are left out, for they are off.
/// KEPs: 5018 (admin access), 4816 (prioritized list), 4815 (partitionable devices), 5055 (taints and their
///       rules), 5007 (binding conditions), 5075 (consumable capacity), 5004 (extended resources by DRA).
struct Features {
  bool admin_access = true;
  bool prioritized_list = true;       // firstAvailable
  bool partitionable_devices = true;  // counters, perDeviceNodeSelection
  bool device_taints = true;
  bool taint_rules = true;  // DeviceTaintRules
  bool binding_conditions = true;
  bool consumable_capacity = true;  // shared devices, capacity requests
  bool extended_resources = true;   // that DeviceClasses provide
  /// An alpha gate, off by default. The API server stores groups only with the gate, so a slice that has them turns it on (why.cpp).
  bool compatibility_groups = false;
  bool fractional_range = false;  // beside servers of 1.36 the one of 1.37 has it off
  bool operator==(const Features&) const = default;
};

/// Of "v1.36.3", as /version has it in gitVersion, or "1.36+"; nullopt where the text is no version, or is
/// not of 1.x. Releases after 1.37 count as that one, but for fractional ranges, of which it is known when they come.
/// Source: pkg/features of k8s.io/kubernetes. 1.36 has turned partitionable devices, taints, binding
///         conditions, consumable capacity and extended resources on, 1.37 DeviceTaintRules; the other two are on in all of
///         resource.k8s.io/v1. Fractional ranges are on where --min-compatibility-version is 1.37 at least,
///         and by default that is the release before: from 1.38 on.
std::optional<Features> features_of(std::string_view version);

}  // namespace sliced::allocation
