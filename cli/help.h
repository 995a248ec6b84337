#pragma once
// Help for people, generated from the table in config/option_table.h.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Help about a command of the program, or about all of it for Command::kNone. Lines of at most 100 characters; ends
/// in a newline.
std::string help_text(config::Program program, config::Command command, std::string_view version);

/// Paragraph text broken at spaces into lines of at most 100 characters, every one with that before it.
std::string wrapped(std::string_view text, const std::string& before);

}  // namespace sliced::cli
