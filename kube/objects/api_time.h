#pragma once
// Times of API objects: metav1.Time and metav1.MicroTime (RFC 3339).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sliced::kube {

/// Parses "2026-11-20T23:07:00Z", also with a fraction (ignored) or an offset, to seconds since 1970; nullopt
/// if invalid.
std::optional<int64_t> decode_api_time(std::string_view text);
/// Returns "2026-11-20T23:07:00Z".
std::string encode_api_time(int64_t seconds);

}  // namespace sliced::kube
