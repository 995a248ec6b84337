#pragma once
// Standard base64 (RFC 4648 section 4), as kubeconfigs use it.
#include <optional>
#include <string>
#include <string_view>

namespace sliced {

/// nullopt for anything else; line ends and blanks between characters are passed over, padding is required.
std::optional<std::string> decode_base64(std::string_view text);
/// On one line, with padding.
std::string encode_base64(std::string_view bytes);

}  // namespace sliced
