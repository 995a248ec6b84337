#pragma once
// The checkpoint of dra-driver-sriov, which may have pods running here when sliced takes its place. It is read
// once and never written. Pure.
#include <cstdint>
#include <string>
#include <string_view>

#include "kubelet/prepared.h"
#include "reactor/base/result.h"

namespace sliced::kubelet {

/// Holdings have neither group nor base: its devices are VFs, each exclusive. pf and identity are unknown.
/// Errors: kInvalid where it was cut short or edited, by its own checksum (kubelet's checkpointmanager: FNV-1a, 32
/// bits, of a dump of the bytes with the checksum 0).
Result<PreparedClaims> decode_peer_checkpoint(std::string_view text);

/// As checkpointmanager/checksum has it: for whoever checks that this is so.
uint32_t peer_checksum(std::string_view bytes);

}  // namespace sliced::kubelet
