#pragma once
// What is prepared, as one small file: versioned, checksummed, and of one boot, since drivers, groups and CDI files
// of before are gone. Pure; kubelet/preparer.h reads and writes it.
#include <string>
#include <string_view>

#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// What is in it is all that a daemon after a kill has to know; what can be read from the host or the API server again is
/// not (attributes, network data).
struct Checkpoint {
  std::string boot_id;  // proc/sys/kernel/random/boot_id when it was written
  PreparedClaims claims;
  bool operator==(const Checkpoint&) const = default;
};

inline constexpr size_t kCheckpointBytesMax = size_t{32} << 20;
/// Of that, what the claims of one namespace may take: its users write definitions, and are not to keep others' claims from being prepared.
inline constexpr size_t kCheckpointNamespaceBytesMax = kCheckpointBytesMax / 4;
inline constexpr size_t kCheckpointClaimsMax = 8'192;

/// One line of JSON with a version and a checksum over the rest; each distinct PreparedDevice::network is in it once; bytes for bytes the same for the same
/// claims.
std::string encode_checkpoint(const Checkpoint& checkpoint);
/// kInvalid: it was cut short, edited, or written by a version that this one does not know; the text says which.
/// kTooLarge above kCheckpointBytesMax.
Result<Checkpoint> decode_checkpoint(std::string_view text);

}  // namespace sliced::kubelet
