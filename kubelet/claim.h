#pragma once
// ResourceClaim, resource.k8s.io/v1, as far as preparing it takes. Who made the claim chose most of it: only
// these fields are looked at, each bounded. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects/json.h"
#include "kube/objects/selector.h"
#include "kubelet/preparer_port.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// DeviceRequestAllocationResult.
/// Names are as the server has checked them; whether the device is of this node is the plan's to find out.
struct AllocatedDevice {
  std::string request;  // "name", or "name/subrequest" of firstAvailable
  std::string driver, pool, device;
  std::string share_id;   // "" exclusive
  bool is_admin = false;  // looks on, and holds nothing
  std::string mac;  // its pod asks for, "aa:bb:.."; "" none. No part of the object: kubelet/mac_requests.h
  bool operator==(const AllocatedDevice&) const = default;
};

/// DeviceAllocationConfiguration. has_opaque: the one form that there is; others have no driver either.
/// In the order of the object, in which later ones win (kubelet/vf_config.h). parameters are not looked at
/// here.
struct AllocatedConfig {
  bool is_claims = false;             // the claim's own; else its class's
  std::vector<std::string> requests;  // empty: all
  bool has_opaque = false;
  std::string driver;
  kube::Json parameters;
  std::string path;  // "status.allocation.devices.config[2]"
  bool operator==(const AllocatedConfig&) const = default;
};

/// ResourceClaimConsumerReference that names a Pod, or a PodGroup of scheduling.k8s.io. Other consumers are passed over.
struct ReservingPod {
  std::string name, uid;
  bool operator==(const ReservingPod&) const = default;
};

/// Written by the controller that makes a claim from a template, and by anyone who may edit the claim.
inline constexpr std::string_view kPodClaimName = "resource.kubernetes.io/pod-claim-name";

/// The members have the names of the API's fields in our spelling; what the object leaves out is empty, or false.
struct Claim {
  std::string namespace_, name, uid;
  std::string pod_claim_name;  // annotation kPodClaimName, as its author wrote it; "" none
  bool is_allocated = false;
  kube::NodeSelector nodes;  // where its devices can be reached from
  std::vector<AllocatedDevice> devices;
  std::vector<AllocatedConfig> configs;
  std::vector<ReservingPod> pods;
  /// PodGroups (DRAWorkloadResourceClaims, alpha in 1.36). Which pods use the claim is known from their CDI devices alone.
  std::vector<ReservingPod> pod_groups = {};
  bool operator==(const Claim&) const = default;
};

// What the API allows (resource/v1), and some.
inline constexpr size_t kClaimDevicesMax = 64, kClaimConfigsMax = 128, kClaimPodsMax = 1'024;

/// Fields that preparing does not need are not looked at, whatever they hold: a server newer than this one may send them.
/// Errors: kInvalid with the field and its value, kTooLarge beyond the bounds above or those of kube/objects/json.h.
Result<Claim> decode_claim(std::string_view object);

/// Namespace and name of a claim whose record was restored from its CDI spec, which has neither (kubelet/recall.h). No object has this name.
inline constexpr std::string_view kUnknownClaimName = "?";
/// "ResourceClaim namespace/name", or "a ResourceClaim (uid x)" where its name is unknown; for logs and errors.
std::string describe(const PrepareRequest& claim);

/// Whether the object is the claim that is meant, has devices for this node, and a pod that it is reserved for.
/// kConflict: another claim has the name now. kInvalid: the rest.
/// Reserved for no pod is kInvalid too: a claim that nobody waits for is not prepared.
Result<Unit> check_claim(const Claim& claim, const PrepareRequest& request, const kube::NodeView& node);

/// Of "name/subrequest" the name, as the kubelet wants it.
std::string main_request(const std::string& request);

}  // namespace sliced::kubelet
