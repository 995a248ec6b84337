#include "daemon/problem_reporter.h"

#include <gtest/gtest.h>

#include "kube/objects/kinds.h"
#include "policy/decide.h"
#include "t/fake/memory_log.h"

namespace sliced::daemon {
namespace problem_reporter_test {

struct ProblemReporterTest : testing::Test {
  void add_broken(const std::string& name) {
    const WatchedPolicy<policy::SriovPolicy> item{
        {"ns", name}, "uid", "1", Error{Errc::kInvalid, "cannot be read"}};
    book.apply(Changed<WatchedPolicy<policy::SriovPolicy>>{item}, {});
  }
  void remove(const std::string& name) {
    book.apply(Removed<WatchedPolicy<policy::SriovPolicy>>{{"ns", name}}, {});
  }
  void tell(const std::vector<std::string>& notes = {}) {
    auto inputs = std::make_shared<policy::Inputs>();
    inputs->inventory = std::make_shared<const hotplug::Inventory>();
    inputs->policies = book.set();
    policy::Decision decision = policy::decide(inputs);
    for (const std::string& note : notes) decision.notes.add(note);
    log.lines.clear();
    teller.tell(book, decision);
  }

  PolicyBook book;
  fake::MemoryLog log;
  ProblemReporter teller{log};
};

TEST_F(ProblemReporterTest, LogsALastingProblemOnce) {
  add_broken("a");
  tell({"a device is held back"});
  EXPECT_EQ(log.lines.size(), 2u) << log.all();
  EXPECT_EQ(log.count("policy ns/a"), 1u);
  EXPECT_EQ(log.count("a device is held back"), 1u);
  tell({"a device is held back"});
  EXPECT_EQ(log.lines.size(), 0u) << log.all();
  add_broken("b");
  tell({"a device is held back"});
  EXPECT_EQ(log.lines.size(), 1u) << "what is new alone: " << log.all();
  EXPECT_EQ(log.count("policy ns/b"), 1u);
}

TEST_F(ProblemReporterTest, LogsAReturningProblemAgain) {
  add_broken("a");
  tell({"note"});
  remove("a");
  tell();
  EXPECT_EQ(log.lines.size(), 0u);
  add_broken("a");
  tell({"note"});
  EXPECT_EQ(log.lines.size(), 2u) << log.all();
}

TEST_F(ProblemReporterTest, LimitsMessagesOfOneChange) {
  for (int i = 0; i < 250; ++i) add_broken("p" + std::to_string(i));
  tell();
  EXPECT_EQ(log.lines.size(), 101u);
  EXPECT_EQ(log.count("150 more"), 1u) << log.all();
  tell();
  EXPECT_EQ(log.lines.size(), 0u) << "nor the next time";
}

}  // namespace problem_reporter_test
}  // namespace sliced::daemon
