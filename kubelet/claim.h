#pragma once
// The fields of ResourceClaim (resource.k8s.io/v1) that preparing requires. The claim's author controls most
// of them, so each is bounded. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubelet/preparer_port.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// DeviceRequestAllocationResult. The API server has validated the names. The plan checks whether the device
/// is on this node.
struct AllocatedDevice {
  std::string request;  // "name", or "name/subrequest" of firstAvailable
  std::string driver, pool, device;
  std::string share_id;   // "" if allocated exclusively
  bool is_admin = false;  // admin access: observes the device and reserves nothing
  std::string mac;  // MAC address that the pod requests, "aa:bb:.."; "" if none. Not part of the object:
                    // kubelet/mac_requests.h
  bool operator==(const AllocatedDevice&) const = default;
};

/// DeviceAllocationConfiguration, in the order of the object, in which later ones override earlier ones
/// (kubelet/vf_config.h). has_opaque: the config is opaque, the only form that the API defines.
/// decode_claim() does not check `parameters`.
struct AllocatedConfig {
  bool is_claims = false;             // from the claim; otherwise from its DeviceClass
  std::vector<std::string> requests;  // empty: all requests
  bool has_opaque = false;
  std::string driver;
  kube::Json parameters;
  std::string path;  // "status.allocation.devices.config[2]"
  bool operator==(const AllocatedConfig&) const = default;
};

/// ResourceClaimConsumerReference of a Pod, or of a PodGroup of scheduling.k8s.io. Other consumers are
/// ignored.
struct ReservingPod {
  std::string name, uid;
  bool operator==(const ReservingPod&) const = default;
};

/// Set by the controller that creates a claim from a template. Any user who may edit the claim can set it
/// too.
inline constexpr std::string_view kPodClaimName = "resource.kubernetes.io/pod-claim-name";

/// The members have the names of the API fields. A field that the object omits is empty or false.
struct Claim {
  std::string namespace_, name, uid;
  std::string pod_claim_name;  // annotation kPodClaimName, unvalidated; "" if none
  bool is_allocated = false;
  kube::NodeSelector nodes;  // status.allocation.nodeSelector
  std::vector<AllocatedDevice> devices;
  std::vector<AllocatedConfig> configs;
  std::vector<ReservingPod> pods;
  /// PodGroups (DRAWorkloadResourceClaims, alpha in 1.36). The pods that use such a claim are only known from
  /// their CDI devices.
  std::vector<ReservingPod> pod_groups = {};
  bool operator==(const Claim&) const = default;
};

// Above the limits of the API (resource/v1).
inline constexpr size_t kClaimDevicesMax = 64, kClaimConfigsMax = 128, kClaimPodsMax = 1'024;

/// Fields that preparing does not require are ignored, because a newer server may send them.
/// Errors: kInvalid with the field and its value; kTooLarge beyond the bounds above or those of
/// kube/objects/json.h.
Result<Claim> decode_claim(std::string_view object);

/// Namespace and name of a claim whose record was restored from its CDI spec, which contains neither
/// (kubelet/recall.h). No object can have this name.
inline constexpr std::string_view kUnknownClaimName = "?";
/// Returns "ResourceClaim namespace/name", or "a ResourceClaim (uid x)" if the name is unknown. For logs and
/// errors.
std::string describe(const PrepareRequest& claim);

/// Checks that the object is the requested claim, is allocated devices of this node, and is reserved for a
/// pod. A claim that is reserved for no pod is not prepared.
/// Errors: kConflict if another claim has the name now; otherwise kInvalid.
Result<Unit> check_claim(const Claim& claim, const PrepareRequest& request, const kube::NodeView& node);

/// Returns the part of "name/subrequest" before the slash, which the kubelet expects.
std::string main_request(const std::string& request);

}  // namespace sliced::kubelet
