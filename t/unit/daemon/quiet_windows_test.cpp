#include "daemon/quiet_windows.h"

#include <gtest/gtest.h>

#include "t/fake/fake_scheduler.h"

namespace sliced::daemon {
namespace {

using namespace std::chrono_literals;

struct SettlingTest : testing::Test {
  SettlingTest() {
    for (const char* id : {"a", "b"}) inventory->devices[id] = {};
  }
  hotplug::InventoryUpdate update(std::vector<std::string> added,
                                  std::vector<std::string> removed = {}) const {
    hotplug::InventoryUpdate out;
    out.now = inventory;
    out.added = std::move(added);
    out.removed = std::move(removed);
    return out;
  }
  using Ids = std::set<std::string>;

  const std::shared_ptr<hotplug::Inventory> inventory = std::make_shared<hotplug::Inventory>();
  int settled = 0;
  fake::FakeScheduler scheduler;
  QuietWindows settling{scheduler, 100ms, 250ms, [this] { ++settled; }};
};

TEST_F(SettlingTest, NewDevicesSettleUntilQuiet) {
  settling.note(update({"a"}), true);
  EXPECT_EQ(settling.of(*inventory), Ids{"a"});
  scheduler.advance(60ms);
  settling.note(update({"a"}), true);
  scheduler.advance(99ms);
  EXPECT_EQ(settling.of(*inventory), Ids{"a"});
  EXPECT_EQ(settled, 0);
  scheduler.advance(1ms);
  EXPECT_EQ(settling.of(*inventory), Ids{});
  EXPECT_EQ(settled, 1);
}

TEST_F(SettlingTest, SettlingIsBounded) {
  for (int i = 0; i < 10; ++i) {
    settling.note(update({"a"}), true);
    scheduler.advance(30ms);
  }
  EXPECT_EQ(settled, 1);
}

TEST_F(SettlingTest, ForgetsRemovedDevices) {
  settling.note(update({"a", "b"}), true);
  settling.note(update({}, {"a"}), true);
  EXPECT_EQ(settling.of(*inventory), Ids{"b"});
  settling.note(update({}, {"b"}), true);
  scheduler.advance(1s);
  EXPECT_EQ(settled, 0);
}

TEST_F(SettlingTest, NothingSettlesBeforeTheFirstDecision) {
  settling.note(update({"a", "b"}), false);
  EXPECT_EQ(settling.of(*inventory), Ids{});
}

}  // namespace
}  // namespace sliced::daemon
