#pragma once
// The table of options. Parser, help, manual page and shell completion are generated from it, so all of them
// have the same options.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/command_table.h"
#include "config/option_info.h"

namespace sliced::config {

/// All options, in order. Immutable, from any thread.
std::span<const OptionInfo> option_table();
/// Returns nullptr if there is no such option. Abbreviations are not accepted.
const OptionInfo* find_option(std::string_view name);  // by its long form without dashes
/// Returns whether the command accepts the option.
bool takes(const CommandInfo& command, const OptionInfo& option);
/// Returns whether a command of the program accepts it.
bool takes(Program program, const OptionInfo& option);
/// Returns the commands that accept the option: those of the program by their names or, if there are none,
/// those of the other programs as a user types them ("kubectl sliced why").
std::vector<std::string> takers(Program program, const OptionInfo& option);

}  // namespace sliced::config
