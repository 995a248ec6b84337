#include "reactor/net/tcp_stream.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include "reactor/thread_executor.h"
#include "t/fake/tcp_server.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace {

using namespace std::chrono_literals;
using fake::TcpServer;
using Outcome = Result<std::unique_ptr<ByteStream>>;

// Name lookups that never end.
class HungLookups final : public Executor {
 public:
  std::unique_ptr<Job> run(Work, Millis, Done) override {
    ++jobs;
    return std::make_unique<Job>();
  }
  int jobs = 0;
};

struct Receiver {
  std::string data;
  bool ended = false;
  std::optional<Error> error;
  StreamEvents events() {
    return {.on_data = [this](std::string_view bytes) { data += bytes; },
            .on_end = [this] { ended = true; },
            .on_error = [this](Error got) { error = std::move(got); }};
  }
};

struct TcpStreamTest : fixture::LoopTest {
  Outcome connect(Executor& executor, const std::string& host, uint16_t port,
                  Millis deadline = fixture::patience()) {
    std::optional<Outcome> outcome;
    const auto connecting =
        connect_tcp(loop, executor, {host, port}, deadline, [&](Outcome got) { outcome = std::move(got); });
    EXPECT_FALSE(outcome) << "not from within connect_tcp()";
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return std::move(*outcome);
  }
  Outcome connect(const TcpServer& server) { return connect(no_lookup, "127.0.0.1", server.port()); }
  HungLookups no_lookup;
};

TEST_F(TcpStreamTest, CarriesBytesBothWaysAndEndsOnBothSides) {
  TcpServer server(loop, [](TcpServer::Connection& client) {
    if (client.received == "ping") client.received.clear(), client.send("pong");
    if (client.peer_ended) client.send("last"), client.close();
  });
  auto stream = connect(server);
  ASSERT_TRUE(stream) << stream.error().what;
  EXPECT_EQ(no_lookup.jobs, 0) << "an address needs no lookup";
  Receiver got;
  (*stream)->receive(got.events());
  (*stream)->write("pi");
  (*stream)->write("");
  (*stream)->write("ng");
  EXPECT_TRUE(run_until([&] { return got.data == "pong"; }));
  EXPECT_FALSE(got.ended);
  (*stream)->close();
  (*stream)->write("ignored");
  EXPECT_TRUE(run_until([&] { return got.ended; }));
  EXPECT_EQ(got.data, "ponglast") << "closing our half leaves theirs";
  EXPECT_FALSE(got.error);
  EXPECT_EQ(server.connection(0).received, "");
}

TEST_F(TcpStreamTest, SetsSocketOptions) {
  TcpServer server(loop);
  auto stream = connect(server);
  ASSERT_TRUE(stream);
  // The client's descriptor is the one connected to the server's port.
  int found = 0;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || peer.sin_family != AF_INET ||
        ntohs(peer.sin_port) != server.port())
      continue;
    ++found;
    const auto option = [&](int level, int name) {
      int value = 0;
      socklen_t length = sizeof value;
      EXPECT_EQ(getsockopt(fd, level, name, &value, &length), 0);
      return value;
    };
    EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 40'000);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(TcpStreamTest, RefusalNamesHostPortAndAddress) {
  uint16_t port = 0;
  {
    port = TcpServer(loop).port();
  }
  const auto stream = connect(no_lookup, "127.0.0.1", port);
  ASSERT_FALSE(stream);
  const std::string at = "127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(stream.error(), (Error{Errc::kIo, "connect " + at + ": 127.0.0.1: connection refused"}));
}

TEST_F(TcpStreamTest, TriesAllAddressesOfAName) {
  TcpServer server(loop);
  ThreadExecutor executor(loop);
  const auto stream = connect(executor, "localhost", server.port());
  EXPECT_TRUE(stream) << "::1 refuses where it exists, 127.0.0.1 answers: " << stream.error().what;
}

TEST_F(TcpStreamTest, AnUnknownNameIsNotFound) {
  ThreadExecutor executor(loop);
  const auto stream = connect(executor, "no such name!", 1);
  ASSERT_FALSE(stream);
  EXPECT_NE(stream.error().what.find("connect no such name!:1: name lookup: "), std::string::npos)
      << stream.error().what;
}

TEST_F(TcpStreamTest, BadNamesAreRefusedWithoutALookup) {
  for (const std::string& host : {std::string(), std::string("a\0b", 3)}) {
    const auto stream = connect(no_lookup, host, 1);
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().code, Errc::kInvalid);
  }
  EXPECT_EQ(no_lookup.jobs, 0);
}

TEST_F(TcpStreamTest, AHungLookupEndsAtTheDeadline) {
  HungLookups hangs;
  const auto stream = connect(hangs, "some-name", 443, 100ms);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error(),
            (Error{Errc::kTimeout, "connect some-name:443: name lookup: no answer within 100 ms"}));
}

TEST_F(TcpStreamTest, ASilentServerEndsAtTheDeadline) {
  // A listener whose backlog is full answers no more SYNs.
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::vector<int> fillers;
  for (int i = 0; i < 4; ++i) {
    fillers.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fillers.back(), reinterpret_cast<sockaddr*>(&address), size);
  }
  const auto started = Clock::now();
  const auto stream = connect(no_lookup, "127.0.0.1", ntohs(address.sin_port), 200ms);
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, Errc::kTimeout);
  EXPECT_NE(stream.error().what.find("127.0.0.1: no answer within 200 ms"), std::string::npos)
      << stream.error().what;
  EXPECT_GE(Clock::now() - started, 200ms);
  for (const int fd : fillers) ::close(fd);
  ::close(listener);
}

TEST_F(TcpStreamTest, DroppingTheAttemptCancelsAtEveryStage) {
  TcpServer server(loop);
  for (int turns = 0; turns < 8; ++turns) {
    bool called = false;
    auto connecting = connect_tcp(loop, no_lookup, {"127.0.0.1", server.port()}, fixture::patience(),
                                  [&](Outcome) { called = true; });
    for (int i = 0; i < turns && !called; ++i) loop.turn(0ms);
    if (called) break;
    connecting.reset();
    EXPECT_TRUE(connect(server)) << "one that began later";
    EXPECT_FALSE(called);
  }
}

TEST_F(TcpStreamTest, ReportsAResetOnce) {
  TcpServer server(loop);
  auto stream = connect(server);
  ASSERT_TRUE(stream);
  int errors = 0;
  std::string text;
  (*stream)->receive({.on_error = [&](Error error) { ++errors, text = error.what; }});
  ASSERT_TRUE(run_until([&] { return server.count() == 1; }));
  server.connection(0).reset();
  EXPECT_TRUE(run_until([&] { return errors == 1; }));
  EXPECT_NE(text.find("127.0.0.1:"), std::string::npos) << text;
  (*stream)->write("into the void");
  (*stream)->close();
  handle_ready();
  EXPECT_EQ(errors, 1);
}

TEST_F(TcpStreamTest, ReadsDataThatArrivedBeforeAFailedWrite) {
  TcpServer server(loop, [](TcpServer::Connection& client) {
    if (client.received.empty()) client.send("no, thank you");
  });
  auto stream = connect(server);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(run_until([&] { return server.count() == 1; }));
  server.connection(0).reset();
  Receiver got;
  (*stream)->write("into the void");
  (*stream)->receive(got.events());
  EXPECT_TRUE(run_until([&] { return got.error.has_value(); }));
  EXPECT_EQ(got.data, "no, thank you");
}

TEST_F(TcpStreamTest, PausingSlowsThePeer) {
  const std::string much(8 << 20, 'x');
  TcpServer server(loop);
  auto stream = connect(server);
  ASSERT_TRUE(stream);
  Receiver got;
  (*stream)->receive(got.events());
  (*stream)->pause();
  ASSERT_TRUE(run_until([&] { return server.count() == 1; }));
  server.connection(0).send(much);
  handle_ready();
  EXPECT_EQ(got.data.size(), 0u);
  (*stream)->resume();
  ASSERT_TRUE(run_until([&] { return got.data.size() > 0; }));
  (*stream)->pause();
  const size_t so_far = got.data.size();
  EXPECT_LT(so_far, much.size());
  handle_ready();
  EXPECT_EQ(got.data.size(), so_far);
  (*stream)->resume();
  EXPECT_TRUE(run_until([&] { return got.data == much; }));
}

TEST_F(TcpStreamTest, CountsUnsentBytesAndDeliversThem) {
  const std::string much(8 << 20, 'x');
  TcpServer server(loop);
  auto stream = connect(server);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(run_until([&] { return server.count() == 1; }));
  server.connection(0).deaf(true);
  (*stream)->write(much);
  (*stream)->close();
  EXPECT_GT((*stream)->unsent_bytes(), 0u);
  server.connection(0).deaf(false);
  EXPECT_TRUE(run_until([&] { return server.connection(0).peer_ended; }));
  EXPECT_EQ(server.connection(0).received.size(), much.size());
  EXPECT_EQ((*stream)->unsent_bytes(), 0u);
}

TEST_F(TcpStreamTest, MayBeDestroyedByEachOfItsCallbacks) {
  TcpServer server(loop);
  for (int which = 0; which < 3; ++which) {
    auto stream = connect(server).value();
    ASSERT_TRUE(run_until([&] { return server.count() == static_cast<size_t>(which) + 1; }));
    const auto drop = [&, canary = std::make_shared<int>(7)] {
      stream.reset();
      EXPECT_EQ(*canary, 7);
    };
    stream->receive({.on_data = [drop](std::string_view) { drop(); },
                     .on_end = drop,
                     .on_error = [drop](Error) { drop(); }});
    stream->write("left unread");
    if (which == 0) server.connection(0).send("data");
    if (which == 1) server.connection(1).close();
    if (which == 2) server.connection(2).reset();
    EXPECT_TRUE(run_until([&] { return stream == nullptr; })) << which;
  }
}

TEST_F(TcpStreamTest, MayBeDestroyedDuringWrites) {
  TcpServer server(loop);
  auto stream = connect(server).value();
  stream->write(std::string(8 << 20, 'x'));
  stream->write("more");
  stream->close();
  stream.reset();
  handle_ready();
}

TEST_F(TcpStreamTest, AReceiverMayBeReplacedFromWithin) {
  TcpServer server(loop);
  auto stream = connect(server).value();
  Receiver second;
  std::string first;
  stream->receive({.on_data = [&, canary = std::make_shared<int>(7)](std::string_view bytes) {
    stream->receive(second.events());
    first += bytes;
    EXPECT_EQ(*canary, 7);
  }});
  ASSERT_TRUE(run_until([&] { return server.count() == 1; }));
  server.connection(0).send("one");
  ASSERT_TRUE(run_until([&] { return first == "one"; }));
  server.connection(0).send("two");
  EXPECT_TRUE(run_until([&] { return second.data == "two"; }));
  EXPECT_EQ(first, "one");
}

}  // namespace
}  // namespace sliced::reactor::net
