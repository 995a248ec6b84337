#include "kubelet/interfaces/keyed_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "t/fake/fake_scheduler.h"

namespace sliced::kubelet {
namespace {

struct TurnsTest : testing::Test {
  void add(const std::string& name, std::set<std::string> keys) {
    turns.add(std::move(keys), [this, name](KeyedQueue::Done done) {
      begun.push_back(name);
      running[name] = std::move(done);
    });
  }
  void end(const std::string& name) {
    running.at(name)();
    running.erase(name);
    scheduler.advance(Millis{1});
  }
  fake::FakeScheduler scheduler;
  KeyedQueue turns{scheduler};
  std::vector<std::string> begun;
  std::map<std::string, KeyedQueue::Done> running;
};

TEST_F(TurnsTest, SerializesWorkWithACommonKey) {
  add("one", {"a", "b"});
  add("two", {"b", "c"});
  add("three", {"c"});
  add("four", {"d"});
  EXPECT_TRUE(begun.empty());
  scheduler.advance(Millis{1});
  EXPECT_EQ(begun, (std::vector<std::string>{"one", "four"})) << "three comes after two, which waits";
  end("one");
  EXPECT_EQ(begun.back(), "two");
  end("four");
  EXPECT_FALSE(turns.idle());
  end("two");
  EXPECT_EQ(begun.back(), "three");
  end("three");
  EXPECT_TRUE(turns.idle());
}

TEST_F(TurnsTest, AGroupSharesAKeyAndRespectsExclusiveWork) {
  const auto add_shared = [&](const std::string& name, const std::string& group) {
    turns.add({},
              [this, name](KeyedQueue::Done done) {
                begun.push_back(name);
                running[name] = std::move(done);
              },
              {{"a", group}});
  };
  add_shared("one", "x"), add_shared("two", "x");
  add("alone", {"a"});
  add_shared("three", "x");
  scheduler.advance(Millis{1});
  EXPECT_EQ(begun, (std::vector<std::string>{"one", "two"}));
  end("one");
  EXPECT_EQ(begun.size(), 2u);
  end("two");
  EXPECT_EQ(begun.back(), "alone");
  add_shared("other", "y");
  end("alone");
  EXPECT_EQ(begun.back(), "three") << "another group waits";
  end("three");
  EXPECT_EQ(begun.back(), "other");
}

TEST_F(TurnsTest, WorkThatEndsImmediatelyStartsTheNext) {
  int count = 0;
  for (int i = 0; i < 3; ++i)
    turns.add({"a"}, [&](const KeyedQueue::Done& done) {
      ++count;
      done();
    });
  scheduler.advance(Millis{1});
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(turns.idle());
}

}  // namespace
}  // namespace sliced::kubelet
