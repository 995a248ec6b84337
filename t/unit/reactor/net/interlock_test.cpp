#include "reactor/net/interlock.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "reactor/net/unix_socket.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace {

using namespace std::chrono_literals;

struct Lines final : Log {
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) override {
    std::string text = level == Level::kWarning ? "warning: " : "";
    text += message;
    for (const Field& field : fields) text += " " + std::string(field.key) + "=" + field.value;
    all.push_back(text);
  }
  std::vector<std::string> all;
};

struct InterlockTest : fixture::LoopTest {
  std::string name = interlock_name("test-driver", "node-" + std::to_string(::getpid()));
  Lines log;
};

TEST(InterlockName, FitsASocketAddressAndStaysDistinct) {
  EXPECT_EQ(interlock_name("sriov.example.com", "node-a"), "sliced/sriov.example.com/node-a");
  const std::string node(252, 'n');
  EXPECT_EQ(interlock_name("driver", node + "a").size(), 107u);
  EXPECT_NE(interlock_name("driver", node + "a"), interlock_name("driver", node + "b"));
}

TEST_F(InterlockTest, TheFirstHasItAndTheSecondWaitsForItsEnd) {
  bool first_has = false, second_has = false;
  auto first = std::make_unique<Interlock>(loop, log, name, [&] { first_has = true; });
  EXPECT_FALSE(first_has) << "not from the constructor";
  ASSERT_TRUE(run_until([&] { return first_has; }));
  EXPECT_TRUE(first->acquired());
  Interlock second(loop, log, name, [&] { second_has = true; });
  run_for(50ms);
  EXPECT_FALSE(second_has);
  EXPECT_EQ(log.all, std::vector<std::string>{
                         "another instance is active for this driver and node; waiting until it ends name=" +
                         name + " pid=" + std::to_string(::getpid())});
  const auto released = Clock::now();
  first.reset();
  ASSERT_TRUE(run_until([&] { return second_has; }));
  EXPECT_LT(Clock::now() - released, 1s);
}

TEST_F(InterlockTest, ManyWaitersTakeTurns) {
  int holders = 0, most = 0, turns = 0;
  std::vector<std::unique_ptr<Interlock>> all(8);
  for (auto& one : all)
    one = std::make_unique<Interlock>(loop, log, name, [&] {
      most = std::max(most, ++holders);
      ++turns;
    });
  while (turns < 8) {
    const int before = turns;
    ASSERT_TRUE(run_until([&] { return turns > before || turns == 8 || holders > 0; }));
    for (auto& one : all)
      if (one && one->acquired()) one.reset(), --holders;
  }
  EXPECT_EQ(most, 1);
}

TEST_F(InterlockTest, OtherNamesAreOtherLocks) {
  int has = 0;
  Interlock first(loop, log, name, [&] { ++has; });
  Interlock second(loop, log, name + "x", [&] { ++has; });
  EXPECT_TRUE(run_until([&] { return has == 2; }));
}

TEST_F(InterlockTest, AKilledHolderFreesIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const Descriptor socket = unix_socket();
    const UnixAddress address = unix_address(std::string(1, '\0') + name).value();
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size) == 0 &&
        ::listen(socket.get(), 8) == 0 && ::write(ready[1], "x", 1) == 1)
      for (;;) ::pause();
    ::_exit(1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  bool has = false;
  Interlock waiting(loop, log, name, [&] { has = true; });
  run_for(50ms);
  EXPECT_FALSE(has);
  ::kill(holder, SIGKILL);
  EXPECT_TRUE(run_until([&] { return has; }));
  ::waitpid(holder, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

// Runs where the tests run as root, who alone can make a holder of another uid.
TEST_F(InterlockTest, AHolderOfAnotherUserIsIgnoredWithAWarning) {
  const Descriptor socket = unix_socket();
  const UnixAddress address = unix_address(std::string(1, '\0') + name).value();
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size), 0);
  // The credentials a client sees are those at the time of listen().
  const uid_t own = ::geteuid();
  if (own == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  ASSERT_EQ(::listen(socket.get(), 8), 0);
  if (own == 0) {
    ASSERT_EQ(::seteuid(own), 0);
  }
  bool has = false;
  Interlock ours(loop, log, name, [&] { has = true; });
  if (own == 0) {
    EXPECT_TRUE(run_until([&] { return has; }));
    ASSERT_EQ(log.all.size(), 1u);
    EXPECT_EQ(log.all[0], "warning: another user's process holds the interlock; ignoring it name=" + name +
                              " pid=" + std::to_string(::getpid()) + " uid=65534");
  } else {
    run_for(100ms);
    EXPECT_FALSE(has) << "our own uid is waited for";
  }
}

TEST_F(InterlockTest, MayBeDestroyedByItsCallback) {
  std::unique_ptr<Interlock> lock;
  lock = std::make_unique<Interlock>(loop, log, name, [&, canary = std::make_shared<int>(7)] {
    lock.reset();
    EXPECT_EQ(*canary, 7);
  });
  EXPECT_TRUE(run_until([&] { return lock == nullptr; }));
}

TEST_F(InterlockTest, ANameThatIsTooLongIsSaidOnce) {
  Interlock lock(loop, log, std::string(200, 'x'), [] { ADD_FAILURE() << "acquired"; });
  ASSERT_TRUE(run_until([&] { return !log.all.empty(); }));
  EXPECT_NE(log.all[0].find("1 to 107 bytes"), std::string::npos) << log.all[0];
}

}  // namespace
}  // namespace sliced::reactor::net
