#pragma once
// A place in a text of the command line, shown below it. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace sliced::cli {

/// The line of the text that holds the byte at offset, cut to about what a terminal shows, and below it a
/// line with a caret under that byte's character, each indented by two; no final newline. An offset beyond
/// the text points behind its end. Foreign bytes are escaped, and the caret stands below the escape.
std::string pointed_at(std::string_view text, int32_t offset);

}  // namespace sliced::cli
