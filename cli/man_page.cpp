#include "cli/man_page.h"

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::CommandInfo;
using config::OptionInfo;
using config::ProgramInfo;

// Encodes plain text so that roff prints it unchanged: no escapes, no requests, dashes that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  if (!text.empty() && (text[0] == '.' || text[0] == '\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string paragraph(std::string_view text) { return ".PP\n" + roff(text) + "\n"; }

std::string command_section(const ProgramInfo& program, const CommandInfo& command) {
  std::string out = ".SS " + roff(program.invocation) + " " + roff(command.name);
  if (!command.arguments.empty()) out += " " + roff(command.arguments);
  out += "\n" + roff(command.summary) + "\n";
  if (!command.description.empty()) out += paragraph(command.description);
  return out;
}

std::string takers_text(config::Program program, const OptionInfo& option) {
  const std::vector<std::string> names = config::takers(program, option);
  return names.size() == config::commands_of(program).size() ? "all commands" : join(names, ", ");
}

std::string option_section(config::Program program, const OptionInfo& option) {
  std::string out = ".TP\n";
  if (option.short_name != 0) out += std::string("\\fB\\-") + option.short_name + "\\fR, ";
  out += "\\fB\\-\\-" + roff(option.name) + "\\fR";
  if (!option.placeholder.empty()) out += " \\fI" + roff(option.placeholder) + "\\fR";
  out += "\n" + roff(option.help) + "\n";
  std::vector<std::string> facts;
  const std::string standard = option.print(config::Options{});
  if (!standard.empty() && !option.placeholder.empty()) facts.push_back("Default: " + standard + ".");
  if (option.env != nullptr) facts.push_back(std::string("Environment: ") + option.env + ".");
  if (!option.file_key.empty())
    facts.push_back("File: " + std::string(option.file_key) +
                    (option.reloadable ? " (takes effect on SIGHUP)." : "."));
  facts.push_back("Commands: " + takers_text(program, option) + ".");
  return out + ".br\n" + roff(join(facts, " ")) + "\n";
}

}  // namespace

std::string man_page(config::Program id, std::string_view version) {
  const ProgramInfo& program = config::info_of(id);
  std::string title;
  for (const char c : program.name) title += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string out = ".TH " + title + " " + std::string(program.man_section) + " \"\" \"sliced " +
                    roff(version) + "\" \"" +
                    (program.man_section == "1" ? "User Commands" : "System Administration") + "\"\n";
  out += ".SH NAME\n" + roff(program.name) + " \\- " + roff(program.summary) + "\n";
  out += ".SH SYNOPSIS\n.B " + roff(program.invocation) +
         "\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n";
  out += ".SH DESCRIPTION\n" + roff(program.description) + "\n";
  out += ".SH COMMANDS\n";
  for (const CommandInfo* command : config::commands_of(id)) out += command_section(program, *command);
  out += ".SH OPTIONS\n" +
         roff(
             "An option's value comes from the command line, else from its environment variable, else from "
             "the file, else "
             "it is the default. Times are written as 5m, 90s, 1m30s or 100ms.") +
         "\n";
  for (const OptionInfo& option : config::option_table())
    if (config::takes(id, option)) out += option_section(id, option);
  out += ".SH FILES\n" +
         roff(
             "The file of --config is YAML: a map with the keys that are listed with the options. Lists and "
             "maps may be "
             "written as such (kindsOff, nodeLabels).") +
         "\n";
  out += ".SH EXIT STATUS\n" +
         roff(
             "0: done. 1: failed, or the command line, environment or file is wrong; every problem is on "
             "standard error. " +
             std::string(program.exit_status)) +
         "\n";
  std::vector<std::string> others;
  for (const ProgramInfo& other : config::program_table())
    if (other.id != id) others.push_back(roff(other.name) + "(" + std::string(other.man_section) + ")");
  return out + ".SH SEE ALSO\n" + join(others, ", ") + "\n";
}

}  // namespace sliced::cli
