#include "cli/help.h"

#include <gtest/gtest.h>

#include "config/option_table.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace {

using config::Command;

size_t longest_line(std::string_view text) {
  size_t longest = 0;
  for (const std::string_view line : split(text, '\n')) longest = std::max(longest, line.size());
  return longest;
}

TEST(HelpText, NamesEveryCommandOnOneScreen) {
  const std::string help = help_text(Command::kNone, "1.2.3");
  for (const auto& command : config::command_table())
    EXPECT_NE(help.find("\n  " + std::string(command.name) + " "), std::string::npos) << command.name;
  EXPECT_NE(help.find("sliced 1.2.3:"), std::string::npos);
  EXPECT_LE(longest_line(help), 100u);
}

TEST(HelpText, OfACommandHasItsOptionsAndNoOthers) {
  for (const auto& command : config::command_table()) {
    const std::string help = help_text(command.id, "1.2.3");
    for (const auto& option : config::option_table())
      EXPECT_EQ(help.find(" --" + std::string(option.name) + (option.placeholder.empty() ? "\n" : " ")) !=
                    std::string::npos,
                config::takes(command, option))
          << command.name << " --" << option.name;
    EXPECT_LE(longest_line(help), 100u) << command.name;
    EXPECT_EQ(help.back(), '\n');
  }
}

TEST(HelpText, IsWrittenAsTheFileSays) {
  fixture::expect_golden(help_text(Command::kNone, "1.2.3"));
  for (const auto& command : config::command_table()) fixture::expect_golden(help_text(command.id, "1.2.3"));
}

}  // namespace
}  // namespace sliced::cli
