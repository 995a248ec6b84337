#pragma once
// The checkpoint of dra-driver-sriov, whose pods may run here when sliced replaces it. It is read once and
// never written. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Returns its claims. Holdings have neither group nor base, because its devices are exclusive VFs. pf and
/// identity are unknown. Errors: kInvalid if it was truncated or edited, by its own checksum (kubelet's
/// checkpointmanager: FNV-1a, 32 bits, of a dump of the bytes with the checksum 0).
Result<PreparedClaims> decode_peer_checkpoint(std::string_view text);

/// Computes checkpointmanager/checksum; for tests of the format.
uint32_t peer_checksum(std::string_view bytes);

}  // namespace sliced::kubelet
