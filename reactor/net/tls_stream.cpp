#include "reactor/net/tls_stream.h"

#include <functional>
#include <utility>

#include "reactor/base/callback_guard.h"
#include "reactor/net/stream_owner.h"

namespace sliced::reactor::net {
namespace {

class TlsStream final : public ByteStream {
 public:
  TlsStream(Scheduler& scheduler, std::unique_ptr<ByteStream> inner, std::unique_ptr<TlsSession> session)
      : scheduler_(scheduler),
        inner_(std::move(inner)),
        session_(std::move(session)),
        events_(std::make_shared<StreamEvents>()) {}

  void receive(StreamEvents events) override {
    events_ = std::make_shared<StreamEvents>(std::move(events));
    if (std::exchange(receiving_, true)) return;
    inner_->receive({.on_data = [this](std::string_view bytes) { on_bytes(bytes); },
                     .on_end = [this] { on_inner_end(); },
                     .on_error = [this](Error error) { fail(std::move(error)); },
                     .on_drained =
                         [this] {
                           const auto events = events_;
                           const CallbackGuard::Call running(callbacks_);
                           if (events->on_drained) events->on_drained();
                         }});
    resume();
  }

  void write(std::string bytes) override {
    if (closed_ || dead_ || failure_) return;
    const auto written = session_->write(bytes);
    flush();
    if (!written) fail_later(written.error());
  }

  size_t unsent_bytes() const override { return inner_->unsent_bytes(); }
  std::string protocol() const override { return session_->alpn(); }
  std::string peer_subject() const override { return session_->peer_subject(); }

  void close() override {
    if (std::exchange(closed_, true) || dead_) return;
    const auto closed = session_->close();
    flush();
    if (!closed) return fail_later(closed.error());
    inner_->close();
  }

  void pause() override {
    paused_ = true;
    inner_->pause();
  }

  /// No event follows.
  void abandon() {
    dead_ = true;
    delivery_.reset();
    failure_.reset();
    events_ = std::make_shared<StreamEvents>();
    inner_.reset();
  }

  void resume() override {
    paused_ = false;
    if (!receiving_) return;
    inner_->resume();
    // Bytes that were decrypted while there was no receiver.
    delivery_ = scheduler_.after(Millis{0}, [this] { deliver(); });
  }

 private:
  void flush() {
    std::string outgoing = session_->take_outgoing();
    if (!outgoing.empty()) inner_->write(std::move(outgoing));
  }

  void on_bytes(std::string_view bytes) {
    if (dead_) return;
    const auto fed = session_->feed(bytes);
    flush();
    deliver();
    if (!fed) fail(fed.error());
  }

  void deliver() {
    if (paused_ || dead_) return;
    if (const std::string plain = session_->take_plaintext(); !plain.empty()) {
      const auto events = events_;
      const CallbackGuard::Call running(callbacks_);
      if (events->on_data) events->on_data(plain);
      if (paused_ || dead_) return;
    }
    if (session_->peer_closed()) end();
  }

  void on_inner_end() {
    if (dead_) return;
    if (auto ended = session_->end(); !ended) return fail(std::move(ended.error()));
    end();
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    const auto events = events_;
    const CallbackGuard::Call running(callbacks_);
    if (events->on_end) events->on_end();
  }

  void fail_later(Error error) {
    if (dead_ || failure_) return;
    failure_ = scheduler_.after(Millis{0}, [this, error] { fail(error); });
  }

  void fail(Error error) {
    if (std::exchange(dead_, true)) return;
    inner_->pause();
    const auto events = events_;
    const CallbackGuard::Call running(callbacks_);
    if (events->on_error) events->on_error(std::move(error));
  }

  Scheduler& scheduler_;
  std::unique_ptr<ByteStream> inner_;
  std::unique_ptr<TlsSession> session_;
  std::shared_ptr<StreamEvents> events_;
  CallbackGuard callbacks_{"TlsStream"};
  Ticket delivery_;
  Ticket failure_;
  bool receiving_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool closed_ = false;
  bool dead_ = false;
};

class Handshake final : public Connecting {
 public:
  using Open = std::function<Result<std::unique_ptr<TlsSession>>()>;
  /// with: the peer, for error texts.
  Handshake(Scheduler& scheduler, std::unique_ptr<ByteStream> inner, Open open, std::string with,
            Millis deadline, OnConnected on_connected)
      : scheduler_(scheduler),
        inner_(std::move(inner)),
        with_(std::move(with)),
        on_connected_(std::move(on_connected)) {
    step_ = scheduler_.after(Millis{0}, [this, open = std::move(open)] { begin(open); });
    deadline_ = scheduler_.after(deadline, [this, deadline] {
      finish(Error{Errc::kTimeout, "no answer within " + std::to_string(deadline.count()) + " ms"});
    });
  }

 private:
  void begin(const Open& open) {
    auto session = open();
    if (!session) return finish(std::move(session.error()));
    session_ = std::move(session).value();
    inner_->receive({.on_data = [this](std::string_view bytes) { on_bytes(bytes); },
                     .on_end = [this] { finish(Error{Errc::kIo, "the peer closed the connection"}); },
                     .on_error = [this](Error error) { finish(std::move(error)); }});
    inner_->resume();  // it may come paused
    inner_->write(session_->take_outgoing());
  }

  void on_bytes(std::string_view bytes) {
    const auto fed = session_->feed(bytes);
    inner_->write(session_->take_outgoing());  // an alert, too
    if (!fed) return finish(fed.error());
    if (!session_->established()) return;
    inner_->pause();  // until receive()
    std::unique_ptr<ByteStream> stream =
        owned(scheduler_, std::make_unique<TlsStream>(scheduler_, std::move(inner_), std::move(session_)));
    finish(std::move(stream));
  }

  void finish(Result<std::unique_ptr<ByteStream>> outcome) {
    if (!on_connected_) return;  // already called
    step_.reset();
    deadline_.reset();
    if (!outcome) {
      if (inner_) inner_->pause();
      outcome = std::move(outcome.error()).in("TLS handshake with " + with_);
    }
    step_ = complete(scheduler_, on_connected_, std::move(outcome));
  }

  Scheduler& scheduler_;
  std::unique_ptr<ByteStream> inner_;
  const std::string with_;
  OnConnected on_connected_;
  std::unique_ptr<TlsSession> session_;
  Ticket step_;
  Ticket deadline_;
};

}  // namespace

std::unique_ptr<Connecting> connect_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                        std::shared_ptr<const TlsContext> context, std::string server_name,
                                        Millis deadline, OnConnected on_connected) {
  auto open = [context = std::move(context), server_name] { return TlsSession::open(context, server_name); };
  return std::make_unique<Handshake>(scheduler, std::move(inner), std::move(open), server_name, deadline,
                                     std::move(on_connected));
}

std::unique_ptr<Connecting> accept_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                       std::shared_ptr<const TlsContext> context, std::string peer_name,
                                       Millis deadline, OnConnected on_connected) {
  auto open = [context = std::move(context)] { return TlsSession::accept(context); };
  return std::make_unique<Handshake>(scheduler, std::move(inner), std::move(open), std::move(peer_name),
                                     deadline, std::move(on_connected));
}

}  // namespace sliced::reactor::net
