#include "reactor/semaphore.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "t/fake/fake_scheduler.h"

namespace sliced::reactor {
namespace semaphore_test {
namespace {

struct SemaphoreTest : testing::Test {
  // A holder that records its start, and keeps its permit.
  Semaphore::PermitPtr acquire(const std::string& name) {
    return semaphore->acquire([this, name] { begun.push_back(name); });
  }
  void turn() { scheduler.advance(Millis{1}); }

  fake::FakeScheduler scheduler;
  std::optional<Semaphore> semaphore{std::in_place, scheduler, 2};
  std::vector<std::string> begun;
};

using Names = std::vector<std::string>;

TEST_F(SemaphoreTest, AdmitsTheLimitAndQueuesTheOthers) {
  std::vector<Semaphore::PermitPtr> all;
  for (const char* name : {"a", "b", "c", "d", "e"}) all.push_back(acquire(name));
  EXPECT_TRUE(begun.empty()) << "not from within acquire()";
  turn();
  EXPECT_EQ(begun, (Names{"a", "b"}));
  EXPECT_EQ(semaphore->in_use(), 2u);
  EXPECT_EQ(semaphore->waiting(), 3u);
  all[1].reset();
  EXPECT_EQ(begun.size(), 2u) << "not from within the end of another";
  turn();
  EXPECT_EQ(begun, (Names{"a", "b", "c"}));
  all[3].reset();  // waits no more
  all[0].reset(), all[2].reset();
  turn();
  EXPECT_EQ(begun, (Names{"a", "b", "c", "e"}));
  all.clear();
  EXPECT_EQ(semaphore->in_use() + semaphore->waiting(), 0u);
}

TEST_F(SemaphoreTest, APermitReleasedImmediatelyStartsTheNextWaiter) {
  std::vector<Semaphore::PermitPtr> all(4);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = semaphore->acquire([&, i] {
      begun.push_back(std::to_string(i));
      all[i].reset();
    });
  turn();
  EXPECT_EQ(begun, (Names{"0", "1", "2", "3"}));
  EXPECT_EQ(semaphore->in_use(), 0u);
}

TEST_F(SemaphoreTest, StartsNoWaiterAfterItsDestruction) {
  const auto in = acquire("a");
  turn();
  std::vector<Semaphore::PermitPtr> waiting;
  waiting.push_back(acquire("b"));
  waiting.push_back(semaphore->acquire([this] { semaphore.reset(); }));
  waiting.push_back(acquire("c"));
  waiting[0].reset();
  turn();
  EXPECT_FALSE(semaphore) << "from within";
  turn();
  EXPECT_EQ(begun, Names{"a"});
}

// As work does that is held by nothing but what it waits for. Red when its Permit goes while the queue that holds it is torn
// down.
TEST_F(SemaphoreTest, AWaiterMayOwnItsPermit) {
  for (int i = 0; i < 8; ++i) {
    const auto own = std::make_shared<Semaphore::PermitPtr>();
    *own = semaphore->acquire([this, own] { begun.push_back("one that owns itself"); });
  }
  EXPECT_EQ(semaphore->waiting(), 8u);
  semaphore.reset();
  turn();
  EXPECT_TRUE(begun.empty());
}

}  // namespace
}  // namespace semaphore_test
}  // namespace sliced::reactor
