#pragma once
// The one table of commands: the parser, the help, the manual page and the shell completion are made of it, and
// cli/commands.h says what each does.
#include <span>
#include <string_view>

#include "config/options.h"

namespace sliced::config {

/// A row. Texts are literals.
struct CommandInfo {
  Command id = Command::kNone;
  std::string_view name;
  std::string_view arguments = "";  // as in the usage line: "[DEVICE]"
  size_t arguments_min = 0, arguments_max = 0;
  std::string_view summary;                        // one line
  std::string_view description = "";               // paragraphs of the help and the manual page
  std::span<const std::string_view> choices = {};  // words for the argument, where they are known beforehand
};

/// All of them, in the order of the help. Immutable, from any thread.
std::span<const CommandInfo> command_table();
/// By its whole name: no abbreviation is taken. Lasts as long as the process, as all that is found here.
const CommandInfo* find_command(std::string_view name);  // nullptr: there is none
const CommandInfo& info_of(Command command);             // not for Command::kNone

}  // namespace sliced::config
