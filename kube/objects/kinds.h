#pragma once
// The kinds that the daemon reads and writes: group, version, plural, kind, and whether they are namespaced.
// The same as in RBAC (config/deploy/rbac.yaml).
#include "kube/objects/cluster.h"
#include "kube/objects/json.h"

namespace sliced::kube {

/// Read only: the node's own object, metadata only.
inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kPods{"", "v1", "pods", "Pod", true};
inline const Resource kResourceSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false};
inline const Resource kResourceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};
inline const Resource kResourceClaimTemplates{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                              "ResourceClaimTemplate", true};
inline const Resource kDeviceClasses{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false};
/// From 1.37 on; before behind a gate that is off.
inline const Resource kDeviceTaintRules{"resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule",
                                        false};
/// Kinds of dra-driver-sriov's API.
inline const Resource kSriovResourcePolicies{"sriovnetwork.k8snetworkplumbingwg.io", "v1alpha1",
                                             "sriovresourcepolicies", "SriovResourcePolicy", true};
inline const Resource kDeviceAttributes{"sriovnetwork.k8snetworkplumbingwg.io", "v1alpha1",
                                        "deviceattributes", "DeviceAttributes", true};
inline const Resource kDeviceExposurePolicies{"networking.dra.io", "v1alpha1", "deviceexposurepolicies",
                                              "DeviceExposurePolicy", false};

/// Report of a node; each daemon writes its own.
inline const Resource kNodeDeviceReports{"networking.dra.io", "v1alpha1", "nodedevicereports",
                                         "NodeDeviceReport", false};

/// Written only.
inline const Resource kEvents{"events.k8s.io", "v1", "events", "Event", true};

/// For leader election.
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

/// Custom resource of Multus.
inline const Resource kNetworkAttachmentDefinitions{"k8s.cni.cncf.io", "v1", "network-attachment-definitions",
                                                    "NetworkAttachmentDefinition", true};

/// Of the SR-IOV network operator: required settings of a node's PFs, named after the node. Read only.
inline const Resource kSriovNetworkNodeStates{"sriovnetwork.openshift.io", "v1", "sriovnetworknodestates",
                                              "SriovNetworkNodeState", true};

/// Limits of a ResourceSlice's text: twice the values of any valid one.
inline constexpr JsonLimits kSliceLimits{.nodes_max = 150'000};

/// Built-in kinds, which every supported API server serves: a 404 never means "not installed".
inline bool is_built_in(const Resource& kind) {
  return kind.group.empty() || kind.group == kResourceSlices.group;
}

}  // namespace sliced::kube
