#pragma once
// The one table of commands and options. The parser, the help, the manual page and the shell completion are
// all made of it, so none of them can know an option that another does not.
#include <string>
#include <string_view>
#include <vector>

#include "config/options.h"

namespace sliced::config {

struct CommandInfo {
  Command id;
  std::string_view name;
  std::string_view arguments;  // as in the usage line: "[DEVICE]"
  size_t arguments_min, arguments_max;
  std::string_view summary;               // one line
  std::string_view description;           // paragraphs of the help and the manual page
  std::vector<std::string_view> choices;  // words for the argument, where they are known beforehand
};

struct OptionInfo {
  std::string_view name;         // long form without dashes
  char short_name;               // 0: none
  const char* env;               // nullptr: none
  std::string_view file_key;     // "": not in the file
  std::string_view placeholder;  // "": a switch
  unsigned commands;             // bits of Command
  bool reloadable;               // takes effect on SIGHUP; otherwise at the next start
  std::vector<std::string_view> choices;
  std::string_view help;
  /// Sets the option from its text; "" when that went well, else what is wrong and what would be right.
  std::string (*parse)(std::string_view text, Options& options);
  /// The value as parse() takes it; "" when it is unset.
  std::string (*print)(const Options& options);
};

const std::vector<CommandInfo>& command_table();
const std::vector<OptionInfo>& option_table();

const CommandInfo* find_command(std::string_view name);  // nullptr: there is none
const CommandInfo& info_of(Command command);             // not for Command::kNone
const OptionInfo* find_option(std::string_view name);    // by its long form without dashes
bool takes(const CommandInfo& command, const OptionInfo& option);

}  // namespace sliced::config
