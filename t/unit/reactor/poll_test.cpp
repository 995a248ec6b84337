#include "reactor/poll.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "t/fixture/loop_fixture.h"

namespace sliced::reactor {
namespace {

using namespace std::chrono_literals;

struct PollTest : fixture::LoopTest {
  PollTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0); }
  ~PollTest() override {
    for (const int end : fd)
      if (end >= 0) ::close(end);
  }
  int fd[2];
};

TEST_F(PollTest, ReportsReadableWritableAndHangup) {
  Poll::Ready seen;
  auto poll = Poll::open(loop, fd[0], [&](Poll::Ready ready) { seen = ready; }).value();
  handle_ready();
  EXPECT_FALSE(seen.readable || seen.writable) << "no interest, no call";
  poll->interest(false, true);
  ASSERT_TRUE(run_until([&] { return seen.writable; }));
  seen = {};
  poll->interest(true, false);
  handle_ready();
  EXPECT_FALSE(seen.readable || seen.writable);
  ASSERT_EQ(::write(fd[1], "x", 1), 1);
  ASSERT_TRUE(run_until([&] { return seen.readable; }));
  EXPECT_FALSE(seen.hung_up);
  ::close(std::exchange(fd[1], -1));
  EXPECT_TRUE(run_until([&] { return seen.hung_up; }));
}

TEST_F(PollTest, ARegularFileCannotBePolled) {
  FILE* file = std::tmpfile();
  const auto poll = Poll::open(loop, fileno(file), [](Poll::Ready) {});
  ASSERT_FALSE(poll);
  EXPECT_NE(poll.error().what.find("poll descriptor"), std::string::npos) << poll.error().what;
  std::fclose(file);
}

TEST_F(PollTest, MustNotBeDestroyedByItsCallback) {
  const auto destroy = [this] {
    Loop own;
    std::unique_ptr<Poll> poll;
    poll = Poll::open(own, fd[0], [&](Poll::Ready) { poll.reset(); }).value();
    poll->interest(true, true);
    own.turn(1s);
  };
  EXPECT_DEATH(destroy(), "destroyed by its own callback: Poll");
}

// libuv stops watching a descriptor that has an error pending, but the error may pass: a netlink socket that
// overflowed lives on. Here a datagram that found no receiver makes the error.
TEST_F(PollTest, ContinuesAfterAPendingError) {
  const auto bound = [](sockaddr_in& address) {
    const int made = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(::bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(getsockname(made, reinterpret_cast<sockaddr*>(&address), &size), 0);
    return made;
  };
  sockaddr_in ours, theirs;
  const int socket = bound(ours);
  ::close(bound(theirs));  // a port without a listener
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&theirs), sizeof theirs), 0);

  bool failed = false;
  int error = 0;
  std::string got;
  auto poll = Poll::open(loop, socket, [&](Poll::Ready ready) {
                char space[16];
                const ssize_t size = ::recv(socket, space, sizeof space, 0);
                if (size > 0) got.assign(space, static_cast<size_t>(size));
                if (size < 0 && ready.failed) failed = true, error = errno;
              }).value();
  poll->interest(true, false);
  ASSERT_EQ(::send(socket, "x", 1, 0), 1);
  ASSERT_TRUE(run_until([&] { return failed; }));
  EXPECT_EQ(error, ECONNREFUSED);

  const int peer = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(peer, reinterpret_cast<sockaddr*>(&theirs), sizeof theirs), 0);
  ASSERT_EQ(::sendto(peer, "alive", 5, 0, reinterpret_cast<sockaddr*>(&ours), sizeof ours), 5);
  EXPECT_TRUE(run_until([&] { return got == "alive"; }));
  poll.reset();
  ::close(peer);
  ::close(socket);
}

}  // namespace
}  // namespace sliced::reactor
