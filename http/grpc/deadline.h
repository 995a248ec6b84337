#pragma once
// The header grpc-timeout (grpc/doc/PROTOCOL-HTTP2.md): "45S", "500m".
#include <optional>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced::grpc {

/// Rounded up to milliseconds, so that nobody's time is over early. nullopt: not one to eight digits and a unit
/// of H, M, S, m, u, n.
/// More than 2,000,000 hours are that many, since what is longer does not fit into a number of nanoseconds.
std::optional<Millis> decode_timeout(std::string_view text);

}  // namespace sliced::grpc
