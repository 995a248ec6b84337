#pragma once
// A real client against a scripted server: real sockets and TLS on a real loop, time stepped by hand.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "http/client.h"
#include "reactor/thread_executor.h"
#include "t/fake/certificates.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/rude_server.h"
#include "t/fixture/loop_fixture.h"

namespace sliced::http {

using namespace std::chrono_literals;

enum class Wire { kPlain, kTls };

/// One authority for all tests: making keys takes time.
inline const fake::Identity& authority() {
  static const fake::Identity made = fake::Identity::authority();
  return made;
}
inline fake::TlsServerConfig server_tls() {
  static const fake::Identity made = authority().issue({.common_name = "kube", .addresses = {"127.0.0.1"}});
  return {.cert_pem = made.cert_pem(), .key_pem = made.key_pem()};
}

/// What one exchange brought.
struct Outcome {
  int heads = 0, status = 0;
  std::string body;
  bool done = false;
  std::optional<Error> failure;
  int ends = 0;  // exactly one, if any
  bool ended() const { return ends > 0; }
  std::string what() const { return failure ? failure->what : ""; }
};

/// Everything that owns handles; lives in the test's body.
struct ClientWorld {
  ClientWorld(fixture::LoopTest& test_in, Wire wire, fake::RudeServer::OnRequest on_request,
              Client::Bounds bounds = {})
      : test(test_in),
        executor(test.loop),
        server(test.loop, std::move(on_request),
               wire == Wire::kTls ? std::optional(server_tls()) : std::nullopt),
        client(
            time,
            [this](reactor::net::Endpoint endpoint, Millis deadline, reactor::net::OnConnected on_connected) {
              return reactor::net::connect_tcp(test.loop, executor, std::move(endpoint), deadline,
                                               std::move(on_connected));
            },
            [] { return 0.5; }, bounds),
        target(make_target(wire)) {}

  TargetPtr make_target(Wire wire) const {
    auto made = std::make_shared<Target>();
    made->url = {.tls = wire == Wire::kTls, .host = "127.0.0.1", .port = server.port(), .base_path = ""};
    if (wire == Wire::kTls) made->tls = *reactor::net::TlsContext::make({.ca_pem = authority().cert_pem()});
    return made;
  }

  /// Starts GET /x and records the events.
  ExchangePtr get(Outcome& outcome, Options options = {.repeatable = true}) {
    return send({.method = "GET", .path = "/x"}, outcome, options);
  }
  ExchangePtr send(Request request, Outcome& outcome, Options options = {}) {
    return client.start(target, std::move(request), options,
                        {.on_head =
                             [&outcome](const Head& head) {
                               ++outcome.heads;
                               outcome.status = head.status;
                             },
                         .on_body = [&outcome](std::string_view bytes) { outcome.body += bytes; },
                         .on_done =
                             [&outcome] {
                               outcome.done = true;
                               ++outcome.ends;
                             },
                         .on_failure =
                             [&outcome](const Error& error) {
                               outcome.failure = error;
                               ++outcome.ends;
                             }});
  }
  Outcome fetch(Options options = {.repeatable = true}) {
    Outcome outcome;
    const ExchangePtr call = get(outcome, options);
    EXPECT_TRUE(run_until([&] { return outcome.ended(); }));
    EXPECT_EQ(outcome.ends, 1);
    return outcome;
  }

  /// Turns the loop; tasks for "next turn" run, no other time passes.
  bool run_until(const std::function<bool()>& reached) {
    return test.run_until([&] {
      time.advance(0ms);
      return reached();
    });
  }
  /// Long enough for everything that is on its way over the loopback to arrive.
  void settle() {
    for (int i = 0; i < 10; ++i) {
      time.advance(0ms);
      test.loop.turn(2ms);
    }
  }

  fixture::LoopTest& test;
  fake::FakeScheduler time;
  reactor::ThreadExecutor executor;
  fake::RudeServer server;
  Client client;
  TargetPtr target;
};

}  // namespace sliced::http
