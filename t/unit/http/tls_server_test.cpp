// A server with TLS on real sockets: who is let in, which version is negotiated, and other certificates while it runs.
#include <ctime>
#include <filesystem>
#include <fstream>

#include "http/client.h"
#include "http/server.h"
#include "reactor/net/listener.h"
#include "reactor/net/tls_files.h"
#include "reactor/thread_executor.h"
#include "t/fake/certificates.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::http {
namespace tls_server_test {
namespace {

using namespace std::chrono_literals;
using fake::Identity;
using reactor::net::TlsConfig;
using reactor::net::TlsContext;

struct TlsServerTest : fixture::LoopTest {
  std::shared_ptr<const TlsContext> server_tls(const Identity& from, bool asks_clients = false) const {
    const Identity own = from.issue({.common_name = "server", .addresses = {"127.0.0.1"}});
    return TlsContext::make_server({.cert_pem = own.cert_pem(),
                                    .key_pem = own.key_pem(),
                                    .client_ca_pem = asks_clients ? authority.cert_pem() : "",
                                    .alpn = {"h2", "http/1.1"}})
        .value();
  }
  struct Answer {
    std::string body, failure;
  };
  /// Asks once, on a connection of its own.
  Answer ask(uint16_t port, const TlsConfig& config) {
    reactor::ThreadExecutor executor(loop);
    Client client(
        loop.scheduler(),
        [&](reactor::net::Endpoint to, Millis deadline, reactor::net::OnConnected on_connected) {
          return reactor::net::connect_tcp(loop, executor, std::move(to), deadline, std::move(on_connected));
        },
        [] { return 0.5; });
    auto target = std::make_shared<Target>();
    target->url = {.tls = true, .host = "127.0.0.1", .port = port, .base_path = ""};
    target->tls = TlsContext::make(config).value();
    Answer answer;
    bool is_over = false;
    const auto exchange = client.start(target, {.method = "GET", .path = "/x"}, {},
                                       {.on_head = [](const Head&) {},
                                        .on_body = [&](std::string_view bytes) { answer.body += bytes; },
                                        .on_done = [&] { is_over = true; },
                                        .on_failure =
                                            [&](const Error& error) {
                                              answer.failure = error.what;
                                              is_over = true;
                                            }});
    EXPECT_TRUE(run_until([&] { return is_over; }));
    return answer;
  }

  const Identity authority = Identity::authority(), other = Identity::authority("other authority");
  std::vector<std::string> troubles;
};

struct TlsWorld {
  TlsWorld(TlsServerTest& test, std::shared_ptr<const TlsContext> tls, ServerBounds bounds = {})
      : server(test.loop.scheduler(),
               [](const RequestHead& head, Response& response) {
                 response.answer(200, "for " + head.from->certificate);
                 return nullptr;
               },
               {.bounds = bounds,
                .tls = std::move(tls),
                .on_trouble = [&test](const auto&, const Error& why) { test.troubles.push_back(why.what); }}),
        listener(reactor::net::listen_tcp(test.loop, {"127.0.0.1", 0}, {},
                                          [this](auto stream, reactor::net::Peer peer) {
                                            server.take(std::move(stream), std::move(peer));
                                          })
                     .value()) {}
  Server server;
  std::unique_ptr<reactor::net::Listener> listener;
};

TEST_F(TlsServerTest, NegotiatesTheClientsProtocol) {
  TlsWorld world(*this, server_tls(authority));
  for (const std::vector<std::string>& alpn :
       {std::vector<std::string>{"h2", "http/1.1"}, {"http/1.1"}, {"h2"}, {}}) {
    const Answer answer = ask(world.listener->port(), {.ca_pem = authority.cert_pem(), .alpn = alpn});
    EXPECT_EQ(answer.failure, "");
    EXPECT_EQ(answer.body, "for ");
  }
  EXPECT_TRUE(troubles.empty());
  const Answer none = ask(world.listener->port(), {.ca_pem = authority.cert_pem(), .alpn = {"smtp"}});
  EXPECT_NE(none.failure.find("no application protocol"), std::string::npos) << none.failure;
}

TEST_F(TlsServerTest, AcceptsClientsWithACertificateOfTheAuthority) {
  TlsWorld world(*this, server_tls(authority, true));
  const auto config = [&](const Identity* from) {
    TlsConfig made{.ca_pem = authority.cert_pem(), .alpn = {"h2"}};
    if (from == nullptr) return made;
    const Identity own = from->issue({.common_name = "client"});
    made.client_cert_pem = own.cert_pem();
    made.client_key_pem = own.key_pem();
    return made;
  };
  EXPECT_EQ(ask(world.listener->port(), config(&authority)).body, "for CN = client");
  EXPECT_NE(ask(world.listener->port(), config(nullptr)).failure, "");
  EXPECT_NE(ask(world.listener->port(), config(&other)).failure, "");
  ASSERT_TRUE(run_until([&] { return troubles.size() == 2; }));
  EXPECT_NE(troubles[0].find("the client shows no certificate"), std::string::npos) << troubles[0];
  EXPECT_NE(troubles[1].find("certificate of CN = client is not signed by"), std::string::npos)
      << troubles[1];
}

TEST_F(TlsServerTest, ServesANewCertificateFromThenOn) {
  TlsWorld world(*this, server_tls(authority));
  EXPECT_EQ(ask(world.listener->port(), {.ca_pem = authority.cert_pem()}).failure, "");
  world.server.use(server_tls(other));
  EXPECT_NE(ask(world.listener->port(), {.ca_pem = authority.cert_pem()}).failure, "");
  EXPECT_EQ(ask(world.listener->port(), {.ca_pem = other.cert_pem()}).failure, "");
}

TEST_F(TlsServerTest, ServesChangedFilesFromThenOn) {
  char name[] = "/tmp/tls-server-test-XXXXXX";
  const std::string root = ::mkdtemp(name), cert = root + "/tls.crt", key = root + "/tls.key";
  const auto write = [&](const Identity& from) {
    const Identity own = from.issue({.common_name = "server", .addresses = {"127.0.0.1"}});
    std::ofstream(cert) << own.cert_pem();
    std::ofstream(key) << own.key_pem();
  };
  write(authority);
  reactor::ThreadExecutor executor(loop);
  std::optional<TlsWorld> world;
  int contexts = 0;
  std::vector<std::string> said;
  const reactor::net::TlsFiles files({loop, loop.scheduler(), executor, [] { return std::time(nullptr); }},
                                     {cert, key, ""}, {"h2", "http/1.1"},
                                     {.on_context =
                                          [&](std::shared_ptr<const TlsContext> made) {
                                            ++contexts;
                                            world ? world->server.use(std::move(made))
                                                  : void(world.emplace(*this, std::move(made)));
                                          },
                                      .on_trouble = [&](const Error& why) { said.push_back(why.what); }});
  ASSERT_TRUE(run_until([&] { return contexts == 1; }));
  EXPECT_EQ(ask(world->listener->port(), {.ca_pem = authority.cert_pem()}).failure, "");
  write(other);
  ASSERT_TRUE(run_until([&] { return contexts == 2; }));
  EXPECT_NE(ask(world->listener->port(), {.ca_pem = authority.cert_pem()}).failure, "");
  EXPECT_EQ(ask(world->listener->port(), {.ca_pem = other.cert_pem()}).failure, "");
  std::ofstream(key) << authority.key_pem();
  ASSERT_TRUE(run_until([&] { return !said.empty(); }));
  EXPECT_NE(said[0].find("server key does not belong to the server certificate"), std::string::npos)
      << said[0];
  EXPECT_EQ(ask(world->listener->port(), {.ca_pem = other.cert_pem()}).failure, "") << "as before";
  std::filesystem::remove_all(root);
}

TEST_F(TlsServerTest, NamesInvalidCertificates) {
  const Identity one = authority.issue({}), two = authority.issue({});
  const struct {
    reactor::net::TlsServerConfig config;
    std::string text;
  } rows[] = {
      {{.cert_pem = one.cert_pem(), .key_pem = two.key_pem()},
       "server key does not belong to the server certificate"},
      {{.cert_pem = one.cert_pem()}, "server certificate and key are only of use together"},
      {{.cert_pem = "x", .key_pem = one.key_pem()}, "server certificate: no certificate in it"},
      {{.cert_pem = one.cert_pem(), .key_pem = one.encrypted_key_pem("x")}, "it is encrypted"},
      {{.cert_pem = one.cert_pem(), .key_pem = one.key_pem(), .client_ca_pem = "x"},
       "clients: certificate authority: no certificate in it"},
  };
  for (const auto& row : rows) {
    const auto made = TlsContext::make_server(row.config);
    ASSERT_FALSE(made) << row.text;
    EXPECT_NE(made.error().what.find(row.text), std::string::npos) << made.error().what;
  }
}

TEST_F(TlsServerTest, TimesOutOnASilentClient) {
  TlsWorld world(*this, server_tls(authority), {.handshake_max = 50ms});
  reactor::ThreadExecutor executor(loop);
  std::unique_ptr<reactor::net::ByteStream> silent;
  bool has_ended = false;
  const auto connecting =
      reactor::net::connect_tcp(loop, executor, {"127.0.0.1", world.listener->port()}, fixture::patience(),
                                [&](auto got) { silent = std::move(got).value(); });
  ASSERT_TRUE(run_until([&] { return silent != nullptr; }));
  silent->receive({.on_end = [&] { has_ended = true; }});
  EXPECT_TRUE(run_until([&] { return has_ended; }));
  EXPECT_EQ(world.server.connections(), 0u);
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_NE(troubles[0].find("no answer within 50 ms"), std::string::npos) << troubles[0];
}

TEST_F(TlsServerTest, SendsNothingToAClientWithoutTls) {
  TlsWorld world(*this, server_tls(authority));
  reactor::ThreadExecutor executor(loop);
  std::unique_ptr<reactor::net::ByteStream> plain;
  bool has_ended = false;
  const auto connecting =
      reactor::net::connect_tcp(loop, executor, {"127.0.0.1", world.listener->port()}, fixture::patience(),
                                [&](auto got) { plain = std::move(got).value(); });
  ASSERT_TRUE(run_until([&] { return plain != nullptr; }));
  plain->receive({.on_end = [&] { has_ended = true; }, .on_error = [&](const Error&) { has_ended = true; }});
  plain->write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(run_until([&] { return has_ended; }));
  EXPECT_EQ(troubles.size(), 1u);
}

}  // namespace
}  // namespace tls_server_test
}  // namespace sliced::http
