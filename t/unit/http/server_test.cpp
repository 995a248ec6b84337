#include "http/server.h"

#include <unistd.h>

#include <filesystem>

#include "http/client.h"
#include "reactor/net/unix_stream.h"
#include "t/fixture/loop_fixture.h"
#include "t/unit/http/server_world.h"

namespace sliced::http {
namespace {

const std::string kHttp1Get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(ServerTest, TimesOutOnSlowHeads) {
  for (const std::string& bytes :
       {std::string(), std::string("GET /"), std::string("GET / HTTP/1.1\r\nHo")}) {
    ServerWorld world;
    fake::WireEnd& wire = world.connect();
    if (!bytes.empty()) wire.say(bytes);
    for (int second = 0; second < 9; ++second) {
      world.pass(1s);
      if (!bytes.empty()) wire.say("x");
    }
    EXPECT_FALSE(wire.is_ended || wire.is_gone) << bytes;
    world.pass(3s);
    EXPECT_TRUE(wire.is_ended || wire.is_gone) << bytes << ": a byte now and then changes nothing";
    world.pass(3s);
    EXPECT_TRUE(wire.is_gone);
    EXPECT_EQ(world.server->connections(), 0u);
  }
}

// Bytes now and then do not make a place worth more than that of who waits for us.
TEST(ServerTest, EvictsTheLongestWaitingClient) {
  ServerWorld world;
  fake::WireEnd& served = world.connect();
  served.say(kHttp1Get);  // answered when we want
  const auto answer = world.last().response;
  world.pass(1s);
  fake::WireEnd& silent = world.connect();
  world.pass(1s);
  fake::WireEnd& half = world.connect();
  half.say("GET / HT");
  world.pass(1s);
  fake::WireEnd& body = world.connect();
  body.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  world.settle();
  for (fake::WireEnd* wire : {&silent, &half, &body}) {
    EXPECT_FALSE(wire->is_gone);
    EXPECT_TRUE(world.server->make_room());
    EXPECT_TRUE(wire->is_gone) << "and nobody else";
  }
  EXPECT_FALSE(world.server->make_room());
  EXPECT_FALSE(served.is_gone) << "it is our turn there";
  answer->answer(200, "well");
  world.settle();
  EXPECT_TRUE(world.server->make_room()) << "idle";
  EXPECT_TRUE(served.is_gone);
}

TEST(ServerTest, EvictsClientsThatMayHaveLeft) {
  ServerWorld world;
  fake::WireEnd& waits = world.connect();
  waits.say(kHttp1Get);
  fake::WireEnd& closed = world.connect();
  closed.say(kHttp1Get);
  closed.end();
  world.pass(1s);
  fake::WireEnd& ahead = world.connect();
  ahead.say(kHttp1Get + kHttp1Get);
  world.settle();
  for (fake::WireEnd* wire : {&closed, &ahead}) {
    EXPECT_FALSE(wire->is_gone);
    EXPECT_TRUE(world.server->make_room());
    EXPECT_TRUE(wire->is_gone);
  }
  EXPECT_FALSE(world.server->make_room());
  EXPECT_FALSE(waits.is_gone);
}

TEST(ServerTest, IgnoresEmptyLines) {
  ServerWorld world;
  fake::WireEnd& wire = world.connect();
  for (int second = 0; second < 12 && !wire.is_ended; ++second) {
    wire.say("\r\n");
    world.pass(1s);
  }
  EXPECT_TRUE(wire.is_ended);
}

TEST(ServerTest, TimesOutOnSlowRequests) {
  ServerWorld world;
  fake::WireEnd& wire = world.connect();
  wire.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
  for (int second = 0; second < 59; ++second) {
    world.pass(1s);
    wire.say("x");
  }
  EXPECT_FALSE(world.last().loss);
  world.pass(2s);
  ASSERT_TRUE(world.last().loss);
  EXPECT_EQ(world.last().loss->code, Errc::kTimeout);
  EXPECT_TRUE(wire.sent.starts_with("HTTP/1.1 408 "));
}

TEST(ServerTest, ReadsTheRestOfARequestAfterItsAnswer) {
  for (const int seconds : {1, 8, 20}) {
    ServerWorld world;
    fake::WireEnd& wire = world.connect();
    wire.say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
    world.last().response->answer(403, "no");
    world.settle();
    EXPECT_TRUE(wire.is_ended);
    for (int second = 0; second < seconds; ++second) {
      EXPECT_EQ(wire.is_gone, second >= 10) << "a reset would overtake the answer";
      world.pass(1s);
      if (!wire.is_gone) wire.say("x");
    }
    world.pass(1s);
    EXPECT_EQ(wire.is_gone, seconds > 10);
    world.pass(2s);
    EXPECT_TRUE(wire.is_gone) << "nothing comes any more";
  }
}

TEST(ServerTest, ClosesClientsThatDoNotReadAndKeepsSlowReaders) {
  for (const bool reads : {false, true}) {
    ServerWorld world;
    fake::WireEnd& wire = world.connect();
    wire.is_stuck = true;
    wire.say(kHttp1Get);
    world.last().response->send_head({.status = 200});
    world.last().response->send_body(std::string(1 << 20, 'x'));
    world.last().response->finish();
    world.settle();
    EXPECT_LT(wire.sent.size(), 200'000u) << "what nobody takes is not made";
    for (int i = 0; i < 10; ++i) {
      world.pass(20s);
      if (reads && !wire.is_gone) wire.take(2'000);
    }
    EXPECT_EQ(wire.is_gone, !reads);
    EXPECT_EQ(world.last().loss.has_value(), !reads);
    EXPECT_EQ(world.last().what(), reads ? "" : "the client does not read");
  }
}

TEST(ServerTest, NotifiesAHandlerOfRoom) {
  ServerWorld world;
  fake::WireEnd& wire = world.connect();
  wire.is_stuck = true;
  wire.say(kHttp1Get);
  Served& served = world.last();
  served.response->send_head({.status = 200});
  size_t made = 0;
  const auto fill = [&] {
    while (served.response->unsent_bytes() <= kResponseRoom) {
      served.response->send_body(std::string(10'000, 'x'));
      made += 10'000;
    }
  };
  fill();
  served.then = fill;
  world.settle();
  const size_t made_first = made;
  EXPECT_LT(made_first, 500'000u);
  world.pass(5s);
  EXPECT_EQ(made, made_first) << "nobody reads";
  for (int i = 0; i < 20; ++i) {
    wire.take(wire.unsent);
    world.settle();
  }
  EXPECT_GT(made, 1'000'000u);
  EXPECT_GT(served.rooms, 5);
}

TEST(ServerTest, ClosesOnlyIdleConnections) {
  ServerWorld world;
  fake::WireEnd& idle = world.connect();
  fake::WireEnd& busy = world.connect();
  idle.say(kHttp1Get);
  world.last().response->answer(200, "ok");
  busy.say(kHttp1Get);
  world.settle();
  world.pass(119s);
  EXPECT_FALSE(idle.is_ended);
  world.pass(2s);
  EXPECT_TRUE(idle.is_ended);
  EXPECT_FALSE(busy.is_ended) << "its answer is being made";
  world.pass(3s);
  EXPECT_TRUE(idle.is_gone);
  ServerWorld patient({.idle_max = 0ms});
  fake::WireEnd& kept = patient.connect();
  kept.say(kHttp1Get);
  patient.last().response->answer(200, "ok");
  patient.pass(24h);
  EXPECT_FALSE(kept.is_ended);
  EXPECT_EQ(patient.time.next_deadline(), TimePoint::max()) << "and nobody looks after it";
}

TEST(ServerTest, StopsWithItsLastAnswer) {
  ServerWorld world;
  fake::WireEnd& idle = world.connect();
  fake::WireEnd& busy = world.connect();
  idle.say(kHttp1Get);
  world.last().response->answer(200, "ok");
  world.settle();
  busy.say(kHttp1Get);
  bool is_done = false;
  world.server->shut_down(10s, [&] { is_done = true; });
  world.settle();
  EXPECT_TRUE(idle.is_ended);
  idle.end();
  EXPECT_FALSE(busy.is_ended);
  EXPECT_FALSE(is_done);
  world.last().response->answer(200, "last");
  world.settle();
  EXPECT_NE(busy.sent.find("connection: close"), std::string::npos) << busy.sent;
  EXPECT_TRUE(busy.sent.ends_with("last"));
  busy.end();
  world.settle();
  EXPECT_TRUE(is_done);
}

TEST(ServerTest, CutsOpenRequestsAfterTheGracePeriod) {
  ServerWorld world;
  fake::WireEnd& busy = world.connect();
  busy.say(kHttp1Get);
  bool is_done = false;
  world.server->shut_down(10s, [&] { is_done = true; });
  world.pass(9s);
  EXPECT_FALSE(is_done);
  world.pass(1s);
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(busy.is_gone);
  EXPECT_EQ(world.last().what(), "the server stops");
}

TEST(ServerTest, AnswersHaveADate) {
  fake::FakeScheduler time;
  Server server(time,
                [](const RequestHead&, Response& response) {
                  response.send_head({.status = 204, .headers = {{"Date", "of the handler's own"}}});
                  response.finish();
                  return nullptr;
                },
                {.clock = [] { return int64_t{784'111'777}; }});
  const auto wire = std::make_shared<fake::WireEnd>();
  server.take(std::make_unique<fake::FakeWire>(wire), {.name = "test"});
  wire->say(kHttp1Get);
  EXPECT_EQ(wire->sent, "HTTP/1.1 204 No Content\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n");
}

TEST(ServerTest, NotifiesCallsOfTheServersEnd) {
  ServerWorld world;
  fake::WireEnd& wire = world.connect();
  wire.say(kHttp1Get);
  world.server.reset();
  EXPECT_EQ(world.last().what(), "server closed");
  EXPECT_TRUE(world.last().is_over);
  EXPECT_TRUE(wire.is_gone);
}

struct SocketServerTest : fixture::LoopTest {
  Client client_of(const std::string& path) {
    return Client(
        loop.scheduler(),
        [this, path](const reactor::net::Endpoint&, Millis deadline, reactor::net::OnConnected on_connected) {
          return reactor::net::connect_unix(loop, path, deadline, std::move(on_connected));
        },
        [] { return 0.5; });
  }
  static std::shared_ptr<Target> target_of(bool is_http2) {
    auto target = std::make_shared<Target>();
    target->url = {.tls = false, .host = "localhost", .port = 80, .base_path = ""};
    target->has_prior_knowledge = is_http2;
    return target;
  }
};

// A gRPC call with our own client: pieces in both directions at the same time, half-close, trailers.
struct Echo final : Call {
  explicit Echo(Response& response_in) : response(response_in) { response.send_head({.status = 200}); }
  void on_body(std::string_view bytes) override { response.send_body(std::string(bytes)); }
  void on_trailers(const Headers& trailers) override { seen = trailers; }
  void on_end() override { response.finish(seen); }
  Response& response;
  Headers seen;
};

// The whole way, with our own client.
TEST_F(SocketServerTest, AnswersOverAUnixSocket) {
  char name[] = "/tmp/server-test-XXXXXX";
  const std::string root = ::mkdtemp(name), path = root + "/socket";
  Server server(loop.scheduler(), [](const RequestHead& head, Response& response) {
    response.answer(
        200, head.method + " " + head.target + " for uid " + std::to_string(head.from->credentials->uid));
    return nullptr;
  });
  auto listener = reactor::net::listen_unix(loop, path, {}, [&](auto stream, reactor::net::Peer peer) {
                    server.take(std::move(stream), std::move(peer));
                  }).value();
  for (const bool is_http2 : {false, true}) {
    Client client = client_of(path);
    const auto target = target_of(is_http2);
    std::string body, failure;
    bool is_done = false;
    const auto exchange = client.start(target, {.method = "GET", .path = "/x"}, {},
                                       {.on_head = [](const Head& head) { EXPECT_EQ(head.status, 200); },
                                        .on_body = [&](std::string_view bytes) { body += bytes; },
                                        .on_done = [&] { is_done = true; },
                                        .on_failure = [&](const Error& error) { failure = error.what; }});
    ASSERT_TRUE(run_until([&] { return is_done || !failure.empty(); }));
    EXPECT_EQ(failure, "");
    EXPECT_EQ(body, "GET /x for uid " + std::to_string(::getuid()));
  }
  bool is_done = false;
  listener.reset();
  server.shut_down(5s, [&] { is_done = true; });
  EXPECT_TRUE(run_until([&] { return is_done; }));
  std::filesystem::remove_all(root);
}

TEST_F(SocketServerTest, ALargeBodyIsEchoedOverBothVersions) {
  char name[] = "/tmp/server-test-XXXXXX";
  const std::string root = ::mkdtemp(name), path = root + "/socket";
  Server server(loop.scheduler(),
                [](const RequestHead&, Response& response) { return std::make_unique<Echo>(response); });
  auto listener = reactor::net::listen_unix(loop, path, {}, [&](auto stream, reactor::net::Peer peer) {
                    server.take(std::move(stream), std::move(peer));
                  }).value();
  for (const bool is_http2 : {false, true}) {
    Client client = client_of(path);
    const auto target = target_of(is_http2);
    const std::string much(3 << 20, 'x');
    std::string body, failure;
    bool is_done = false;
    const auto exchange = client.start(target, {.method = "POST", .path = "/x", .body = much}, {},
                                       {.on_head = [](const Head&) {},
                                        .on_body = [&](std::string_view bytes) { body += bytes; },
                                        .on_done = [&] { is_done = true; },
                                        .on_failure = [&](const Error& error) { failure = error.what; }});
    ASSERT_TRUE(run_until([&] { return is_done || !failure.empty(); }));
    EXPECT_EQ(failure, "");
    EXPECT_EQ(body, much);
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sliced::http
