#pragma once
// Standard base64 (RFC 4648 section 4), as kubeconfigs use it.
#include <optional>
#include <string>
#include <string_view>

namespace sliced {

/// Decodes the text; nullopt if invalid. Line ends and blanks are ignored, padding is required, and nothing
/// may follow it. Unused bits of the last character are ignored (section 3.5), so that two texts may decode
/// to the same bytes.
std::optional<std::string> decode_base64(std::string_view text);
/// Encodes on one line, with padding.
std::string encode_base64(std::string_view bytes);

}  // namespace sliced
