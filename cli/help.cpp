#include "cli/help.h"

#include <algorithm>

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::CommandInfo;
using config::OptionInfo;
using config::ProgramInfo;

constexpr size_t kWidth = 100;
constexpr const char* kHelpIndent = "      ";

std::string option_help(const OptionInfo& option) {
  std::string head = "  ";
  head += option.short_name != 0 ? std::string("-") + option.short_name + ", " : "    ";
  head += "--" + std::string(option.name);
  if (!option.placeholder.empty()) head += " " + std::string(option.placeholder);
  std::string text(option.help);
  const std::string standard = option.print(config::Options{});
  if (!standard.empty() && !option.placeholder.empty()) text += " Default: " + standard + ".";
  if (option.env != nullptr) text += std::string(" [") + option.env + "]";
  return head + "\n" + wrapped(text, kHelpIndent);
}

std::string usage(const ProgramInfo& program, const CommandInfo& command) {
  std::string line =
      "Usage: " + std::string(program.invocation) + " " + std::string(command.name) + " [OPTION]...";
  if (!command.arguments.empty()) line += " " + std::string(command.arguments);
  return line + "\n";
}

// Names the other programs, which have further commands.
std::string other_programs(const ProgramInfo& program) {
  std::string out;
  for (const ProgramInfo& other : config::program_table()) {
    if (other.id == program.id) continue;
    std::vector<std::string> names;
    for (const CommandInfo* command : config::commands_of(other.id))
      if (!config::has_command(program.id, *command)) names.emplace_back(command->name);
    out += wrapped(std::string(other.invocation) + " " + std::string(other.place) + " (package " +
                       std::string(other.name) + "): " + join(names, ", "),
                   "  ");
  }
  return out;
}

std::string general_help(const ProgramInfo& program, std::string_view version) {
  const std::string invocation(program.invocation);
  std::string out = wrapped(
      std::string(program.name) + " " + std::string(version) + ": " + std::string(program.summary) + ".", "");
  out += "\nUsage: " + invocation + " COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
  size_t column = 0;
  const std::vector<const CommandInfo*> commands = config::commands_of(program.id);
  for (const CommandInfo* command : commands) column = std::max(column, command->name.size() + 4);
  for (const CommandInfo* command : commands)
    out += "  " + std::string(command->name) + std::string(column - command->name.size() - 2, ' ') +
           std::string(command->summary) + "\n";
  out += "\n" + wrapped("Options of a command: " + invocation +
                            " COMMAND --help. An option's value comes from the command line, else from the "
                            "environment variable shown in brackets, else from the file given with --config, "
                            "else it is the default.",
                        "");
  return out + "\nOther programs:\n" + other_programs(program);
}

}  // namespace

std::string wrapped(std::string_view text, const std::string& before) {
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += before + line + "\n";
    line.clear();
  };
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && before.size() + line.size() + 1 + word.size() > kWidth) flush();
    if (!line.empty()) line += ' ';
    line += word;
  }
  flush();
  return out;
}

std::string help_text(config::Program program, config::Command command, std::string_view version) {
  if (command == config::Command::kNone) return general_help(config::info_of(program), version);
  const CommandInfo& info = config::info_of(command);
  std::string out = usage(config::info_of(program), info) + "\n" + wrapped(info.summary, "");
  if (!info.description.empty()) out += "\n" + wrapped(info.description, "");
  out += "\nOptions:\n";
  for (const OptionInfo& option : config::option_table())
    if (config::takes(info, option)) out += option_help(option);
  return out;
}

}  // namespace sliced::cli
