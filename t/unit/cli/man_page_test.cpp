#include "cli/man_page.h"

#include <gtest/gtest.h>

#include "config/option_table.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace {

TEST(ManPage, HasEveryCommandAndOptionOfTheProgram) {
  const auto as_roff = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
    return out;
  };
  for (const auto& program : config::program_table()) {
    const std::string page = man_page(program.id, "1.2.3");
    for (const auto& command : config::command_table())
      EXPECT_EQ(page.find("\n.SS " + as_roff(program.invocation) + " " + as_roff(command.name)) !=
                    std::string::npos,
                config::has_command(program.id, command))
          << program.name << " " << command.name;
    for (const auto& option : config::option_table()) {
      const bool is_taken = config::takes(program.id, option);
      EXPECT_EQ(page.find("\\fB\\-\\-" + as_roff(option.name) + "\\fR") != std::string::npos, is_taken)
          << program.name << " " << option.name;
      if (is_taken && !option.file_key.empty()) {
        EXPECT_NE(page.find("File: " + std::string(option.file_key)), std::string::npos) << option.name;
      }
    }
  }
  EXPECT_TRUE(man_page(config::Program::kNode, "1.2.3").starts_with(".TH SLICED 8 "));
  EXPECT_TRUE(man_page(config::Program::kKubectl, "1.2.3").starts_with(".TH KUBECTL-SLICED 1 "));
}

// roff takes a line that begins with '.' or an apostrophe as a request: text must never start one by
// accident.
TEST(ManPage, EveryRequestIsDefined) {
  std::string page;
  for (const auto& program : config::program_table()) page += man_page(program.id, "1.2.3");
  for (const std::string_view line : split(page, '\n')) {
    if (line.empty()) continue;
    EXPECT_NE(line[0], '\'') << line;
    if (line[0] != '.') continue;
    const std::string_view request = line.substr(0, line.find(' '));
    const bool known = request == ".TH" || request == ".SH" || request == ".SS" || request == ".PP" ||
                       request == ".TP" || request == ".B" || request == ".I" || request == ".br";
    EXPECT_TRUE(known) << line;
  }
}

TEST(ManPage, MatchesTheGoldenFile) {
  for (const auto& program : config::program_table()) fixture::expect_golden(man_page(program.id, "1.2.3"));
}

}  // namespace
}  // namespace sliced::cli
