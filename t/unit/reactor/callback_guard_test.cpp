#include "reactor/base/callback_guard.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "reactor/loop.h"
#include "t/fake/fake_scheduler.h"

namespace sliced {
namespace {

class Caller {
 public:
  explicit Caller(bool* destroyed = nullptr) : destroyed_(destroyed) {}
  ~Caller() {
    if (destroyed_ != nullptr) *destroyed_ = true;
  }
  void call(const std::function<void()>& callback) {
    const CallbackGuard::Call running(callbacks_);
    callback();
  }

 private:
  bool* const destroyed_;
  CallbackGuard callbacks_{"Caller"};
};

TEST(CallbackGuard, ADestructionInACallbackEndsTheProcess) {
  auto caller = std::make_unique<Caller>();
  EXPECT_DEATH(caller->call([&] { caller.reset(); }), "destroyed by its own callback: Caller");
}

TEST(CallbackGuard, ADestructionInTheOuterOfTwoCallsEndsTheProcess) {
  auto caller = std::make_unique<Caller>();
  const auto nested = [&] {
    caller->call([&] {
      caller->call([] {});
      caller.reset();
    });
  };
  EXPECT_DEATH(nested(), "destroyed by its own callback: Caller");
}

TEST(CallbackGuard, AllowsDestructionOnTheNextTurn) {
  reactor::Loop loop;
  bool destroyed = false;
  auto caller = std::make_unique<Caller>(&destroyed);
  caller->call([&] { loop.scheduler().destroy_later(std::move(caller)); });
  EXPECT_FALSE(destroyed);
  loop.turn(Millis{0});
  EXPECT_TRUE(destroyed);
}

TEST(CallbackGuard, TheLoopDestroysDeferredObjectsAtItsEnd) {
  bool destroyed = false;
  {
    reactor::Loop loop;
    loop.scheduler().destroy_later(std::make_unique<Caller>(&destroyed));
  }
  EXPECT_TRUE(destroyed);
}

TEST(CallbackGuard, TheSteppedSchedulerDestroysWithTheNextStep) {
  fake::FakeScheduler scheduler;
  bool destroyed = false;
  scheduler.destroy_later(std::make_unique<Caller>(&destroyed));
  EXPECT_FALSE(destroyed);
  scheduler.advance(Millis{0});
  EXPECT_TRUE(destroyed);
}

}  // namespace
}  // namespace sliced
