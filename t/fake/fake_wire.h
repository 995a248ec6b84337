#pragma once
// Connections whose other end a test holds: no socket, time stepped by hand.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"
#include "t/fake/fake_scheduler.h"

namespace sliced::fake {

/// The end that the test holds.
class WireEnd {
 public:
  std::string sent;       // by the code under test; a test may consume it
  bool is_gone = false;   // it has let go of the connection
  bool is_ended = false;  // it has closed its sending side
  bool is_held = false;   // it does not read now
  std::string protocol;   // the protocol that TLS would have negotiated
  /// Set: the other side reads nothing; bytes that are written meanwhile stay unsent.
  bool is_stuck = false;
  size_t unsent = 0;

  /// The other side takes so many of the unsent bytes.
  void take(size_t bytes) {
    unsent -= std::min(bytes, unsent);
    const auto events = events_;
    if (unsent == 0 && events && events->on_drained) events->on_drained();
  }

  void say(std::string bytes) {
    const auto events = events_;
    if (events && events->on_data) events->on_data(bytes);
  }
  void end() {
    const auto events = events_;
    if (events && events->on_end) events->on_end();
  }
  void fail(Error error) {
    const auto events = events_;
    if (events && events->on_error) events->on_error(std::move(error));
  }

 private:
  friend class FakeWire;
  std::shared_ptr<reactor::net::StreamEvents> events_;
};

class FakeWire final : public reactor::net::ByteStream {
 public:
  explicit FakeWire(std::shared_ptr<WireEnd> end) : end_(std::move(end)) {}
  ~FakeWire() override {
    end_->is_gone = true;
    end_->events_.reset();
  }
  void receive(reactor::net::StreamEvents events) override {
    end_->events_ = std::make_shared<reactor::net::StreamEvents>(std::move(events));
  }
  void write(std::string bytes) override {
    end_->sent += bytes;
    if (end_->is_stuck) end_->unsent += bytes.size();
  }
  size_t unsent_bytes() const override { return end_->unsent; }
  std::string protocol() const override { return end_->protocol; }
  void close() override { end_->is_ended = true; }
  void pause() override { end_->is_held = true; }
  void resume() override { end_->is_held = false; }

 private:
  const std::shared_ptr<WireEnd> end_;
};

/// Dials that succeed after `takes`, unless `refusal` is set; every wire, in order.
class FakeDials {
 public:
  explicit FakeDials(FakeScheduler& scheduler) : scheduler_(scheduler) {}

  std::unique_ptr<reactor::net::Connecting> dial(const reactor::net::Endpoint&, Millis,
                                                 reactor::net::OnConnected on_connected) {
    struct Pending final : reactor::net::Connecting {
      reactor::Ticket ticket;
    };
    ++dialed;
    auto pending = std::make_unique<Pending>();
    if (is_mute) return pending;
    pending->ticket = scheduler_.after(takes, [this, on_connected = std::move(on_connected)] {
      const auto told = on_connected;
      if (refusal) return told(Error(*refusal));
      wires.push_back(std::make_shared<WireEnd>());
      told(std::unique_ptr<reactor::net::ByteStream>(std::make_unique<FakeWire>(wires.back())));
    });
    return pending;
  }

  std::vector<std::shared_ptr<WireEnd>> wires;
  size_t dialed = 0;
  std::optional<Error> refusal;
  Millis takes{0};
  bool is_mute = false;  // never answers

 private:
  FakeScheduler& scheduler_;
};

}  // namespace sliced::fake
