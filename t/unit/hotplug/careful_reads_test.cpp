#include "hotplug/careful_reads.h"

#include <gtest/gtest.h>

#include "t/fake/fake_executor.h"

namespace sliced::hotplug {
namespace {

using namespace std::chrono_literals;

struct CarefulReadsTest : testing::Test {
  fake::FakeScheduler scheduler;
  fake::FakeExecutor executor{scheduler};
  CarefulReads reads{executor, 100ms};
  std::vector<std::string> said;
  int all = 0;

  CarefulReads::Request answers(const std::string& key, const std::string& answer) {
    return {key,
            [this, answer]() -> CarefulReads::Apply { return [this, answer] { said.push_back(answer); }; },
            [this, key] { said.push_back(key + " hung"); }};
  }
  CarefulReads::Request hangs(const std::string& key) {
    return {key, []() -> CarefulReads::Apply { fake::abandon(fake::Abandoned::kHangs); },
            [this, key] { said.push_back(key + " hung"); }};
  }
  void ask(std::vector<CarefulReads::Request> requests) {
    reads.request(std::move(requests), [this] { ++all; });
  }
};

TEST_F(CarefulReadsTest, CompletesImmediatelyWithoutReads) {
  ask({});
  EXPECT_EQ(all, 1);
}

TEST_F(CarefulReadsTest, AHangingReadCostsOnlyItself) {
  ask({answers("a", "1"), hangs("b"), answers("c", "2")});
  scheduler.advance(99ms);
  EXPECT_EQ(said, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(all, 0);
  scheduler.advance(1ms);
  EXPECT_EQ(said, (std::vector<std::string>{"1", "2", "b hung"}));
  EXPECT_EQ(all, 1);
  EXPECT_EQ(reads.hung(), 1u);
}

TEST_F(CarefulReadsTest, DoesNotRepeatAHangingRead) {
  ask({hangs("b")});
  scheduler.advance(100ms);
  const size_t jobs = executor.jobs;
  ask({answers("b", "1"), answers("c", "2")});
  scheduler.advance(100ms);
  EXPECT_EQ(executor.jobs, jobs + 1);
  EXPECT_EQ(said, (std::vector<std::string>{"b hung", "b hung", "2"}));
  EXPECT_EQ(all, 2);
}

TEST_F(CarefulReadsTest, SkipsTheRestIfMostReadsHang) {
  std::vector<CarefulReads::Request> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(hangs(std::to_string(i)));
  ask(std::move(requests));
  scheduler.advance(1s);
  EXPECT_EQ(said.size(), 100u);
  EXPECT_LE(executor.hung, 8u) << "workers are shared";
  EXPECT_EQ(all, 1);
}

TEST_F(CarefulReadsTest, ANewerReadReplacesTheWaitingOneAndFollowsTheRunningOne) {
  ask({answers("a", "old"), hangs("x"), hangs("y"), hangs("z"), answers("b", "old b")});
  ask({answers("a", "new"), answers("b", "new b")});
  scheduler.advance(1s);
  EXPECT_EQ(said, (std::vector<std::string>{"old", "new b", "new", "x hung", "y hung", "z hung"}));
  EXPECT_EQ(all, 1);
}

}  // namespace
}  // namespace sliced::hotplug
