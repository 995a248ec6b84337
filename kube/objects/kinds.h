#pragma once
// The kinds that the daemon reads and writes, as discovery names them: group, version, plural, kind, and whether
// objects have a namespace. One place: RBAC (config/deploy/rbac.yaml) names the same.
#include "kube/objects/cluster.h"
#include "kube/objects/json.h"

namespace sliced::kube {

/// Read alone: the node's own object, by its name, metadata only.
inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kPods{"", "v1", "pods", "Pod", true};
inline const Resource kResourceSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false};
inline const Resource kResourceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true};
inline const Resource kResourceClaimTemplates{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                              "ResourceClaimTemplate", true};
inline const Resource kDeviceClasses{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false};
/// From 1.37 on in this version; before, of a gate that is off.
inline const Resource kDeviceTaintRules{"resource.k8s.io", "v1", "devicetaintrules", "DeviceTaintRule",
                                        false};
/// The two kinds of dra-driver-sriov's API, so that its policies mean the same here.
inline const Resource kSriovResourcePolicies{"sriovnetwork.k8snetworkplumbingwg.io", "v1alpha1",
                                             "sriovresourcepolicies", "SriovResourcePolicy", true};
inline const Resource kDeviceAttributes{"sriovnetwork.k8snetworkplumbingwg.io", "v1alpha1",
                                        "deviceattributes", "DeviceAttributes", true};
inline const Resource kDeviceExposurePolicies{"networking.dra.io", "v1alpha1", "deviceexposurepolicies",
                                              "DeviceExposurePolicy", false};

/// What each node's daemon says of itself; each writes its own alone.
inline const Resource kNodeDeviceReports{"networking.dra.io", "v1alpha1", "nodedevicereports",
                                         "NodeDeviceReport", false};

/// What people are told of an object; written alone.
inline const Resource kEvents{"events.k8s.io", "v1", "events", "Event", true};

/// By which one of several processes is elected.
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};

/// Of Multus' custom resource; its group is no one's of Kubernetes.
inline const Resource kNetworkAttachmentDefinitions{"k8s.cni.cncf.io", "v1", "network-attachment-definitions",
                                                    "NetworkAttachmentDefinition", true};

/// Of the SR-IOV network operator: how it wants the PFs of each node, in an object of the node's name. Read alone.
inline const Resource kSriovNetworkNodeStates{"sriovnetwork.openshift.io", "v1", "sriovnetworknodestates",
                                              "SriovNetworkNodeState", true};

/// Of a ResourceSlice as text. No valid one has half as many values.
inline constexpr JsonLimits kSliceLimits{.nodes_max = 150'000};

/// Every API server that this daemon can work with serves it. A 404 for such a kind is never "not installed".
inline bool is_built_in(const Resource& kind) {
  return kind.group.empty() || kind.group == kResourceSlices.group;
}

}  // namespace sliced::kube
