#pragma once
// Marks a position in a text of the command line. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace sliced::cli {

/// Returns the line that contains the byte at offset, shortened to about a terminal's width, and below it a
/// line with a caret under that byte's character. Both are indented by two, without a final newline. An
/// offset beyond the text marks its end. Control and invalid bytes are escaped, and the caret is below the
/// escape.
std::string pointed_at(std::string_view text, int32_t offset);

}  // namespace sliced::cli
