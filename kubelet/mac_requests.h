#pragma once
// MAC addresses that a pod requests: an annotation with a JSON list of {claimName, requestName, mac}, as
// KubeVirt writes it for a VM's interfaces; `macs`, a list, is for a request of several devices. Decoding is
// strict, because a pod whose entry is ignored would get another address. Pure.
#include <string>
#include <string_view>

#include "kubelet/claim.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

inline constexpr size_t kMacAnnotationBytesMax = size_t{64} << 10;
inline constexpr size_t kMacEntriesMax = 256;

/// Returns "aa:bb:cc:dd:ee:ff" for any spelling with : or -. Errors: kInvalid if the text is not the address
/// of one interface: zero, multicast, another length.
Result<std::string> decode_mac(std::string_view text);

/// Sets AllocatedDevice::mac of each device for which the pod requests an address. pod: the Pod object. whom:
/// the claim is reserved for this pod. key: the annotation's key. Entries of the pod's other claims are
/// skipped; an entry that names no claim of the pod is an error for all of its claims.
/// Errors: kConflict if another pod has the name now; kInvalid and kTooLarge with the entry, quoted.
Result<Unit> read_macs(std::string_view pod, const ReservingPod& whom, const std::string& key, Claim& claim);

}  // namespace sliced::kubelet
