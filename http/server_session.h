#pragma once
// Private to http/: a server's connection as bytes in and bytes out, for any version, without sockets and
// timers. Implemented in http1_server.h and http2_server.h.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/service.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::http {

constexpr size_t kOutgoingPiece = 64u << 10;  // approximate limit per call
constexpr size_t kProgressBytes = 1024;       // that a client must read within ServerBounds::stall_max
// HTTP/1.1: a client that closes its sending side may still read, but most (browsers, curl) have
// disconnected. Work on its answer is limited to this time. A started answer is sent; the kernel reports
// whether the client reads it.
constexpr Millis kHalfClosedMax{5'000};

/// Reentry: calls are notified from within feed(), run_pending(), check() and fail_all() only. The session outlives
/// each.
class ServerSession {
 public:
  virtual ~ServerSession() = default;
  /// Processes bytes from the client, split anywhere. Errors: a violation of the protocol or a bound; send
  /// the outgoing bytes and close. After an error further bytes are ignored.
  virtual Result<Unit> feed(std::string_view from_client, TimePoint now) = 0;
  /// The client has closed its sending side.
  virtual void end_of_input(TimePoint now) = 0;
  /// Processes deferred work: answers made meanwhile, paused requests.
  virtual void run_pending(TimePoint now) = 0;
  /// Returns a piece to send; "" if there is none now.
  virtual std::string take_outgoing(TimePoint now) = 0;
  /// Ends exchanges that exceed a time limit. Errors: the connection is to be closed.
  virtual Result<Unit> check(TimePoint now) = 0;
  /// Returns whether a time limit applies: the client must send or read, or may have disconnected.
  virtual bool is_waiting() const = 0;
  /// Returns whether more bytes can be processed now.
  virtual bool wants_input() const = 0;
  virtual size_t calls() const = 0;
  /// Accepts no more requests than those in progress or in transit; ends with the last one.
  virtual void drain() = 0;
  /// After all outgoing bytes are sent, the connection may be closed.
  virtual bool is_finished() const = 0;
  virtual void fail_all(const Error& why) = 0;
  /// Probes the client, if the version can.
  virtual bool has_ping() const { return false; }
  virtual void ping() {}
};

/// The environment of a session; the references outlive it (ServerConnection::Shared).
struct SessionContext {
  const ServerBounds& bounds;
  const Serve& serve;
  const std::function<int64_t()>& clock;  // optional
  std::shared_ptr<const reactor::net::Peer> peer;
  std::function<void()> wake;  // requests a call of run_pending() soon
};

/// An answer between the handler and the session.
/// Bounds: body_ contains the handler's unsent bytes. Handlers that check unsent_bytes() keep it near
/// kResponseRoom; for others answers_bytes_max applies at the client's next request.
/// Reentry: on_progress is called for each change, and only records it.
class QueuedResponse final : public Response {
 public:
  explicit QueuedResponse(std::function<void()> on_progress) : on_progress_(std::move(on_progress)) {}

  void send_head(Head head) override;
  void send_body(std::string bytes) override;
  void finish(Headers trailers = {}) override;
  void abandon() override;
  size_t unsent_bytes() const override { return body_.size() - sent_bytes_; }
  void pause_request() override;
  void resume_request() override;

  bool has_head() const { return head_.has_value(); }  // not taken yet
  bool is_started() const { return is_started_; }
  bool is_whole() const { return is_whole_; }
  bool is_abandoned() const { return is_abandoned_; }
  bool is_paused() const { return is_paused_; }
  bool has_body() const { return unsent_bytes() != 0; }
  /// Adds Content-Length if the body is complete, and Date if there is a clock (RFC 9110 section 6.6.1).
  /// of_head: the request was a HEAD.
  Head take_head(bool of_head, const std::function<int64_t()>& clock);
  /// Valid until the next call of this object.
  std::string_view take_body(size_t max);
  Headers take_trailers() { return std::exchange(trailers_, {}); }
  bool has_trailers() const { return !trailers_.empty(); }
  /// Returns true once after each time that there was too much data: on_room() is due.
  bool take_room();
  /// Drops waiting data and answers with this, if nothing was sent before.
  void replace(int status, std::string text);

 private:
  const std::function<void()> on_progress_;
  std::optional<Head> head_;
  std::string body_;
  size_t sent_bytes_ = 0;  // of body_
  Headers trailers_;
  bool is_started_ = false, is_whole_ = false, is_abandoned_ = false, is_paused_ = false, was_full_ = false;
};

/// Returns "Not Found"; "Unknown" for a status without a name.
std::string_view reason_of(int status);

}  // namespace sliced::http
