#pragma once
// The prepared claims as one file: versioned, checksummed, and valid for one boot, because drivers, IOMMU
// groups and CDI files of an earlier boot no longer exist. Pure; kubelet/preparer.h reads and writes the
// file.
#include <string>
#include <string_view>

#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Holds only the state that a restarted daemon cannot read again from the host or the API server. Attributes
/// and network data are not part of it.
struct Checkpoint {
  std::string boot_id;  // proc/sys/kernel/random/boot_id at the time of writing
  PreparedClaims claims;
  bool operator==(const Checkpoint&) const = default;
};

inline constexpr size_t kCheckpointBytesMax = size_t{32} << 20;
/// Divisor: the claims of one namespace may fill a quarter of the checkpoint. Users of a namespace write its
/// network definitions, and must not prevent claims of other namespaces from being prepared.
inline constexpr size_t kCheckpointNamespaceDivisor = 4;
inline constexpr size_t kCheckpointClaimsMax = 8'192;

/// Returns one line of JSON with a version and a checksum over the rest. Each distinct
/// PreparedDevice::network appears once. Equal claims give equal bytes.
std::string encode_checkpoint(const Checkpoint& checkpoint);
/// Errors: kInvalid if the text is truncated, edited, or of an unknown version; the message says which.
/// kTooLarge above kCheckpointBytesMax.
Result<Checkpoint> decode_checkpoint(std::string_view text);

}  // namespace sliced::kubelet
