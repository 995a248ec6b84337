#pragma once
// A client against servers of HTTP/2 whose every frame a test writes; no socket, time stepped by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/client.h"
#include "t/fake/fake_wire.h"
#include "t/fake/http2_frames.h"

namespace sliced::http {

using namespace std::chrono_literals;
using fake::data_frame;
using fake::goaway_frame;
using fake::headers_frame;
using fake::ping_frame;
using fake::reset_frame;
using fake::response_frames;
using fake::settings_frame;

/// The server's end of one connection.
struct Http2Peer {
  explicit Http2Peer(std::shared_ptr<fake::WireEnd> wire_in) : wire(std::move(wire_in)) {}
  void say(std::string bytes) { wire->say(std::move(bytes)); }
  /// Streams with a request that is neither reset nor in `answered`, oldest first.
  std::vector<uint32_t> waiting() const {
    std::vector<uint32_t> ids;
    for (const auto& [id, request] : frames.requests)
      if (request.is_whole && !request.was_reset && !answered.contains(id)) ids.push_back(id);
    return ids;
  }
  void answer(uint32_t id, std::string_view body) {
    answered[id] = true;
    say(response_frames(id, body));
  }

  std::shared_ptr<fake::WireEnd> wire;
  fake::ClientFrames frames;
  std::map<uint32_t, bool> answered;
};

/// What one exchange brought.
struct Told {
  int heads = 0, ends = 0;
  std::string body;
  bool is_done = false, was_moved = false;
  std::optional<Error> failure;
  bool is_over() const { return ends > 0; }
  std::string what() const { return failure ? failure->what : ""; }
};

struct Http2World {
  explicit Http2World(PoolBounds bounds = {})
      : client(
            time,
            [this](const reactor::net::Endpoint& to, Millis deadline,
                   reactor::net::OnConnected on_connected) {
              return dials.dial(to, deadline, std::move(on_connected));
            },
            [this] { return random; }, bounds) {
    target = make_target();
  }
  static TargetPtr make_target() {
    auto made = std::make_shared<Target>();
    made->url = {.tls = false, .host = "kube", .port = 80, .base_path = ""};
    made->has_prior_knowledge = true;
    return made;
  }

  ExchangePtr send(Told& told, Request request, Options options = {}, bool is_lasting = false) {
    Handlers handlers{.on_head = [&told](const Head&) { ++told.heads; },
                      .on_body = [&told](std::string_view bytes) { told.body += bytes; },
                      .on_done =
                          [&told] {
                            told.is_done = true;
                            ++told.ends;
                          },
                      .on_failure =
                          [&told](const Error& error) {
                            told.failure = error;
                            ++told.ends;
                          }};
    if (is_lasting)
      handlers.on_moved = [&told] {
        told.was_moved = true;
        ++told.ends;
      };
    return client.start(target, std::move(request), options, std::move(handlers));
  }
  ExchangePtr get(Told& told) { return send(told, {.method = "GET", .path = "/x"}, {.repeatable = true}); }
  ExchangePtr watch(Told& told) {
    return send(told, {.method = "GET", .path = "/watch"}, {.silence_max = 330s, .repeatable = true}, true);
  }
  ExchangePtr create(Told& told) { return send(told, {.method = "POST", .path = "/x", .body = "{}"}); }

  /// Runs the tasks that are due, and reads the sent bytes; a new peer sends its settings.
  void settle() {
    for (int i = 0; i < 4; ++i) {
      time.advance(0ms);
      while (peers.size() < dials.wires.size()) {
        peers.push_back(std::make_unique<Http2Peer>(dials.wires[peers.size()]));
        if (!greeting.empty()) peers.back()->say(greeting);
      }
      for (const auto& peer : peers) peer->frames.read(peer->wire->sent);
    }
  }
  void pass(Millis time_passed) {
    time.advance(time_passed);
    settle();
  }
  Http2Peer& peer(size_t number) { return *peers.at(number); }
  size_t connections() const {
    size_t open = 0;
    for (const auto& wire : dials.wires) open += !wire->is_gone;
    return open;
  }

  fake::FakeScheduler time;
  fake::FakeDials dials{time};
  double random = 0.5;
  std::string greeting = settings_frame({{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}});
  Client client;
  TargetPtr target;
  std::vector<std::unique_ptr<Http2Peer>> peers;
};

}  // namespace sliced::http
