#pragma once
// The kubelet's gRPC messages as plain values; only messages.cpp includes protobuf. Pure. Sources:
// k8s.io/kubelet/pkg/apis/pluginregistration/v1, dra/v1, dra/v1beta1, dra-health/v1alpha1.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubelet/health.h"
#include "kubelet/preparer_port.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::kubelet {

/// endpoint: absolute path of the socket of the plugin's service.
struct PluginInfo {
  std::string type, name, endpoint;
  std::vector<std::string> versions;  // the kubelet uses the first one that it supports
};
/// Encodes the answer to GetInfo.
std::string encode_plugin_info(const PluginInfo& info);

/// The kubelet's answer to the registration.
struct RegistrationStatus {
  bool is_registered = false;
  std::string error;  // unescaped text of the kubelet
  bool operator==(const RegistrationStatus&) const = default;
};
/// Errors: kInvalid.
Result<RegistrationStatus> decode_registration_status(std::string_view bytes);

constexpr size_t kClaimsMax = 512;  // per call: all claims of a pod

/// A claim of a call. error: "" if it is valid. Otherwise the text is the claim's answer and the Preparer
/// must not receive the claim, because its UID is used in file names.
struct CalledClaim {
  PrepareRequest claim;
  std::string error;
};
/// Decodes NodePrepareResources and NodeUnprepareResources. Namespace and name must have the form of
/// Kubernetes names. A UID is 1 to 128 letters, digits, '-', '_' and '.', and starts with a letter or digit.
/// A violation is in CalledClaim::error. UIDs are unique, because answers are keyed by UID: a repeated claim
/// is merged; two claims with one UID become one with an error.
/// Errors: kInvalid (not such a message, or a UID that is not UTF-8 and so cannot be a key of the answer),
/// kTooLarge. No claim of the call is processed then.
Result<std::vector<CalledClaim>> decode_claims(std::string_view bytes);

/// The versions differ in share_id, which v1beta1 lacks.
enum class DraVersion { kV1Beta1, kV1 };
/// Encodes the answers by UID, in the order of the request.
std::string encode_prepared(const std::vector<std::pair<std::string, PrepareAnswer>>& claims,
                            DraVersion version);
/// Encodes the errors by UID; "" for success.
std::string encode_unprepared(const std::vector<std::pair<std::string, std::string>>& claims);

/// now: seconds since 1970. outdated_after: when the kubelet treats the state as unknown.
std::string encode_health(const std::vector<DeviceHealth>& devices, int64_t now,
                          std::chrono::seconds outdated_after);

}  // namespace sliced::kubelet
