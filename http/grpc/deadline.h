#pragma once
// The header grpc-timeout (grpc/doc/PROTOCOL-HTTP2.md): "45S", "500m".
#include <optional>
#include <string_view>

#include "reactor/base/time.h"

namespace sliced::grpc {

/// Returns the timeout rounded up to milliseconds; nullopt unless it is one to eight digits and a unit of H,
/// M, S, m, u, n. Limited to 2,000,000 hours, because a number of nanoseconds cannot hold more.
std::optional<Millis> decode_timeout(std::string_view text);

}  // namespace sliced::grpc
