#include "cli/man_page.h"

#include <gtest/gtest.h>

#include "config/option_table.h"
#include "reactor/base/text.h"
#include "t/fixture/golden.h"

namespace sliced::cli {
namespace {

TEST(ManPage, HasEveryCommandAndOption) {
  const std::string page = man_page("1.2.3");
  EXPECT_EQ(page.rfind(".TH SLICED 8 ", 0), 0u);
  const auto as_roff = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? std::string("\\-") : std::string(1, c);
    return out;
  };
  for (const auto& command : config::command_table())
    EXPECT_NE(page.find("\n.SS sliced " + as_roff(command.name)), std::string::npos) << command.name;
  for (const auto& option : config::option_table()) {
    const std::string name = as_roff(option.name);
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

TEST(ManPage, IsWrittenAsTheFileSays) { fixture::expect_golden(man_page("1.2.3")); }

}  // namespace
}  // namespace sliced::cli
