// What `history` takes for the journal.
#include <gtest/gtest.h>

#include <fstream>

#include "cli/commands.h"
#include "daemon/process.h"

namespace sliced::cli {
namespace history_test {
namespace {

int told(const std::string& text, std::string& said) {
  config::Options options;
  options.command = config::Command::kHistory;
  options.files = {testing::TempDir() + "/journal"};
  std::ofstream(options.files[0]) << text;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = history(options);
  testing::internal::GetCapturedStdout();
  said = testing::internal::GetCapturedStderr();
  return status;
}

// Red when the journal as text is an empty table, as if nothing had changed.
TEST(History, ReportsAJournalThatIsNotJson) {
  std::string said;
  EXPECT_EQ(told("Nov 24 23:01:20 node sliced[7]: offered devices changed change=offered\n", said),
            daemon::kExitError);
  EXPECT_NE(said.find("journalctl -u sliced -o json"), std::string::npos) << said;
  EXPECT_EQ(told("", said), daemon::kExitSame) << "nothing has changed";
  EXPECT_EQ(told("-- No entries --\n{\"MESSAGE\":\"x\"}\n", said), daemon::kExitSame);
}

}  // namespace
}  // namespace history_test
}  // namespace sliced::cli
