#include "http/tunnel.h"

#include "reactor/base/base64.h"
#include "t/unit/http/client_fixture.h"

namespace sliced::http {
namespace {

using Connection = fake::TcpServer::Connection;

struct TunnelTest : fixture::LoopTest {};

// A proxy on its way to the world's server: after its answer, bytes go through.
struct ScriptedProxy {
  ScriptedProxy(ClientWorld& world_in, std::string answer_in)
      : world(world_in),
        answer(std::move(answer_in)),
        tcp(world.test.loop, [this](Connection& c) { on_progress(c); }) {
    auto target = std::make_shared<Target>(*world.target);
    target->proxy = Proxy{"127.0.0.1", tcp.port(), "Basic YTpi", "HTTPS_PROXY"};
    world.target = target;
  }

  void on_progress(Connection& from) {
    if (upstream) {
      if (!from.received.empty()) upstream->write(std::exchange(from.received, ""));
      return;
    }
    if (from.received.find("\r\n\r\n") == std::string::npos || asked) return;
    asked = true;
    head = std::exchange(from.received, "");
    if (answer.empty()) return;  // it hangs
    if (!answer.starts_with("HTTP/1.1 200")) {
      from.send(answer);
      if (closes) from.close();
      return;
    }
    connecting = reactor::net::connect_tcp(
        world.test.loop, world.executor, {"127.0.0.1", world.server.port()}, fixture::patience(),
        [this, &from](Result<std::unique_ptr<reactor::net::ByteStream>> stream) {
          upstream = *std::move(stream);
          upstream->receive({.on_data = [&from](std::string_view bytes) { from.send(std::string(bytes)); },
                             .on_end = [&from] { from.close(); },
                             .on_error = [&from](Error) { from.cut(); }});
          for (const char c : answer) from.send(std::string(1, c));
        });
  }

  ClientWorld& world;
  const std::string answer;
  bool closes = true, asked = false;
  std::string head;
  std::unique_ptr<reactor::net::Connecting> connecting;
  std::unique_ptr<reactor::net::ByteStream> upstream;
  fake::TcpServer tcp;
};

TEST_F(TunnelTest, TunnelsTlsToTheServer) {
  ClientWorld world(*this, Wire::kTls, [](const fake::SeenRequest& request, Connection& to) {
    to.send(fake::http_response(200, "you asked " + request.target));
  });
  ScriptedProxy proxy(world, "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = world.fetch();
    EXPECT_EQ(outcome.body, "you asked /x") << outcome.what();
  }
  const std::string authority = "127.0.0.1:" + std::to_string(world.server.port());
  EXPECT_EQ(proxy.head, "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority +
                            "\r\nProxy-Authorization: Basic YTpi\r\n\r\n");
  EXPECT_EQ(proxy.tcp.count(), 1u) << "one tunnel for all";
  EXPECT_EQ(world.server.requests[0].header("proxy-authorization"), "");
}

TEST_F(TunnelTest, NamesTheProxyIfItRefusesTheTunnel) {
  const struct {
    const char* why;
    std::string answer, wanted;
    bool closes;
  } rows[] = {
      {"wants a password", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
       "407 Proxy Authentication Required", false},
      {"refuses", "HTTP/1.0 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "403 Forbidden", false},
      {"redirects", "HTTP/1.1 302 Found\r\nLocation: http://x\r\n\r\n", "302 Found", false},
      {"is not a proxy", "SSH-2.0-OpenSSH_9.2\r\n", "no HTTP answer from the proxy", false},
      {"is binary", std::string("\0\1\2", 3), "no HTTP answer from the proxy", false},
      {"ends", "HTTP/1.1 200", "closed the connection", true},
      {"says nothing of a status", "HTTP/1.1\r\n\r\n", "the proxy refuses", false},
      {"never ends its head", "HTTP/1.1 300 OK\r\nX: " + std::string(20'000, 'x'), "exceeds 16 KiB", false},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.why);
    ClientWorld world(*this, Wire::kTls, [](const fake::SeenRequest&, Connection&) { ADD_FAILURE(); });
    ScriptedProxy proxy(world, row.answer == "HTTP/1.1 200" ? "HTTP/1.1 20" : row.answer);
    proxy.closes = row.closes;
    const Outcome outcome = world.fetch();
    ASSERT_TRUE(outcome.failure);
    EXPECT_NE(outcome.what().find(row.wanted), std::string::npos) << outcome.what();
    EXPECT_NE(
        outcome.what().find("through proxy 127.0.0.1:" + std::to_string(proxy.tcp.port()) + " (HTTPS_PROXY)"),
        std::string::npos)
        << outcome.what();
    EXPECT_EQ(outcome.what().find("YTpi"), std::string::npos) << outcome.what();
  }
}

TEST_F(TunnelTest, RefusesAProxyThatSendsDataBeforeTheTunnel) {
  ClientWorld world(*this, Wire::kTls, [](const fake::SeenRequest&, Connection&) { ADD_FAILURE(); });
  ScriptedProxy proxy(world, "HTTP/1.1 200 OK\r\n\r\nhello");
  const Outcome outcome = world.fetch();
  ASSERT_TRUE(outcome.failure);
}

TEST_F(TunnelTest, TimesOutOnAHangingProxy) {
  ClientWorld world(*this, Wire::kTls, [](const fake::SeenRequest&, Connection&) { ADD_FAILURE(); });
  ScriptedProxy proxy(world, "");
  Outcome outcome;
  const ExchangePtr call = world.get(outcome);
  ASSERT_TRUE(world.run_until([&] { return proxy.asked; }));
  EXPECT_FALSE(outcome.ended());
  world.time.advance(10s);
  ASSERT_TRUE(outcome.ended());
  EXPECT_EQ(outcome.failure->code, Errc::kTimeout);
  EXPECT_NE(outcome.what().find("(HTTPS_PROXY)"), std::string::npos) << outcome.what();
}

TEST_F(TunnelTest, NamesAnUnreachableProxy) {
  ClientWorld world(*this, Wire::kTls, [](const fake::SeenRequest&, Connection&) { ADD_FAILURE(); });
  ScriptedProxy proxy(world, "");
  proxy.tcp.stop_listening();
  const Outcome outcome = world.fetch();
  ASSERT_TRUE(outcome.failure);
  EXPECT_NE(outcome.what().find("(HTTPS_PROXY)"), std::string::npos) << outcome.what();
}

}  // namespace
}  // namespace sliced::http
