#pragma once
// A server whose clients' every byte a test writes; no socket, time stepped by hand. Its handler answers
// nothing: a test does, when it likes.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/server.h"
#include "t/fake/fake_scheduler.h"
#include "t/fake/fake_wire.h"

namespace sliced::http {

using namespace std::chrono_literals;

/// What a handler has heard of one request.
struct Served {
  RequestHead head;
  Response* response = nullptr;  // until is_over
  std::string body;
  Headers trailers;
  int ends = 0, rooms = 0;
  std::optional<Error> loss;
  bool is_over = false;                // its Call is gone
  std::function<void()> then = [] {};  // after each call

  std::string what() const { return loss ? loss->what : ""; }
};

struct ServerWorld {
  struct Recorder final : Call {
    explicit Recorder(Served& served_in) : served(served_in) {}
    ~Recorder() override { served.is_over = true; }
    void on_body(std::string_view bytes) override {
      served.body += bytes;
      served.then();
    }
    void on_trailers(const Headers& trailers) override {
      served.trailers = trailers;
      served.then();
    }
    void on_end() override {
      ++served.ends;
      served.then();
    }
    void on_room() override {
      ++served.rooms;
      served.then();
    }
    void on_loss(const Error& why) override {
      served.loss = why;
      served.then();
    }
    Served& served;
  };

  explicit ServerWorld(ServerBounds bounds = {})
      : server(std::make_unique<Server>(
            time, [this](const RequestHead& head, Response& response) { return serve(head, response); },
            ServerOptions{.bounds = bounds,
                          .on_trouble = [this](const reactor::net::Peer&, const Error& why) {
                            troubles.push_back(why.what);
                          }})) {}

  ~ServerWorld() {
    for (Served& one : served) one.then = [] {};  // it refers to destroyed objects
  }

  std::unique_ptr<Call> serve(const RequestHead& head, Response& response) {
    served.push_back({.head = head, .response = &response});
    auto call = std::make_unique<Recorder>(served.back());
    if (on_request) on_request(served.back());
    return call;
  }
  /// A new client.
  fake::WireEnd& connect(const std::string& protocol = "") {
    wires.push_back(std::make_shared<fake::WireEnd>());
    wires.back()->protocol = protocol;
    server->take(std::make_unique<fake::FakeWire>(wires.back()), {.name = "test"});
    return *wires.back();
  }
  void settle() { pass(0ms); }
  void pass(Millis passed) {
    time.advance(passed);
    for (int i = 0; i < 4; ++i) time.advance(0ms);
  }
  Served& last() { return served.back(); }

  fake::FakeScheduler time;
  std::list<Served> served;
  std::function<void(Served&)> on_request;  // from within Serve
  std::vector<std::string> troubles;
  std::vector<std::shared_ptr<fake::WireEnd>> wires;
  std::unique_ptr<Server> server;
};

}  // namespace sliced::http
