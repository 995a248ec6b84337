#pragma once
// The table of programs and commands. Parsers, help, manual pages and shell completions are generated from
// it. cli/commands.h, controller/commands.h and kubectl/commands.h implement the commands.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "config/options.h"

namespace sliced::config {

/// A program. Texts are literals.
struct ProgramInfo {
  Program id;
  std::string_view name;         // of the executable file; the package and the manual page have the same name
  std::string_view invocation;   // as a user types it: "kubectl sliced"
  std::string_view place;        // where it runs: "on the node"
  std::string_view man_section;  // "8"
  std::string_view summary;      // the NAME line of the manual page: no capital, no full stop
  std::string_view description;  // a paragraph of the manual page
  std::string_view exit_status;  // meaning of exit status 2 and above, as a paragraph of the manual page
};

/// The three programs, in the order of Program. Immutable, from any thread.
std::span<const ProgramInfo> program_table();
const ProgramInfo& info_of(Program program);

/// Programs, a bit each.
using ProgramSet = uint8_t;
constexpr ProgramSet bit(Program program) {
  return static_cast<ProgramSet>(1u << static_cast<unsigned>(program));
}

/// A row. Texts are literals.
struct CommandInfo {
  Command id = Command::kNone;
  std::string_view name;
  ProgramSet programs = 0;          // programs with the command
  std::string_view arguments = "";  // as in the usage line: "[DEVICE]"
  size_t arguments_min = 0, arguments_max = 0;
  std::string_view summary;                        // one line
  std::string_view description = "";               // paragraphs of the help and the manual page
  std::span<const std::string_view> choices = {};  // values of the argument, if they are fixed
};

/// All commands, in the order of the help. Immutable, from any thread.
std::span<const CommandInfo> command_table();
/// Those of one program, in the same order.
std::vector<const CommandInfo*> commands_of(Program program);
inline bool has_command(Program program, const CommandInfo& command) {
  return (command.programs & bit(program)) != 0;
}
/// Finds a command of any program by its whole name; abbreviations are not accepted. Valid during the whole
/// process.
const CommandInfo* find_command(std::string_view name);  // nullptr: there is none
const CommandInfo& info_of(Command command);             // not for Command::kNone

}  // namespace sliced::config
