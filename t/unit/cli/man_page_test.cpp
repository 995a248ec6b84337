#include "cli/man_page.h"

#include <gtest/gtest.h>

#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

TEST(ManPage, HasEveryCommandAndOption) {
  const std::string page = man_page("1.2.3");
  EXPECT_EQ(page.rfind(".TH SLICED 8 ", 0), 0u);
  for (const auto& command : config::command_table())
    EXPECT_NE(page.find("\n.SS sliced " + std::string(command.name)), std::string::npos) << command.name;
  for (const auto& option : config::option_table()) {
    std::string name;
    for (const char c : option.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
    EXPECT_NE(page.find("\\fB\\-\\-" + name + "\\fR"), std::string::npos) << option.name;
    if (!option.file_key.empty()) {
      EXPECT_NE(page.find("File: " + std::string(option.file_key)), std::string::npos) << option.name;
    }
  }
}

// roff takes a line that begins with '.' or an apostrophe as a request: text must never start one by
// accident.
TEST(ManPage, EveryRequestIsAKnownOne) {
  const std::string page = man_page("1.2.3");
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

}  // namespace
}  // namespace sliced::cli
