#include "http/client.h"

#include "t/fake/http2_frames.h"
#include "t/unit/http/client_fixture.h"

namespace sliced::http {
namespace {

using fake::chunk;
using fake::http_response;
using fake::SeenRequest;
using Connection = fake::TcpServer::Connection;

struct ClientTest : fixture::LoopTest, testing::WithParamInterface<Wire> {};
INSTANTIATE_TEST_SUITE_P(Wires, ClientTest, testing::Values(Wire::kPlain, Wire::kTls),
                         [](const auto& info) { return info.param == Wire::kTls ? "Tls" : "Plain"; });

void answer_ok(const SeenRequest& request, Connection& to) {
  to.send(http_response(200, "you asked " + request.target));
}

TEST_P(ClientTest, ReusesAConnectionForSequentialRequests) {
  ClientWorld world(*this, GetParam(), answer_ok);
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = world.fetch();
    EXPECT_EQ(outcome.status, 200);
    EXPECT_EQ(outcome.body, "you asked /x") << outcome.what();
  }
  EXPECT_EQ(world.server.connections(), 1u);
  EXPECT_EQ(world.client.idle_connections(), 1u);
  EXPECT_EQ(world.server.requests[0].header("host"), "127.0.0.1:" + std::to_string(world.server.port()));
}

TEST_P(ClientTest, ConcurrentRequestsUseSeparateConnections) {
  ClientWorld world(*this, GetParam(), answer_ok, {.exchanges_max = 8, .idle_max = 2, .idle_timeout = 60s});
  std::vector<Outcome> outcomes(5);
  std::vector<ExchangePtr> calls;
  for (Outcome& outcome : outcomes) calls.push_back(world.get(outcome));
  ASSERT_TRUE(world.run_until(
      [&] { return std::all_of(outcomes.begin(), outcomes.end(), [](auto& o) { return o.done; }); }));
  EXPECT_EQ(world.server.connections(), 5u);
  EXPECT_EQ(world.client.idle_connections(), 2u) << "the pool is bounded";
}

TEST_P(ClientTest, RefusesTooManyConcurrentRequests) {
  ClientWorld world(*this, GetParam(), [](const SeenRequest&, Connection&) {},
                    {.exchanges_max = 2, .idle_max = 2, .idle_timeout = 60s});
  std::vector<Outcome> outcomes(3);
  std::vector<ExchangePtr> calls;
  for (Outcome& outcome : outcomes) calls.push_back(world.get(outcome));
  ASSERT_TRUE(world.run_until([&] { return outcomes[2].ended(); }));
  EXPECT_EQ(outcomes[2].failure->code, Errc::kBusy);
  calls.clear();
  Outcome later;
  world.server.on_request_ = answer_ok;
  const ExchangePtr call = world.get(later);
  ASSERT_TRUE(world.run_until([&] { return later.ended(); }));
  EXPECT_TRUE(later.done) << later.what();
}

TEST_P(ClientTest, AResponseTruncatedAtAnyByteIsAFailure) {
  const std::string responses[] = {http_response(200, "hello", "X-A: b\r\n"),
                                   fake::chunked_head() + chunk("hel") + chunk("lo") + fake::last_chunk()};
  for (const std::string& response : responses)
    for (size_t cut = 0; cut <= response.size(); ++cut)
      for (const int manner : {0, 1, 2}) {
        ClientWorld world(*this, GetParam(), [&](const SeenRequest&, Connection& to) {
          to.send(response.substr(0, cut));
          if (manner == 0) to.close();
          if (manner == 1) to.cut();
          if (manner == 2 && cut < response.size()) to.reset();
        });
        const Outcome outcome = world.fetch();
        const std::string where = "cut at " + std::to_string(cut) + ", manner " + std::to_string(manner);
        EXPECT_EQ(outcome.done, cut == response.size()) << where << ": " << outcome.what();
        if (outcome.done) {
          EXPECT_EQ(outcome.body, "hello") << where;
        } else {
          EXPECT_EQ(outcome.failure->code, Errc::kIo) << where << ": " << outcome.what();
        }
        EXPECT_EQ(world.server.requests.size(), 1u) << "a fresh connection is no reason to repeat";
      }
}

// Without a length the end of the stream is the end of the body; only TLS can tell that from a cut.
TEST_P(ClientTest, ReadsABodyUntilTheEndOfTheConnection) {
  bool proper = true;
  ClientWorld world(*this, GetParam(), [&](const SeenRequest&, Connection& to) {
    to.send("HTTP/1.1 200 OK\r\n\r\nall of it");
    proper ? to.close() : to.cut();
  });
  Outcome outcome = world.fetch();
  EXPECT_TRUE(outcome.done) << outcome.what();
  EXPECT_EQ(outcome.body, "all of it");
  proper = false;
  outcome = world.fetch();
  EXPECT_EQ(outcome.done, GetParam() == Wire::kPlain) << "half a TLS close is a cut";
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST_P(ClientTest, ReplacesADeadReusedConnectionOnce) {
  size_t rude_until = 1;  // connections below this number are closed by their second request
  std::vector<size_t> asked;
  ClientWorld world(*this, GetParam(), [&](const SeenRequest& request, Connection& to) {
    asked.resize(std::max(asked.size(), request.connection + 1));
    if (++asked[request.connection] > 1 && request.connection < rude_until) return to.reset();
    answer_ok(request, to);
  });
  EXPECT_TRUE(world.fetch().done);
  Outcome outcome = world.fetch({.repeatable = true});
  EXPECT_TRUE(outcome.done) << outcome.what();
  EXPECT_EQ(outcome.heads, 1);
  EXPECT_EQ(world.server.connections(), 2u);

  rude_until = 2;
  outcome = world.fetch({.repeatable = false});
  ASSERT_TRUE(outcome.failure) << "what must not happen twice is not sent twice";
  EXPECT_EQ(outcome.failure->code, Errc::kIo);
  EXPECT_EQ(world.server.requests.size(), 4u);
}

TEST_P(ClientTest, DoesNotRetryADeadNewConnection) {
  ClientWorld world(*this, GetParam(), answer_ok);
  EXPECT_TRUE(world.fetch().done);
  world.server.on_request_ = [](const SeenRequest&, Connection& to) { to.reset(); };
  const Outcome outcome = world.fetch({.repeatable = true});
  EXPECT_TRUE(outcome.failure);
  EXPECT_EQ(world.server.requests.size(), 3u) << "once on the kept connection, once on a new one";
}

TEST_P(ClientTest, DoesNotRetryAfterTheFirstByteOfAResponse) {
  ClientWorld world(*this, GetParam(), answer_ok);
  EXPECT_TRUE(world.fetch().done);
  world.server.on_request_ = [](const SeenRequest&, Connection& to) {
    to.send("H");
    to.close();
  };
  EXPECT_TRUE(world.fetch({.repeatable = true}).failure);
  EXPECT_EQ(world.server.requests.size(), 2u);
}

TEST_P(ClientTest, IdleConnectionsEndByServerOrTimeout) {
  for (const int manner : {0, 1, 2, 3, 4}) {
    ClientWorld world(*this, GetParam(), answer_ok);
    EXPECT_TRUE(world.fetch().done);
    ASSERT_EQ(world.client.idle_connections(), 1u);
    Connection& idle = world.server.tcp().connection(0);
    if (manner == 0) idle.close();
    if (manner == 1) idle.cut();
    if (manner == 2) idle.reset();
    if (manner == 3) idle.send("HTTP/1.1 408 Request Timeout\r\n\r\n");
    if (manner == 4) world.time.advance(60s);
    EXPECT_TRUE(world.run_until([&] { return world.client.idle_connections() == 0; })) << manner;
    EXPECT_TRUE(world.fetch().done);
    EXPECT_EQ(world.server.connections(), 2u) << manner;
  }
}

TEST_P(ClientTest, ClosesAConnectionWithBytesAfterAResponse) {
  ClientWorld world(*this, GetParam(), [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, "a") + "HTTP/1.1");
  });
  EXPECT_EQ(world.fetch().body, "a");
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST_P(ClientTest, HonoursConnectionClose) {
  ClientWorld world(*this, GetParam(), [](const SeenRequest&, Connection& to) {
    to.send(http_response(200, "a", "Connection: close\r\n"));
  });
  EXPECT_TRUE(world.fetch().done);
  EXPECT_TRUE(world.fetch().done);
  EXPECT_EQ(world.server.connections(), 2u);
}

TEST_P(ClientTest, ClosesAfterAnAnswerThatPrecedesTheWholeRequest) {
  ClientWorld world(*this, GetParam(), answer_ok);
  EXPECT_TRUE(world.fetch().done);
  Connection& connection = world.server.tcp().connection(0);
  connection.deaf(true);
  Outcome outcome;
  const ExchangePtr call =
      world.send({.method = "POST", .path = "/x", .body = std::string(16 << 20, 'x')}, outcome);
  world.settle();
  connection.send(http_response(413, "too much"));
  ASSERT_TRUE(world.run_until([&] { return outcome.ended(); }));
  EXPECT_EQ(outcome.status, 413) << outcome.what();
  EXPECT_EQ(world.client.idle_connections(), 0u);
}

TEST_P(ClientTest, ANewTargetHasNewConnections) {
  ClientWorld world(*this, GetParam(), answer_ok);
  EXPECT_TRUE(world.fetch().done);
  world.target = world.make_target(GetParam());  // the same address, but another certificate or trust
  EXPECT_TRUE(world.fetch().done);
  EXPECT_EQ(world.server.connections(), 2u);
  EXPECT_EQ(world.client.idle_connections(), 1u) << "the old one is closed";
}

TEST_P(ClientTest, GarbageAndExcessAreFailures) {
  const struct {
    std::string bytes;
    Errc code;
    const char* words;
  } rows[] = {
      {"\x15\x03\x01\x00\x02\x02\x0a", Errc::kIo, "not an HTTP response"},
      {"SSH-2.0-OpenSSH_9.2\r\n", Errc::kIo, "not an HTTP response"},
      {"HTTP/1.1 200 OK\nContent-Length: 0\n\n", Errc::kIo, "not an HTTP response"},
      {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", Errc::kIo,
       "switched protocols"},
      {"HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'a'), Errc::kTooLarge,
       "headers are larger than 65536"},
      {http_response(200, std::string(1001, 'a')), Errc::kTooLarge, "body is larger than 1000"},
      {fake::chunked_head() + chunk(std::string(600, 'a')) + chunk(std::string(600, 'a')), Errc::kTooLarge,
       "larger than 1000"},
  };
  for (const auto& row : rows) {
    ClientWorld world(*this, GetParam(), [&](const SeenRequest&, Connection& to) { to.send(row.bytes); });
    const Outcome outcome = world.fetch({.limits = {.body_bytes_max = 1000}});
    ASSERT_TRUE(outcome.failure) << row.words;
    EXPECT_EQ(outcome.failure->code, row.code) << outcome.what();
    EXPECT_NE(outcome.what().find(row.words), std::string::npos) << outcome.what();
    EXPECT_EQ(outcome.what().find(encode_url(world.target->url)), 0u)
        << "the server is named: " << outcome.what();
  }
}

TEST_P(ClientTest, ARedirectIsAResponse) {
  ClientWorld world(*this, GetParam(), [](const SeenRequest&, Connection& to) {
    to.send(http_response(302, "", "Location: /y\r\n"));
  });
  const Outcome outcome = world.fetch();
  EXPECT_EQ(outcome.status, 302);
  EXPECT_EQ(world.server.requests.size(), 1u);
}

TEST_P(ClientTest, TimesOutOnAHeadThatDrips) {
  ClientWorld world(*this, GetParam(),
                    [](const SeenRequest&, Connection& to) { to.send("HTTP/1.1 200 OK\r\n"); });
  Outcome outcome;
  const ExchangePtr call = world.get(outcome);
  ASSERT_TRUE(world.run_until([&] { return world.server.requests.size() == 1; }));
  for (int second = 0; second < 29; ++second) {
    world.time.advance(1s);
    world.server.tcp().connection(0).send("X-Drip: y\r\n");
    world.settle();
  }
  EXPECT_FALSE(outcome.ended());
  world.time.advance(1s);
  ASSERT_TRUE(outcome.ended());
  EXPECT_EQ(outcome.failure->code, Errc::kTimeout);
  EXPECT_NE(outcome.what().find("no response within 30 s"), std::string::npos) << outcome.what();
}

TEST_P(ClientTest, MeasuresSilenceFromTheLastByteOfTheBody) {
  ClientWorld world(*this, GetParam(),
                    [](const SeenRequest&, Connection& to) { to.send(fake::chunked_head()); });
  Outcome outcome;
  const ExchangePtr call = world.get(outcome, {.silence_max = 330s});
  ASSERT_TRUE(world.run_until([&] { return outcome.heads == 1; }));
  for (int i = 0; i < 5; ++i) {
    world.time.advance(329s);
    world.server.tcp().connection(0).send(chunk("x"));
    ASSERT_TRUE(world.run_until([&] { return outcome.body.size() == size_t(i) + 1; })) << outcome.what();
  }
  world.time.advance(329s);
  EXPECT_FALSE(outcome.ended());
  world.time.advance(1s);
  ASSERT_TRUE(outcome.ended());
  EXPECT_EQ(outcome.failure->code, Errc::kTimeout);
}

struct ClientConnecting : fixture::LoopTest {};

TEST_F(ClientConnecting, AServerThatNeverFinishesTlsIsATimeout) {
  fake::TcpServer mute(loop);  // accepts, and sends nothing
  ClientWorld world(*this, Wire::kTls, answer_ok);
  auto target = std::make_shared<Target>(*world.target);
  target->url.port = mute.port();
  world.target = target;
  Outcome outcome;
  const ExchangePtr call = world.get(outcome);
  ASSERT_TRUE(world.run_until([&] { return mute.count() == 1 && !mute.connection(0).received.empty(); }));
  world.time.advance(9'999ms);
  EXPECT_FALSE(outcome.ended());
  world.time.advance(1ms);
  ASSERT_TRUE(outcome.ended());
  EXPECT_EQ(outcome.failure->code, Errc::kTimeout) << outcome.what();
}

TEST_F(ClientConnecting, FailuresNameTheServer) {
  ClientWorld world(*this, Wire::kTls, answer_ok);
  world.server.tcp().stop_listening();
  Outcome outcome = world.fetch();
  ASSERT_TRUE(outcome.failure) << "nobody listens";
  EXPECT_EQ(outcome.what().find("https://127.0.0.1:" + std::to_string(world.server.port()) + ": "), 0u)
      << outcome.what();

  fake::TcpServer plain(loop, [](Connection& to) {
    if (!to.received.empty()) to.send("HTTP/1.1 400 Bad Request\r\n\r\nClient sent TLS to a plain server");
  });
  auto target = std::make_shared<Target>(*world.target);
  target->url.port = plain.port();
  world.target = target;
  EXPECT_TRUE(world.fetch().failure) << "TLS to a plain port";

  target = std::make_shared<Target>(*world.target);
  target->url.port = world.server.port();
  target->tls_server_name = "other.example";
  world.target = target;
  world.server.tcp().listen_again();
  outcome = world.fetch();
  ASSERT_TRUE(outcome.failure) << "the certificate is for another name";
  EXPECT_NE(outcome.what().find("other.example"), std::string::npos) << outcome.what();
  EXPECT_EQ(world.server.requests.size(), 0u);
}

TEST_F(ClientConnecting, TlsNegotiatesTheVersion) {
  for (const std::string& alpn : {std::string("h2"), std::string("http/1.1"), std::string()}) {
    fake::TlsServerConfig tls = server_tls();
    if (!alpn.empty()) tls.alpn = {alpn};
    fake::ClientFrames frames;
    bool is_answered = false;
    fake::TcpServer server(
        loop,
        [&](Connection& to) {
          if (alpn != "h2") {
            if (to.received.ends_with("\r\n\r\n")) to.send(http_response(200, to.received.substr(0, 5)));
            return;
          }
          frames.read(to.received);
          if (!frames.requests.contains(1) || std::exchange(is_answered, true)) return;
          to.send(fake::settings_frame() + fake::response_frames(1, frames.requests.at(1).field(":path")));
        },
        tls);
    ClientWorld world(*this, Wire::kPlain, answer_ok);
    auto target = std::make_shared<Target>();
    target->url = {.tls = true, .host = "127.0.0.1", .port = server.port(), .base_path = ""};
    target->tls =
        *reactor::net::TlsContext::make({.ca_pem = authority().cert_pem(), .alpn = {"h2", "http/1.1"}});
    world.target = target;
    EXPECT_EQ(world.fetch().body, alpn == "h2" ? "/x" : "GET /") << alpn;
  }
}

// Drops the call at every stage, in its own handlers too: nothing more is heard, nothing is left open.
TEST_P(ClientTest, IsSilentWhenDroppedAtAnyMoment) {
  enum Stage { kAtOnce, kDialing, kSent, kOnHead, kOnBody, kOnDone, kOnFailure, kStages };
  for (int stage = 0; stage < kStages; ++stage) {
    SCOPED_TRACE(stage);
    ClientWorld world(*this, GetParam(), [&](const SeenRequest&, Connection& to) {
      if (stage == kSent) return;
      to.send(fake::chunked_head() + chunk("one") + chunk("two") +
              (stage == kOnFailure ? "zz\r\n" : fake::last_chunk()));
    });
    int heard_after = 0;
    ExchangePtr call;
    auto heard = [&](Stage now) {
      if (!call) ++heard_after;
      if (now == stage) call.reset();
    };
    call = world.client.start(world.target, {.method = "GET", .path = "/"}, {},
                              {.on_head = [&](const Head&) { heard(kOnHead); },
                               .on_body = [&](std::string_view) { heard(kOnBody); },
                               .on_done = [&] { heard(kOnDone); },
                               .on_failure = [&](const Error&) { heard(kOnFailure); }});
    if (stage == kAtOnce) call.reset();
    world.time.advance(0ms);
    if (stage == kDialing) call.reset();
    if (stage == kSent) {
      ASSERT_TRUE(world.run_until([&] { return world.server.requests.size() == 1; }));
      call.reset();
    }
    ASSERT_TRUE(world.run_until([&] { return !call; }));
    world.settle();
    world.time.advance(10min);
    EXPECT_EQ(heard_after, 0);
    EXPECT_EQ(world.client.idle_connections(), 0u) << "a minute has passed";
    if (stage < kSent) continue;
    Connection& there = world.server.tcp().connection(0);
    EXPECT_TRUE(world.run_until([&] { return there.peer_ended || !there.open(); }))
        << "the server sees it go";
  }
}

TEST_P(ClientTest, AHandlerMayStartTheNextRequestOnTheSameConnection) {
  ClientWorld world(*this, GetParam(), answer_ok);
  Outcome second;
  ExchangePtr next;
  const ExchangePtr call =
      world.client.start(world.target, {.method = "GET", .path = "/1"}, {},
                         {.on_head = [](const Head&) {},
                          .on_body = [](std::string_view) {},
                          .on_done = [&] { next = world.send({.method = "GET", .path = "/2"}, second); },
                          .on_failure = [](const Error&) {}});
  ASSERT_TRUE(world.run_until([&] { return second.ended(); }));
  EXPECT_EQ(second.body, "you asked /2");
  EXPECT_EQ(world.server.connections(), 1u);
}

TEST_P(ClientTest, ExchangesSurviveTheirClient) {
  ClientWorld world(*this, GetParam(), [](const SeenRequest&, Connection&) {});
  auto client = std::make_unique<Client>(
      world.time,
      [&](reactor::net::Endpoint endpoint, Millis deadline, reactor::net::OnConnected on_connected) {
        return reactor::net::connect_tcp(loop, world.executor, std::move(endpoint), deadline,
                                         std::move(on_connected));
      },
      [] { return 0.5; });
  bool done = false;
  const ExchangePtr call =
      client->start(world.target, {.method = "GET", .path = "/"}, {},
                    {.on_head = [](const Head&) {},
                     .on_body = [](std::string_view) {},
                     .on_done = [&] { done = true; },
                     .on_failure = [](const Error& error) { ADD_FAILURE() << error.what; }});
  ASSERT_TRUE(world.run_until([&] { return world.server.requests.size() == 1; }));
  client.reset();
  world.server.tcp().connection(0).send(http_response(200, ""));
  EXPECT_TRUE(world.run_until([&] { return done; }));
}

}  // namespace
}  // namespace sliced::http
