#include "cli/commands.h"

#include <gtest/gtest.h>

namespace sliced::cli {
namespace {

TEST(Commands, EachThatIsDescribedHasItsWork) {
  for (const config::CommandInfo& command : config::command_table())
    EXPECT_NE(work_of(command.id), nullptr) << command.name;
  EXPECT_EQ(work_of(config::Command::kNone), nullptr);
}

}  // namespace
}  // namespace sliced::cli
