#include "http/server_connection.h"

#include <algorithm>
#include <utility>

#include "http/http1_server.h"
#include "http/http2_server.h"
#include "reactor/net/tls_stream.h"

namespace sliced::http {
namespace {

using reactor::net::ByteStream;

constexpr size_t kWireMax = 64u << 10;
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113 section 3.4

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<const Shared> shared, reactor::net::Peer peer)
    : shared_(std::move(shared)),
      peer_(std::make_shared<const reactor::net::Peer>(std::move(peer))),
      started_at_(shared_->scheduler.now()) {
  start_timers(started_at_);
}

ServerConnection::~ServerConnection() = default;

void ServerConnection::begin(std::unique_ptr<ByteStream> wire) {
  wire_ = std::move(wire);
  if (const std::string protocol = wire_->protocol(); !protocol.empty()) start_session(protocol == "h2");
  wire_->receive({.on_data = [this](std::string_view bytes) { on_data(bytes); },
                  .on_end = [this] { on_wire_end(); },
                  .on_error =
                      [this](const Error& error) {
                        const auto self = shared_from_this();
                        const Error why = error;  // a copy, because the original is destroyed with the wire
                        if (calls() > 0)
                          fail(why);
                        else
                          cut(why);
                      },
                  .on_drained = [this] { flush(); }});
  wire_->resume();  // a handshake leaves it paused
  flush();
}

void ServerConnection::begin_tls(std::unique_ptr<ByteStream> plain,
                                 std::shared_ptr<const reactor::net::TlsContext> tls) {
  handshake_ = reactor::net::accept_tls(shared_->scheduler, std::move(plain), std::move(tls), peer_->name,
                                        shared_->bounds.handshake_max,
                                        [this](Result<std::unique_ptr<ByteStream>> secured) {
                                          const auto self = shared_from_this();
                                          const auto over = std::move(handshake_);
                                          if (!secured) return fail(secured.error());
                                          auto peer = std::make_shared<reactor::net::Peer>(*peer_);
                                          peer->certificate = (*secured)->peer_subject();
                                          peer_ = std::move(peer);
                                          start_timers(shared_->scheduler.now());
                                          begin(*std::move(secured));
                                        });
}

void ServerConnection::start_timers(TimePoint now) {
  started_at_ = last_heard_ = idle_since_ = moved_at_ = now;
}

void ServerConnection::on_data(std::string_view bytes) {
  const auto self = shared_from_this();
  last_heard_ = shared_->scheduler.now();
  has_pinged_ = false;
  std::string first;
  if (!session_) {
    first = std::exchange(prefix_, {}) + std::string(bytes);
    if (!choose_version(first)) return arm();
    bytes = first;
  }
  const auto fed = session_->feed(bytes, last_heard_);
  if (!fed) report(fed.error());
  flush();
}

// Without TLS a client's first bytes determine the version (RFC 9113 section 3.3).
bool ServerConnection::choose_version(std::string_view bytes) {
  const std::string_view expected = kHttp2Preface.substr(0, bytes.size());
  const bool is_http2 = bytes.starts_with(expected);
  if (is_http2 && bytes.size() < kHttp2Preface.size()) {
    prefix_ = bytes;
    return false;
  }
  start_session(is_http2);
  return true;
}

void ServerConnection::start_session(bool is_http2) {
  SessionContext context{shared_->bounds, shared_->serve, shared_->clock, peer_, [this] { wake(); }};
  const TimePoint now = shared_->scheduler.now();
  session_ = is_http2 ? make_http2_server_session(std::move(context), now)
                      : make_http1_server_session(std::move(context), now);
  if (is_draining_) session_->drain();
}

void ServerConnection::on_wire_end() {
  const auto self = shared_from_this();
  is_input_closed_ = true;
  if (is_closing_ || !session_) return remove();
  session_->end_of_input(shared_->scheduler.now());
  flush();
}

void ServerConnection::run_pending() {
  const auto self = shared_from_this();
  const auto over = std::move(soon_);
  if (!session_ || is_closed_) return;
  session_->run_pending(shared_->scheduler.now());
  flush();
}

void ServerConnection::flush() {
  if (is_closed_ || !session_ || !wire_) return arm();
  const auto self = shared_from_this();
  const TimePoint now = shared_->scheduler.now();
  bool has_more = true;
  while (has_more && !is_closing_ && wire_->unsent_bytes() < kWireMax) {
    std::string bytes = session_->take_outgoing(now);
    has_more = !bytes.empty();
    if (wire_->unsent_bytes() == 0) {
      moved_ = written_;
      moved_at_ = now;
    }
    written_ += bytes.size();
    if (has_more) wire_->write(std::move(bytes));
  }
  if (session_->calls() > 0) idle_since_ = now;
  if (!has_more && session_->is_finished()) close();
  if (is_closing_ && is_input_closed_ && wire_->unsent_bytes() == 0) return remove();
  const bool is_deaf = !is_closing_ && (!session_->wants_input() || wire_->unsent_bytes() >= kWireMax);
  if (is_deaf != std::exchange(is_deaf_, is_deaf)) {
    if (is_deaf)
      wire_->pause();
    else
      wire_->resume();
  }
  arm();
}

// Closes the sending side; received data is read and discarded for a while.
void ServerConnection::close() {
  if (std::exchange(is_closing_, true)) return;
  closed_at_ = shared_->scheduler.now();
  wire_->close();
}

void ServerConnection::drain() {
  is_draining_ = true;
  if (handshake_ || !session_) return cut({Errc::kCanceled, "the server stops"});
  session_->drain();
  wake();
}

void ServerConnection::wake() {
  if (!soon_) soon_ = shared_->scheduler.after(Millis{0}, [this] { run_pending(); });
}

void ServerConnection::cut(const Error& why) {
  const auto self = shared_from_this();
  if (session_) session_->fail_all(why);
  remove();
}

void ServerConnection::remove() {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();
  handshake_.reset();
  wire_.reset();
  clock_.reset();
  soon_.reset();
  shared_->on_closed(*this);
}

void ServerConnection::report(const Error& error) {
  if (shared_->on_trouble) shared_->on_trouble(*peer_, error);
}

// Received bytes only change time stamps, so that a busy connection sets no timers.
void ServerConnection::arm() {
  if (is_closed_) return;
  const TimePoint next = next_deadline();
  if (clock_ && checks_at_ <= next) return;
  checks_at_ = next;
  const Millis wait = std::max(next - shared_->scheduler.now(), Millis{0});
  clock_ = next == TimePoint::max() ? nullptr : shared_->scheduler.after(wait, [this] { on_clock(); });
}

TimePoint ServerConnection::next_deadline() const {
  const ServerBounds& bounds = shared_->bounds;
  const TimePoint soon = shared_->scheduler.now() + kCheckEvery;
  if (handshake_) return TimePoint::max();  // has its own
  if (!session_ || wire_->unsent_bytes() > 0) return soon;
  if (is_closing_) return linger_deadline();
  if (session_->is_waiting()) return soon;
  TimePoint next = TimePoint::max();
  if (session_->calls() == 0 && bounds.idle_max.count() != 0) next = idle_since_ + bounds.idle_max;
  if (session_->has_ping())
    next = std::min(next, last_heard_ + kClientPingAfter + (has_pinged_ ? kClientPingAnswerMax : Millis{0}));
  return next;
}

// Data of a client that still sends is read: for unread data the kernel would send a reset.
TimePoint ServerConnection::linger_deadline() const {
  const TimePoint last_activity = std::max(closed_at_, moved_at_);
  return std::min(std::max(last_activity, last_heard_) + kLingerSilentMax, last_activity + kLingerMax);
}

void ServerConnection::on_clock() {
  const auto self = shared_from_this();
  const auto over = std::move(clock_);
  const TimePoint now = shared_->scheduler.now();
  const ServerBounds& bounds = shared_->bounds;
  if (!session_) return now - started_at_ >= bounds.head_max ? remove() : arm();
  if (is_stalled(now)) return fail({Errc::kTimeout, "the client does not read"});
  if (is_closing_) return wire_->unsent_bytes() == 0 && now >= linger_deadline() ? remove() : arm();
  if (const auto checked = session_->check(now); !checked) report(checked.error());
  const bool is_idle = session_->calls() == 0 && bounds.idle_max.count() != 0 && !session_->is_waiting();
  if (is_idle && now - idle_since_ >= bounds.idle_max) session_->drain();
  if (is_unresponsive(now)) return fail({Errc::kTimeout, "the client does not answer a PING"});
  flush();
}

bool ServerConnection::is_stalled(TimePoint now) {
  const size_t unsent = wire_->unsent_bytes();
  if (unsent == 0) return false;
  const uint64_t moved = written_ - unsent;
  if (moved < moved_ + kProgressBytes) return now - moved_at_ >= shared_->bounds.stall_max;
  moved_ = moved;
  moved_at_ = now;
  return false;
}

bool ServerConnection::is_unresponsive(TimePoint now) {
  const Millis quiet = now - last_heard_;
  if (!session_->has_ping() || quiet < kClientPingAfter) return false;
  if (!std::exchange(has_pinged_, true)) session_->ping();
  return quiet >= kClientPingAfter + kClientPingAnswerMax;
}

bool ServerConnection::awaits_client() const {
  return calls() == 0 || session_->is_waiting() || wire_->unsent_bytes() > 0;
}

void ServerConnection::fail(const Error& why) {
  report(why);
  cut(why);
}

}  // namespace sliced::http
