#pragma once
// Standard base64 (RFC 4648 section 4), as kubeconfigs use it.
#include <optional>
#include <string>
#include <string_view>

namespace sliced {

/// nullopt for anything else; line ends and blanks between characters are passed over, padding is required.
/// Nothing may follow the padding. Bits of the last character that make no whole byte are not looked at
/// (section 3.5 leaves it to the decoder), so that two texts may give the same bytes.
std::optional<std::string> decode_base64(std::string_view text);
/// On one line, with padding.
std::string encode_base64(std::string_view bytes);

}  // namespace sliced
