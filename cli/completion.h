#pragma once
// Shell completion, made of the table in config/option_table.h.
#include <string>
#include <string_view>

namespace sliced::cli {

/// The script for "bash", "zsh" or "fish" (config::load lets nothing else through); "" for another shell.
std::string completion_script(std::string_view shell);

}  // namespace sliced::cli
