#include "cli/help.h"

#include <gtest/gtest.h>

#include "config/option_table.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace {

using config::Command;
using config::Program;

size_t longest_line(std::string_view text) {
  size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) longest = std::max(longest, line.size());
  return longest;
}

TEST(HelpText, NamesEveryCommandOfTheProgramOnOneScreen) {
  for (const auto& program : config::program_table()) {
    const std::string help = help_text(program.id, Command::kNone, "1.2.3");
    for (const auto& command : config::command_table())
      EXPECT_EQ(help.find("\n  " + std::string(command.name) + " ") != std::string::npos,
                config::has_command(program.id, command))
          << program.name << " " << command.name;
    EXPECT_TRUE(help.starts_with(std::string(program.name) + " 1.2.3:")) << help;
    EXPECT_LE(longest_line(help), 100u);
  }
}

TEST(HelpText, CommandHelpListsItsOptionsOnly) {
  for (const auto& command : config::command_table()) {
    const std::string help = help_text(Program::kNode, command.id, "1.2.3");
    for (const auto& option : config::option_table())
      EXPECT_EQ(help.find(" --" + std::string(option.name) + (option.placeholder.empty() ? "\n" : " ")) !=
                    std::string::npos,
                config::takes(command, option))
          << command.name << " --" << option.name;
    EXPECT_LE(longest_line(help), 100u) << command.name;
    EXPECT_EQ(help.back(), '\n');
  }
}

TEST(HelpText, MatchesTheGoldenFile) {
  for (const auto& program : config::program_table()) {
    fixture::expect_golden(help_text(program.id, Command::kNone, "1.2.3"));
    for (const auto* command : config::commands_of(program.id))
      fixture::expect_golden(help_text(program.id, command->id, "1.2.3"));
  }
}

}  // namespace
}  // namespace sliced::cli
