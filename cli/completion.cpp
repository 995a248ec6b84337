#include "cli/completion.h"

#include <span>

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::Command;
using config::CommandInfo;
using config::OptionInfo;

std::vector<std::string> words(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandInfo& command : config::command_table()) names.emplace_back(command.name);
  return names;
}

std::vector<std::string> flags_of(const CommandInfo& command) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : config::option_table()) {
    if (!config::takes(command, option)) continue;
    flags.push_back("--" + std::string(option.name));
    if (option.short_name != 0) flags.push_back(std::string("-") + option.short_name);
  }
  return flags;
}

std::vector<std::string> arguments_of(const CommandInfo& command) {
  return command.id == Command::kHelp ? command_names() : words(command.choices);
}

// Text inside a single-quoted shell word.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Bash splits words at '=' and ':'. After --option= the option is one word further back; what follows dir: is
// a file.
constexpr std::string_view kBashHead = R"(# bash completion of sliced
_sliced() {
  local word previous command="" flags arguments="" i
  word="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  [[ "$word" == "=" ]] && previous="=" word="" && COMP_CWORD=$((COMP_CWORD + 1))
  [[ "$previous" == "=" ]] && previous="${COMP_WORDS[COMP_CWORD-2]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${COMP_WORDS[i]}" in
)";
constexpr std::string_view kBashTail = R"(  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [[ -n "$arguments" ]]; then
    COMPREPLY=($(compgen -W "$arguments" -- "$word"))
  fi
}
complete -o default -F _sliced sliced
)";

std::string bash() {
  std::string out(kBashHead);
  out +=
      "      " + join(command_names(), "|") + ") command=\"${COMP_WORDS[i]}\"; break ;;\n    esac\n  done\n";
  out += "  case \"$previous\" in\n";
  for (const OptionInfo& option : config::option_table()) {
    if (option.placeholder.empty()) continue;
    out += "    --" + std::string(option.name);
    if (option.short_name != 0) out += std::string("|-") + option.short_name;
    out += ") COMPREPLY=($(compgen -W \"" + join(words(option.choices), " ") + "\" -- \"$word\"))\n";
    out += "      [[ ${COMPREPLY[0]:-} == *: ]] && compopt -o nospace 2>/dev/null\n      return ;;\n";
  }
  out += "  esac\n  case \"$command\" in\n";
  for (const CommandInfo& command : config::command_table())
    out += "    " + std::string(command.name) + ") flags=\"" + join(flags_of(command), " ") +
           "\" arguments=\"" + join(arguments_of(command), " ") + "\" ;;\n";
  out += "    *) flags=\"--help --version\" arguments=\"" + join(command_names(), " ") + "\" ;;\n  esac\n";
  return out += kBashTail;
}

std::string fish() {
  std::string out = "# fish completion of sliced\n";
  for (const CommandInfo& command : config::command_table()) {
    out += "complete -c sliced -n __fish_use_subcommand -f -a " + std::string(command.name) + " -d " +
           single_quoted(command.summary) + "\n";
    if (const auto choices = arguments_of(command); !choices.empty())
      out += "complete -c sliced -n '__fish_seen_subcommand_from " + std::string(command.name) + "' -f -a '" +
             join(choices, " ") + "'\n";
  }
  for (const OptionInfo& option : config::option_table()) {
    std::vector<std::string> takers;
    for (const CommandInfo& command : config::command_table())
      if (config::takes(command, option)) takers.emplace_back(command.name);
    out += "complete -c sliced -n '__fish_seen_subcommand_from " + join(takers, " ") + "' -l " +
           std::string(option.name);
    if (option.short_name != 0) out += std::string(" -s ") + option.short_name;
    if (!option.placeholder.empty()) out += " -r";
    if (!option.choices.empty()) out += " -a '" + join(words(option.choices), " ") + "'";
    out += " -d " + single_quoted(option.help) + "\n";
  }
  return out;
}

// A description in an _arguments specification: brackets and colons end it.
std::string zsh_described(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '[' || c == ']' || c == ':' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string zsh_option(const OptionInfo& option) {
  std::string tail = "[" + zsh_described(option.help) + "]";
  if (!option.placeholder.empty()) {
    tail += ":" + zsh_described(option.placeholder) + ":";
    std::vector<std::string> choices;
    for (const std::string_view choice : option.choices) choices.push_back(zsh_described(choice));
    tail += choices.empty() ? "_files" : "(" + join(choices, " ") + ")";
  }
  const std::string mark = option.placeholder.empty() ? "" : "=";
  std::string out = "      " + single_quoted("--" + std::string(option.name) + mark + tail);
  if (option.short_name != 0) out += " " + single_quoted(std::string("-") + option.short_name + tail);
  return out + " \\\n";
}

std::string zsh() {
  std::string out = "#compdef sliced\n# zsh completion of sliced\n_sliced() {\n  local -a commands=(\n";
  for (const CommandInfo& command : config::command_table())
    out += "    " + single_quoted(std::string(command.name) + ":" + zsh_described(command.summary)) + "\n";
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  case "
      "\"$words[2]\" in\n";
  for (const CommandInfo& command : config::command_table()) {
    out += "    " + std::string(command.name) + ") _arguments \\\n";
    for (const OptionInfo& option : config::option_table())
      if (config::takes(command, option)) out += zsh_option(option);
    const auto choices = arguments_of(command);
    out += "      " + (choices.empty() ? std::string("'*:argument:_files'")
                                       : single_quoted("*:argument:(" + join(choices, " ") + ")"));
    out += " ;;\n";
  }
  return out + "  esac\n}\n_sliced \"$@\"\n";
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash();
  if (shell == "fish") return fish();
  if (shell == "zsh") return zsh();
  return "";
}

}  // namespace sliced::cli
