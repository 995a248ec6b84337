#include "cli/man_page.h"

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::CommandInfo;
using config::OptionInfo;

// Plain text as roff reads it back unchanged: no escapes, no requests, dashes that can be copied.
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

std::string command_section(const CommandInfo& command) {
  std::string out = ".SS sliced " + roff(command.name);
  if (!command.arguments.empty()) out += " " + roff(command.arguments);
  out += "\n" + roff(command.summary) + "\n";
  if (!command.description.empty()) out += paragraph(command.description);
  return out;
}

std::string takers(const OptionInfo& option) {
  std::vector<std::string> names;
  for (const CommandInfo& command : config::command_table())
    if (config::takes(command, option)) names.emplace_back(command.name);
  return names.size() == config::command_table().size() ? "all commands" : join(names, ", ");
}

std::string option_section(const OptionInfo& option) {
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
                    (option.reloadable ? " (taken up on SIGHUP)." : "."));
  facts.push_back("Commands: " + takers(option) + ".");
  return out + ".br\n" + roff(join(facts, " ")) + "\n";
}

}  // namespace

std::string man_page(std::string_view version) {
  std::string out = ".TH SLICED 8 \"\" \"sliced " + roff(version) + "\" \"System Administration\"\n";
  out += ".SH NAME\nsliced \\- offers a node's network devices to Kubernetes as policies allow\n";
  out += ".SH SYNOPSIS\n.B sliced\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n";
  out += ".SH DESCRIPTION\n" +
         roff(
             "sliced keeps, for one node, what the API server offers in ResourceSlices equal to what the "
             "administrator's "
             "policies allow of what the kernel has, and writes only the difference.") +
         "\n";
  out += ".SH COMMANDS\n";
  for (const CommandInfo& command : config::command_table()) out += command_section(command);
  out += ".SH OPTIONS\n" +
         roff(
             "An option's value comes from the command line, else from its environment variable, else from "
             "the file, else "
             "it is the default. Times are written as 5m, 90s, 1m30s or 100ms.") +
         "\n";
  for (const OptionInfo& option : config::option_table()) out += option_section(option);
  out += ".SH FILES\n" +
         roff(
             "The file of --config is YAML: a map with the keys that stand beside the options. Lists and "
             "maps may be "
             "written as such (kindsOff, nodeLabels).") +
         "\n";
  out += ".SH EXIT STATUS\n" +
         roff(
             "0: done. 1: failed, or the command line, environment or file is wrong; every problem is on "
             "standard error. "
             "2: plan found changes; match found nothing that matches; drift found a field that differs.") +
         "\n";
  return out;
}

}  // namespace sliced::cli
