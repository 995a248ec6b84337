#include "reactor/net/tls_stream.h"

#include <optional>

#include "reactor/net/tcp_stream.h"
#include "reactor/thread_executor.h"
#include "t/fake/tcp_server.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::reactor::net {
namespace {

using namespace std::chrono_literals;
using fake::Identity;
using fake::TcpServer;
using fake::TlsServerConfig;
using Outcome = Result<std::unique_ptr<ByteStream>>;

struct TlsStreamTest : fixture::LoopTest {
  TlsServerConfig server_config() const {
    return {.cert_pem = identity.cert_pem(), .key_pem = identity.key_pem()};
  }
  TlsConfig client_config() const { return {.ca_pem = authority.cert_pem()}; }

  std::unique_ptr<ByteStream> tcp(const TcpServer& server) {
    std::optional<Outcome> outcome;
    ThreadExecutor executor(loop);
    const auto connecting = connect_tcp(loop, executor, {"127.0.0.1", server.port()}, fixture::patience(),
                                        [&](Outcome got) { outcome = std::move(got); });
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return std::move(*outcome).value();
  }
  Outcome connect(const TcpServer& server, const TlsConfig& config, const std::string& name = "localhost",
                  Millis deadline = fixture::patience()) {
    std::optional<Outcome> outcome;
    const auto connecting = connect_tls(loop.scheduler(), tcp(server), TlsContext::make(config).value(), name,
                                        deadline, [&](Outcome got) { outcome = std::move(got); });
    EXPECT_FALSE(outcome) << "not from within connect_tls()";
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return std::move(*outcome);
  }

  const Identity authority = Identity::authority();
  const Identity identity =
      authority.issue({.common_name = "server", .dns = {"localhost"}, .addresses = {"127.0.0.1"}});
  std::string data;
  bool ended = false;
  std::optional<Error> error;
  StreamEvents events() {
    return {.on_data = [this](std::string_view bytes) { data += bytes; },
            .on_end = [this] { ended = true; },
            .on_error = [this](Error got) { error = std::move(got); }};
  }
};

TEST_F(TlsStreamTest, TransfersManyBytes) {
  const std::string much(4 << 20, 'x');
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServerConfig config = server_config();
    config.version_max = version;
    TcpServer server(loop, {}, config);
    auto stream = connect(server, client_config());
    ASSERT_TRUE(stream) << stream.error().what;
    data.clear();
    (*stream)->receive(events());
    (*stream)->write(much);
    ASSERT_TRUE(run_until([&] { return server.connection(0).received.size() == much.size(); }));
    server.connection(0).send(much);
    EXPECT_TRUE(run_until([&] { return data.size() == much.size(); }));
    EXPECT_EQ(server.connection(0).sni, "localhost");
    EXPECT_EQ((*stream)->unsent_bytes(), 0u);
    EXPECT_FALSE(error);
  }
}

TEST_F(TlsStreamTest, BuffersBytesThatArriveWithTheHandshake) {
  TcpServer server(
      loop,
      [](TcpServer::Connection& client) {
        if (client.received.empty()) client.send("banner"), client.close();
      },
      server_config());
  auto stream = connect(server, client_config());
  ASSERT_TRUE(stream);
  handle_ready();
  (*stream)->receive(events());
  EXPECT_EQ(data, "") << "not from within receive()";
  EXPECT_TRUE(run_until([&] { return ended; }));
  EXPECT_EQ(data, "banner");
  EXPECT_FALSE(error);
}

TEST_F(TlsStreamTest, ACutWithoutCloseNotifyIsAnError) {
  for (const bool clean : {true, false}) {
    ended = false, error.reset(), data.clear();
    TcpServer server(loop, {}, server_config());
    auto stream = connect(server, client_config()).value();
    stream->receive(events());
    server.connection(0).send("half an answ");
    if (clean)
      server.connection(0).close();
    else
      server.connection(0).cut();
    EXPECT_TRUE(run_until([&] { return ended || error; }));
    handle_ready();
    EXPECT_EQ(data, "half an answ");
    EXPECT_EQ(ended, clean);
    EXPECT_EQ(error.has_value(), !clean);
    if (error) {
      EXPECT_NE(error->what.find("truncated"), std::string::npos) << error->what;
    }
  }
}

TEST_F(TlsStreamTest, ClosingSendsWrittenDataAndCloseNotify) {
  TcpServer server(loop, {}, server_config());
  auto stream = connect(server, client_config()).value();
  stream->receive(events());
  stream->write("bye");
  stream->close();
  stream->write("ignored");
  ASSERT_TRUE(run_until([&] { return server.connection(0).peer_ended; }));
  EXPECT_EQ(server.connection(0).received, "bye");
  EXPECT_EQ(server.connection(0).trouble, "");
  server.connection(0).send("you too");
  server.connection(0).close();
  EXPECT_TRUE(run_until([&] { return ended; }));
  EXPECT_EQ(data, "you too");
}

TEST_F(TlsStreamTest, HandshakeErrorsNameTheServer) {
  const Identity stranger = Identity::authority("stranger");
  TcpServer server(loop, {}, server_config());
  const auto untrusted = connect(server, {.ca_pem = stranger.cert_pem()});
  ASSERT_FALSE(untrusted);
  EXPECT_EQ(untrusted.error().code, Errc::kDenied);
  EXPECT_NE(untrusted.error().what.find(
                "TLS handshake with localhost: TLS: certificate of CN = server is not signed by"),
            std::string::npos)
      << untrusted.error().what;
  const auto misnamed = connect(server, client_config(), "10.9.8.7");
  ASSERT_FALSE(misnamed);
  EXPECT_NE(misnamed.error().what.find("not for 10.9.8.7"), std::string::npos) << misnamed.error().what;

  TcpServer plain(loop, [](TcpServer::Connection& client) {
    if (!client.received.empty()) client.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  const auto not_tls = connect(plain, client_config());
  ASSERT_FALSE(not_tls);
  EXPECT_NE(not_tls.error().what.find("does not speak TLS"), std::string::npos) << not_tls.error().what;

  TcpServer hasty(loop, [](TcpServer::Connection& client) { client.close(); });
  const auto closed = connect(hasty, client_config());
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().what.find("closed the connection"), std::string::npos) << closed.error().what;
}

TEST_F(TlsStreamTest, ASilentServerEndsAtTheDeadline) {
  TcpServer mute(loop);
  const auto outcome = connect(mute, client_config(), "localhost", 100ms);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error(),
            (Error{Errc::kTimeout, "TLS handshake with localhost: no answer within 100 ms"}));
}

TEST_F(TlsStreamTest, PresentsAClientCertificateAndReportsItsRefusal) {
  const Identity clients = Identity::authority("clients");
  const Identity client = clients.issue({.common_name = "node-a"});
  TlsServerConfig config = server_config();
  config.client_ca_pem = clients.cert_pem();
  TcpServer server(loop, {}, config);
  TlsConfig with = client_config();
  with.client_cert_pem = client.cert_pem();
  with.client_key_pem = client.key_pem();
  auto stream = connect(server, with);
  ASSERT_TRUE(stream) << stream.error().what;
  ASSERT_TRUE(run_until([&] { return server.connection(0).handshake_done; }));
  EXPECT_EQ(server.connection(0).client_common_name, "node-a");

  // TLS 1.3: our side completes before the server has processed our bytes.
  auto refused = connect(server, client_config());
  ASSERT_TRUE(refused);
  (*refused)->receive(events());
  ASSERT_TRUE(run_until([&] { return error.has_value(); }));
  EXPECT_EQ(error->code, Errc::kDenied) << error->what;
}

TEST_F(TlsStreamTest, PausingHoldsBytesBack) {
  const std::string much(2 << 20, 'x');
  TcpServer server(loop, {}, server_config());
  auto stream = connect(server, client_config()).value();
  stream->receive(events());
  stream->pause();
  server.connection(0).send(much);
  handle_ready();
  EXPECT_EQ(data, "");
  stream->resume();
  EXPECT_TRUE(run_until([&] { return data.size() == much.size(); }));
}

TEST_F(TlsStreamTest, MayBeDestroyedByEachOfItsCallbacks) {
  TcpServer server(loop, {}, server_config());
  for (size_t which = 0; which < 3; ++which) {
    auto stream = connect(server, client_config()).value();
    const auto drop = [&, canary = std::make_shared<int>(7)] {
      stream.reset();
      EXPECT_EQ(*canary, 7);
    };
    stream->receive({.on_data = [drop](std::string_view) { drop(); },
                     .on_end = drop,
                     .on_error = [drop](Error) { drop(); }});
    if (which == 0) server.connection(which).send("data"), server.connection(which).close();
    if (which == 1) server.connection(which).close();
    if (which == 2) server.connection(which).cut();
    EXPECT_TRUE(run_until([&] { return stream == nullptr; })) << which;
  }
}

TEST_F(TlsStreamTest, DroppingTheAttemptCancels) {
  TcpServer server(loop, {}, server_config());
  for (int turns = 0; turns < 6; ++turns) {
    bool called = false;
    auto connecting = connect_tls(loop.scheduler(), tcp(server), TlsContext::make(client_config()).value(),
                                  "localhost", fixture::patience(), [&](Outcome) { called = true; });
    for (int i = 0; i < turns && !called; ++i) loop.turn(0ms);
    if (called) break;
    connecting.reset();
    EXPECT_TRUE(connect(server, client_config())) << "one that began later";
    EXPECT_FALSE(called);
  }
}

}  // namespace
}  // namespace sliced::reactor::net
