#include "cli/config_file.h"

#include "cli/help.h"
#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::OptionInfo;

std::string commented(std::string_view text) { return wrapped(text, "# "); }

// Quotes a value that YAML would not decode as text.
std::string yaml_value(const std::string& text, bool is_switch) {
  const bool is_plain = is_switch || text.find_first_not_of("0123456789") != std::string::npos;
  return is_plain && text != "on" && text != "off" && !text.starts_with('[') ? text : '"' + text + '"';
}

std::string section(const OptionInfo& option) {
  std::string text(option.help);
  const std::string standard = option.print(config::Options{});
  if (standard.empty()) text += " Not set unless it is given.";
  if (option.reloadable) text += " Takes effect on SIGHUP.";
  const bool is_switch = option.placeholder.empty();
  const std::string value =
      standard.empty() ? std::string(option.placeholder) : yaml_value(standard, is_switch);
  return "\n" + commented(text) + "#" + std::string(option.file_key) + ": " + value + "\n";
}

}  // namespace

std::string config_file(config::Program program, std::string_view version) {
  std::string out =
      commented("Settings of " + std::string(config::info_of(program).name) + " " + std::string(version) +
                ", as " + std::string(config::info_of(program).name) +
                " config prints them: every one with its default. A flag of the command line and an "
                "environment variable (see the manual page) are stronger than this file.");
  for (const OptionInfo& option : config::option_table())
    if (!option.file_key.empty() && config::takes(program, option)) out += section(option);
  return out;
}

}  // namespace sliced::cli
