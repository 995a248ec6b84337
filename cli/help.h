#pragma once
// Help texts, generated from the table in config/option_table.h.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Returns the help of a command of the program, or of the program for Command::kNone. Lines of at most 100
/// characters; ends with a newline.
std::string help_text(config::Program program, config::Command command, std::string_view version);

/// Returns the text of a paragraph wrapped into lines of at most 100 characters, each with `before` as its
/// prefix.
std::string wrapped(std::string_view text, const std::string& before);

}  // namespace sliced::cli
