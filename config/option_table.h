#pragma once
// The one table of options. The parser, the help, the manual page and the shell completion are all made of it,
// so none of them can know an option that another does not.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/command_table.h"
#include "config/option_info.h"

namespace sliced::config {

/// All of them, in order. Immutable, from any thread.
std::span<const OptionInfo> option_table();
/// nullptr where there is none. Abbreviations are none.
const OptionInfo* find_option(std::string_view name);  // by its long form without dashes
/// Whether the command knows the option; others refuse it by name.
bool takes(const CommandInfo& command, const OptionInfo& option);
/// Whether a command of the program does.
bool takes(Program program, const OptionInfo& option);
/// The commands that take the option: those of the program by their names, or, where the program has none, those of the other
/// programs as a user types them ("kubectl sliced why").
std::vector<std::string> takers(Program program, const OptionInfo& option);

}  // namespace sliced::config
