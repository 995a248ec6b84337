#pragma once
// Shell completion, generated from the table in config/option_table.h.
#include <string>
#include <string_view>

#include "config/options.h"

namespace sliced::cli {

/// Returns the script for "bash", "zsh" or "fish", the values that config::load accepts; "" for another
/// shell.
std::string completion_script(config::Program program, std::string_view shell);

}  // namespace sliced::cli
