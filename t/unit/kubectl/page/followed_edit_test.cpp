#include "kubectl/page/followed_edit.h"

#include <gtest/gtest.h>

#include "t/fake/fake_scheduler.h"

namespace sliced::kubectl {
namespace followed_edit_test {
namespace {

struct FollowedEditTest : testing::Test {
  // The program's answer: that nothing changes on so many nodes.
  void answer(int same) {
    const auto exit = std::exchange(on_exit, nullptr);
    exit({.exit_status = 0,
          .out = R"({"nodes":[],"unjudged":[],"same":)" + std::to_string(same) + "}",
          .err = {}});
  }
  static std::string of(int same) {
    return "0 nodes would change, " + std::to_string(same) + " nodes would not";
  }
  std::string told() { return summary_of(edit.look()); }
  auto waiting(std::string as) {
    return edit.when_current([this, as = std::move(as)] { heard.push_back(as); });
  }
  bool runs() const { return !program.expired(); }

  fake::FakeScheduler scheduler;
  std::string stamp = "1";
  std::optional<Error> refusal;
  int started = 0;
  Questions::Done on_exit;
  std::weak_ptr<int> program;
  std::vector<std::string> heard;
  FollowedEdit edit{{.file = "p.yaml",
                     .scheduler = scheduler,
                     .stamp = [this] { return stamp; },
                     .start = [this](Questions::Done then) -> Result<std::shared_ptr<void>> {
                       ++started;
                       if (refusal) return *refusal;
                       EXPECT_FALSE(runs()) << "one program at a time";
                       auto out = std::make_shared<int>();
                       program = out;
                       on_exit = std::move(then);
                       return std::shared_ptr<void>(std::move(out));
                     }}};
};
using Heard = std::vector<std::string>;

TEST_F(FollowedEditTest, RunsNothingWithoutARequest) {
  scheduler.advance(Millis{100'000});
  EXPECT_EQ(started, 0);
  EXPECT_EQ(edit.look().file, "p.yaml");
  EXPECT_EQ(edit.look().problem, "it is being asked");
  EXPECT_EQ(started, 1);
  answer(7);
  EXPECT_FALSE(runs());
  EXPECT_EQ(told(), of(7));
  EXPECT_EQ(edit.moment(), 1u);
}

// Red when unanswered loads of the page take all connections for browsers.
TEST_F(FollowedEditTest, BoundsWaitingRequests) {
  std::vector<std::unique_ptr<http::Call>> calls;
  for (size_t i = 0; i < kEditWaitingMax; ++i) calls.push_back(waiting("waited"));
  EXPECT_EQ(heard, Heard{});
  EXPECT_EQ(waiting("told"), nullptr);
  EXPECT_EQ(heard, Heard{"told"});
  calls.pop_back();
  EXPECT_NE(calls.emplace_back(waiting("waited")), nullptr) << "one has gone";
  answer(7);
  EXPECT_EQ(heard.size(), kEditWaitingMax + 1);
}

// Red when an answer is shown for longer than half a minute, or the cluster is read more often than that.
TEST_F(FollowedEditTest, RenewsAnOldAnswerOnRequest) {
  edit.look();
  scheduler.advance(Millis{1'000});
  answer(7);
  scheduler.advance(kEditOldAfter);
  EXPECT_EQ(told(), of(7));
  EXPECT_EQ(started, 1);
  scheduler.advance(Millis{1});
  EXPECT_EQ(told(), of(7)) << "until there is another";
  EXPECT_EQ(started, 2);
  EXPECT_EQ(waiting("a"), nullptr) << "it is of the file as it is";
  EXPECT_EQ(heard, Heard{"a"});
  answer(7);
  EXPECT_EQ(edit.moment(), 1u) << "the same";
  scheduler.advance(kEditOldAfter + Millis{1});
  edit.look();
  answer(8);
  EXPECT_EQ(edit.moment(), 2u);
  EXPECT_EQ(told(), of(8));
}

TEST_F(FollowedEditTest, AnswersWithTheCurrentFile) {
  const auto first = waiting("a"), second = waiting("b");
  ASSERT_NE(first, nullptr);
  edit.look();
  EXPECT_EQ(started, 1);
  stamp = "2";
  answer(7);
  EXPECT_EQ(heard, Heard{}) << "the file is another one since";
  EXPECT_EQ(started, 2);
  answer(8);
  EXPECT_EQ(heard, (Heard{"a", "b"}));
  EXPECT_EQ(told(), of(8));
  stamp = "3";
  EXPECT_EQ(told(), of(8));
  EXPECT_EQ(started, 3);
  const auto third = waiting("c");
  ASSERT_NE(third, nullptr);
  answer(9);
  EXPECT_EQ(heard, (Heard{"a", "b", "c"}));
}

// Red when a file that is written without end prevents all answers.
TEST_F(FollowedEditTest, AnswersForAFileThatChangesConstantly) {
  const auto call = waiting("a");
  for (int i = 0; i <= kEditedAgainMax; ++i) {
    EXPECT_EQ(heard, Heard{}) << i;
    stamp += "x";
    answer(i);
  }
  EXPECT_EQ(heard, Heard{"a"});
  EXPECT_EQ(started, kEditedAgainMax + 1);
  EXPECT_EQ(told(), of(kEditedAgainMax));
  EXPECT_EQ(started, kEditedAgainMax + 2) << "it is not of the file as it is";
}

TEST_F(FollowedEditTest, SendsNothingToADisconnectedClient) {
  auto gone = waiting("gone"), stays = waiting("stays");
  gone.reset();
  EXPECT_TRUE(runs()) << "others wait for it";
  answer(7);
  EXPECT_EQ(heard, Heard{"stays"});
  // Callbacks may drop their own call, and other calls.
  stamp = "2";
  std::unique_ptr<http::Call> own, other;
  own = edit.when_current([&] { heard.emplace_back("own"), own.reset(), other.reset(); });
  other = waiting("other");
  answer(8);
  EXPECT_EQ(heard, (Heard{"stays", "own"}));
}

TEST_F(FollowedEditTest, ReportsAProgramThatCannotBeStarted) {
  refusal = Error{Errc::kIo, "no processes left"};
  EXPECT_EQ(waiting("a"), nullptr);
  EXPECT_EQ(heard, Heard{"a"});
  EXPECT_EQ(edit.look().problem, "no processes left");
  EXPECT_EQ(started, 1) << "nor tried without end";
  stamp = "2";
  EXPECT_EQ(waiting("b"), nullptr);
  EXPECT_EQ(started, 2);
  refusal.reset();
  scheduler.advance(kEditOldAfter + Millis{1});
  edit.look();
  answer(7);
  EXPECT_EQ(told(), of(7));
}

TEST_F(FollowedEditTest, RunsForAMissingFile) {
  stamp = "";
  const auto call = waiting("a");
  std::exchange(on_exit,
                nullptr)({.exit_status = 1, .out = {}, .err = "p.yaml: No such file or directory\n"});
  EXPECT_EQ(heard, Heard{"a"});
  EXPECT_EQ(edit.look().problem, "p.yaml: No such file or directory");
  EXPECT_EQ(started, 1);
}

}  // namespace
}  // namespace followed_edit_test
}  // namespace sliced::kubectl
