#pragma once
// ASCII characters, without locale.

namespace sliced::cel {

/// False for bytes of UTF-8 beyond ASCII.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace sliced::cel
