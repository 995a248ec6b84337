#include "http/http2_connection.h"

#include <utility>

namespace sliced::http {
namespace {

using reactor::net::ByteStream;

constexpr size_t kHttp2UnsentMax = size_t{1} << 20;

class Http2Connection final : public Connection, public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(reactor::Scheduler& scheduler, std::unique_ptr<ByteStream> wire, size_t streams_assumed)
      : scheduler_(scheduler),
        wire_(std::move(wire)),
        session_(scheduler.now(), streams_assumed),
        last_heard_(scheduler.now()) {
    wire_->receive({.on_data = [this](std::string_view bytes) { on_data(bytes); },
                    .on_end = [this] { on_wire_end(); },
                    .on_error = [this](const Error& error) { die(Error(error)); },
                    .on_drained = [this] { on_drained(); }});
    flush();
    watch_the_clock(kPingAfter);
  }
  ~Http2Connection() override {
    session_.send_goaway();
    flush();
  }

  std::unique_ptr<Stream> send(OutgoingRequestPtr request, const Limits& limits, Receiver& receiver) override;
  size_t streams() const override { return session_.streams(); }
  size_t streams_max() const override { return draining_ || is_closed() ? 0 : session_.streams_max(); }
  bool is_multiplexed() const override { return true; }
  bool is_draining() const override { return draining_; }
  bool is_closed() const override { return wire_ == nullptr; }
  void drain(bool at_once) override {
    draining_ = true;
    session_.send_drain(at_once);
  }

 private:
  class Exchange;
  void on_data(std::string_view bytes);
  void on_wire_end();
  void on_drained();
  void die(Error error);
  void flush();
  void deliver();
  void watch_the_clock(Millis patience);
  void on_clock();

  reactor::Scheduler& scheduler_;
  std::unique_ptr<ByteStream> wire_;  // null: closed
  Http2Session session_;
  TimePoint last_heard_;
  reactor::Ticket clock_, delivery_;
  bool draining_ = false, has_pinged_ = false;
};

class Http2Connection::Exchange final : public Stream {
 public:
  Exchange(std::shared_ptr<Http2Connection> connection, Http2Session::StreamId id)
      : connection_(std::move(connection)), id_(id) {}
  ~Exchange() override {
    connection_->session_.cancel(id_);
    connection_->flush();
    connection_->notify_change();
  }
  void pause() override { connection_->session_.pause(id_); }
  void resume() override {
    connection_->session_.resume(id_);
    connection_->delivery_ =
        connection_->scheduler_.after(Millis{0}, [at = connection_.get()] { at->deliver(); });
  }

 private:
  const std::shared_ptr<Http2Connection> connection_;
  const Http2Session::StreamId id_;
};

std::unique_ptr<Stream> Http2Connection::send(OutgoingRequestPtr request, const Limits& limits,
                                              Receiver& receiver) {
  const auto id = session_.send(std::move(request), limits, receiver);
  flush();
  return std::make_unique<Exchange>(shared_from_this(), id);
}

void Http2Connection::on_data(std::string_view bytes) {
  const auto self = shared_from_this();
  last_heard_ = scheduler_.now();
  const size_t max_streams_before = session_.streams_max();
  const auto fed = session_.feed(bytes, last_heard_);
  flush();
  if (is_closed()) return;
  if (!fed) return die(fed.error());
  const bool received_goaway = session_.is_going_away() && !draining_;
  if (received_goaway) drain(false);
  if (received_goaway || session_.streams_max() != max_streams_before) notify_change();
}

void Http2Connection::on_wire_end() {
  const std::string& farewell = session_.farewell();
  die({Errc::kIo, "the server closed the connection" + (farewell.empty() ? "" : " (" + farewell + ")")});
}

void Http2Connection::die(Error error) {
  const auto self = shared_from_this();
  wire_.reset();
  clock_.reset();
  session_.fail_all(error);
  notify_change();
}

// Data that the kernel does not accept stays in the session.
void Http2Connection::flush() {
  while (wire_ && wire_->unsent_bytes() < kHttp2UnsentMax) {
    std::string outgoing = session_.take_outgoing();
    if (outgoing.empty()) return;
    wire_->write(std::move(outgoing));
  }
}

void Http2Connection::on_drained() {
  const auto self = shared_from_this();
  flush();
}

void Http2Connection::deliver() {
  const auto self = shared_from_this();
  const auto over = std::move(delivery_);
  session_.deliver();
  flush();
}

void Http2Connection::watch_the_clock(Millis patience) {
  clock_ = scheduler_.after(patience, [this] { on_clock(); });
}

// Received bytes only change a time stamp, so that a busy connection sets no timers.
void Http2Connection::on_clock() {
  const auto self = shared_from_this();
  const auto over = std::move(clock_);
  const Millis quiet = scheduler_.now() - last_heard_;
  if (quiet < kPingAfter) {
    has_pinged_ = false;
    return watch_the_clock(kPingAfter - quiet);
  }
  if (std::exchange(has_pinged_, true))
    return die({Errc::kTimeout, "no answer to a PING within " +
                                    std::to_string(kPingAnswerMax.count() / 1000) +
                                    " s: the server or the way to it is dead"});
  session_.ping();
  flush();
  watch_the_clock(kPingAnswerMax);
}

}  // namespace

ConnectionPtr make_http2_connection(reactor::Scheduler& scheduler, std::unique_ptr<ByteStream> wire,
                                    size_t streams_assumed) {
  return std::make_shared<Http2Connection>(scheduler, std::move(wire), streams_assumed);
}

}  // namespace sliced::http
