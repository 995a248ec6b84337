#include "cli/completion.h"

#include <algorithm>
#include <span>
#include <utility>

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

using config::Command;
using config::CommandInfo;
using config::OptionInfo;
using config::Program;

std::vector<std::string> words(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

std::vector<std::string> command_names(Program program) {
  std::vector<std::string> names;
  for (const CommandInfo* command : config::commands_of(program)) names.emplace_back(command->name);
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

std::vector<std::string> arguments_of(Program program, const CommandInfo& command) {
  return command.id == Command::kHelp ? command_names(program) : words(command.choices);
}

// Replaces @PROGRAM@ and @FUNCTION@ in a script by the program's name and that of its shell function.
std::string named(Program program, std::string script) {
  const std::string name(config::info_of(program).name);
  std::string function = "_" + name;
  std::replace(function.begin(), function.end(), '-', '_');
  for (const auto& [word, text] :
       {std::pair<std::string_view, std::string>{"@PROGRAM@", name}, {"@FUNCTION@", function}})
    for (size_t at = script.find(word); at != std::string::npos; at = script.find(word, at + text.size()))
      script.replace(at, word.size(), text);
  return script;
}

// Text inside a single-quoted shell word.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Bash splits words at '=' and ':'. After --option= the option is one word further back; a file follows dir:.
constexpr std::string_view kBashHead = R"(# bash completion of @PROGRAM@
@FUNCTION@() {
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
complete -o default -F @FUNCTION@ @PROGRAM@
)";

std::string bash(Program program) {
  std::string out(kBashHead);
  out += "      " + join(command_names(program), "|") +
         ") command=\"${COMP_WORDS[i]}\"; break ;;\n    esac\n  done\n";
  out += "  case \"$previous\" in\n";
  for (const OptionInfo& option : config::option_table()) {
    if (option.placeholder.empty() || !config::takes(program, option)) continue;
    out += "    --" + std::string(option.name);
    if (option.short_name != 0) out += std::string("|-") + option.short_name;
    out += ") COMPREPLY=($(compgen -W \"" + join(words(option.choices), " ") + "\" -- \"$word\"))\n";
    out += "      [[ ${COMPREPLY[0]:-} == *: ]] && compopt -o nospace 2>/dev/null\n      return ;;\n";
  }
  out += "  esac\n  case \"$command\" in\n";
  for (const CommandInfo* info : config::commands_of(program))
    out += "    " + std::string(info->name) + ") flags=\"" + join(flags_of(*info), " ") + "\" arguments=\"" +
           join(arguments_of(program, *info), " ") + "\" ;;\n";
  out += "    *) flags=\"--help --version\" arguments=\"" + join(command_names(program), " ") +
         "\" ;;\n  esac\n";
  return out += kBashTail;
}

std::string fish(Program program) {
  std::string out = "# fish completion of @PROGRAM@\n";
  for (const CommandInfo* info : config::commands_of(program)) {
    const CommandInfo& command = *info;
    out += "complete -c @PROGRAM@ -n __fish_use_subcommand -f -a " + std::string(command.name) + " -d " +
           single_quoted(command.summary) + "\n";
    if (const auto choices = arguments_of(program, command); !choices.empty())
      out += "complete -c @PROGRAM@ -n '__fish_seen_subcommand_from " + std::string(command.name) +
             "' -f -a '" + join(choices, " ") + "'\n";
  }
  for (const OptionInfo& option : config::option_table()) {
    if (!config::takes(program, option)) continue;
    out += "complete -c @PROGRAM@ -n '__fish_seen_subcommand_from " +
           join(config::takers(program, option), " ") + "' -l " + std::string(option.name);
    if (option.short_name != 0) out += std::string(" -s ") + option.short_name;
    if (!option.placeholder.empty()) out += " -r";
    if (!option.choices.empty()) out += " -a '" + join(words(option.choices), " ") + "'";
    out += " -d " + single_quoted(option.help) + "\n";
  }
  return out;
}

// Escapes a description for an _arguments specification, in which brackets and colons end it.
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

std::string zsh(Program program) {
  std::string out =
      "#compdef @PROGRAM@\n# zsh completion of @PROGRAM@\n@FUNCTION@() {\n  local -a commands=(\n";
  for (const CommandInfo* info : config::commands_of(program))
    out += "    " + single_quoted(std::string(info->name) + ":" + zsh_described(info->summary)) + "\n";
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n  case "
      "\"$words[2]\" in\n";
  for (const CommandInfo* info : config::commands_of(program)) {
    const CommandInfo& command = *info;
    out += "    " + std::string(command.name) + ") _arguments \\\n";
    for (const OptionInfo& option : config::option_table())
      if (config::takes(command, option)) out += zsh_option(option);
    const auto choices = arguments_of(program, command);
    out += "      " + (choices.empty() ? std::string("'*:argument:_files'")
                                       : single_quoted("*:argument:(" + join(choices, " ") + ")"));
    out += " ;;\n";
  }
  return out + "  esac\n}\n@FUNCTION@ \"$@\"\n";
}

}  // namespace

std::string completion_script(Program program, std::string_view shell) {
  if (shell == "bash") return named(program, bash(program));
  if (shell == "fish") return named(program, fish(program));
  if (shell == "zsh") return named(program, zsh(program));
  return "";
}

}  // namespace sliced::cli
