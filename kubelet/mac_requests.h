#pragma once
// Which MAC addresses a pod asks for: an annotation with a JSON list of {claimName, requestName, mac}, as KubeVirt
// writes it for a VM's interfaces; `macs`, a list, is for a request of several devices. Strict: who asks for an
// address that is not understood would get another one. Pure.
#include <string>
#include <string_view>

#include "kubelet/claim.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr size_t kMacAnnotationBytesMax = size_t{64} << 10;
inline constexpr size_t kMacEntriesMax = 256;

/// "aa:bb:cc:dd:ee:ff" of any spelling with : or -. Errors: kInvalid for what is no address of one interface:
/// zero, multicast, another length.
Result<std::string> decode_mac(std::string_view text);

/// Sets AllocatedDevice::mac of each device that the pod asks one for.
/// pod: the object; whom: the claim is reserved for it; key: the annotation's.
/// Errors: kConflict, another pod has the name now; kInvalid, kTooLarge with the entry that is wrong, quoted. An
/// entry of another claim of the pod is that claim's, but one that is no claim's is everyone's.
Result<Unit> read_macs(std::string_view pod, const ReservingPod& whom, const std::string& key, Claim& claim);

}  // namespace sliced::kubelet
