#pragma once
// The one table of programs and commands: the parsers, the help, the manual pages and the shell completions are generated
// from it. cli/commands.h, controller/commands.h and kubectl/commands.h say what each command does.
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
  std::string_view exit_status;  // what exit status 2 and above mean, as a paragraph of the manual page
};

/// The three of them, in the order of Program. Immutable, from any thread.
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
  ProgramSet programs = 0;          // that have the command
  std::string_view arguments = "";  // as in the usage line: "[DEVICE]"
  size_t arguments_min = 0, arguments_max = 0;
  std::string_view summary;                        // one line
  std::string_view description = "";               // paragraphs of the help and the manual page
  std::span<const std::string_view> choices = {};  // words for the argument, where they are known beforehand
};

/// All of them, in the order of the help. Immutable, from any thread.
std::span<const CommandInfo> command_table();
/// Those of one program, in the same order.
std::vector<const CommandInfo*> commands_of(Program program);
inline bool has_command(Program program, const CommandInfo& command) {
  return (command.programs & bit(program)) != 0;
}
/// By its whole name, of whatever program: abbreviations are not accepted. Lasts as long as the process.
const CommandInfo* find_command(std::string_view name);  // nullptr: there is none
const CommandInfo& info_of(Command command);             // not for Command::kNone

}  // namespace sliced::config
