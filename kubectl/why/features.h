#pragma once
// Features of kube-scheduler: the defaults of its feature gates, by release. Gates that an administrator has
// changed are unknown, so the result may be wrong for such a cluster.
#include <optional>
#include <string>
#include <string_view>

namespace sliced::why {

/// k8s.io/dynamic-resource-allocation/structured Features, without other alpha features, which are off. KEPs:
/// 5018 (admin access), 4816 (prioritized list), 4815 (partitionable devices), 5055 (taints and their rules),
/// 5007 (binding conditions), 5075 (consumable capacity), 5004 (extended resources by DRA).
struct Features {
  bool admin_access = true;
  bool prioritized_list = true;       // firstAvailable
  bool partitionable_devices = true;  // counters, perDeviceNodeSelection
  bool device_taints = true;
  bool taint_rules = true;  // DeviceTaintRules
  bool binding_conditions = true;
  bool consumable_capacity = true;  // shared devices, capacity requests
  bool extended_resources = true;   // of DeviceClasses
  /// An alpha gate, off by default. The API server stores groups only with the gate, so a slice with groups
  /// implies that it is on (why.cpp).
  bool compatibility_groups = false;
  bool fractional_range = false;  // 1.37 has it off together with servers of 1.36
  bool operator==(const Features&) const = default;
};

/// Returns the features of "v1.36.3", the gitVersion of /version, or "1.36+"; nullopt for an invalid text or
/// a version other than 1.x. Releases after 1.37 count as 1.37, except for fractional ranges.
/// Source: pkg/features of k8s.io/kubernetes. 1.36 enables partitionable devices, taints, binding conditions,
/// consumable capacity and extended resources, 1.37 DeviceTaintRules; the other two are on in all releases
/// with resource.k8s.io/v1. Fractional ranges require --min-compatibility-version 1.37, which is the previous
/// release by default: from 1.38 on.
std::optional<Features> features_of(std::string_view version);

}  // namespace sliced::why
