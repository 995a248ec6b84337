#include "cli/help.h"

#include <algorithm>

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::CommandInfo;
using config::OptionInfo;

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

std::string usage(const CommandInfo& command) {
  std::string line = "Usage: sliced " + std::string(command.name) + " [OPTION]...";
  if (!command.arguments.empty()) line += " " + std::string(command.arguments);
  return line + "\n";
}

std::string general_help(std::string_view version) {
  std::string out = "sliced " + std::string(version) +
                    ": offers this node's network devices to Kubernetes as the policies allow.\n\n";
  out += "Usage: sliced COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
  size_t column = 0;
  for (const CommandInfo& command : config::command_table())
    column = std::max(column, command.name.size() + 4);
  for (const CommandInfo& command : config::command_table())
    out += "  " + std::string(command.name) + std::string(column - command.name.size() - 2, ' ') +
           std::string(command.summary) + "\n";
  out += "\n" +
         wrapped(
             "Each command tells its options: sliced COMMAND --help. An option's value comes from the "
             "command line, "
             "else from the environment variable shown in brackets, else from the file given with --config, "
             "else it is the default.",
             "");
  return out;
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

std::string help_text(config::Command command, std::string_view version) {
  if (command == config::Command::kNone) return general_help(version);
  const CommandInfo& info = config::info_of(command);
  std::string out = usage(info) + "\n" + wrapped(info.summary, "");
  if (!info.description.empty()) out += "\n" + wrapped(info.description, "");
  out += "\nOptions:\n";
  for (const OptionInfo& option : config::option_table())
    if (config::takes(info, option)) out += option_help(option);
  return out;
}

}  // namespace sliced::cli
