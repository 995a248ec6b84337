#pragma once
// The kubelet's messages as plain values; protobuf stays inside messages.cpp. Pure.
// Sources: k8s.io/kubelet/pkg/apis/pluginregistration/v1, dra/v1, dra/v1beta1, dra-health/v1alpha1.
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

/// Who a plugin is. endpoint: absolute path of the socket of its service.
struct PluginInfo {
  std::string type, name, endpoint;
  std::vector<std::string> versions;  // the kubelet takes the first that it knows
};
/// The answer to GetInfo.
std::string encode_plugin_info(const PluginInfo& info);

/// What the kubelet made of it.
struct RegistrationStatus {
  bool is_registered = false;
  std::string error;  // foreign text
  bool operator==(const RegistrationStatus&) const = default;
};
/// Errors: kInvalid.
Result<RegistrationStatus> decode_registration_status(std::string_view bytes);

constexpr size_t kClaimsMax = 512;  // of one call: all claims of a pod

/// A claim of a call, with what is wrong with it: "" nothing, else the Preparer must not hear of it (its UID
/// stands in file names), and the text is its answer.
struct CalledClaim {
  PrepareRequest claim;
  std::string error;
};
/// Of NodePrepareResources and NodeUnprepareResources. Namespace and name have the form that Kubernetes gives
/// them, a UID is 1 to 128 letters, digits, '-', '_' and '.', the first a letter or digit; error says otherwise.
/// No UID is there twice: answers are told apart by it, so one claim named twice is one, and two claims of one
/// UID are one that is wrong.
/// Errors: kInvalid (no such message; a UID that is no UTF-8, which no answer could name), kTooLarge; no claim of the call goes on.
Result<std::vector<CalledClaim>> decode_claims(std::string_view bytes);

/// The same of both versions, but that the older one knows no share_id.
enum class DraVersion { kV1Beta1, kV1 };
/// By UID, in the order of the request.
std::string encode_prepared(const std::vector<std::pair<std::string, PrepareAnswer>>& claims,
                            DraVersion version);
/// By UID: why not, "" done.
std::string encode_unprepared(const std::vector<std::pair<std::string, std::string>>& claims);

/// now: seconds since 1970. outdated_after: when the kubelet no longer believes it.
std::string encode_health(const std::vector<DeviceHealth>& devices, int64_t now,
                          std::chrono::seconds outdated_after);

}  // namespace sliced::kubelet
