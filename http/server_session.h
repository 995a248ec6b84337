#pragma once
// Inside http/: a server's connection as bytes in, bytes out, whatever version it speaks; knows no socket and
// no timer. http1_server.h and http2_server.h are such.
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

constexpr size_t kOutgoingPiece = 64u << 10;  // about as much at once
constexpr size_t kProgressBytes = 1024;       // which a client takes within ServerBounds::stall_max
// Of HTTP/1.1: who closes his half may still listen, but most (browsers, curl) are gone. What an answer of theirs costs goes
// on for so long. One that is begun is sent: the kernel says whether anybody takes it.
constexpr Millis kHalfClosedMax{5'000};

/// Reentry:   calls hear from within feed(), turn(), check() and lose_all() only. The session outlives each.
class ServerSession {
 public:
  virtual ~ServerSession() = default;
  /// Bytes from the client, cut anywhere. Errors: it has broken a rule or a bound; what is outgoing is the
  /// last word.
  /// After an error it may be fed on, and looks at nothing.
  virtual Result<Unit> feed(std::string_view from_client, TimePoint now) = 0;
  /// The client sends no more.
  virtual void end_of_input(TimePoint now) = 0;
  /// What waits for a turn of its own: answers made meanwhile, requests that were paused.
  virtual void turn(TimePoint now) = 0;
  /// A piece of what is to be sent; "" when there is no more now.
  virtual std::string take_outgoing(TimePoint now) = 0;
  /// Loses what takes too long. Errors: the connection is not worth keeping.
  virtual Result<Unit> check(TimePoint now) = 0;
  /// Something is to be checked: a client that owes us bytes, takes none, or may be gone.
  virtual bool is_waiting() const = 0;
  /// More bytes are of use now.
  virtual bool wants_input() const = 0;
  virtual size_t calls() const = 0;
  /// No more requests than are here or on their way; ends with the last one.
  virtual void drain() = 0;
  /// Nothing comes any more: once everything outgoing is sent, the connection may be closed.
  virtual bool is_over() const = 0;
  virtual void lose_all(const Error& why) = 0;
  /// Asks whether the client lives, where the version can.
  virtual bool has_ping() const { return false; }
  virtual void ping() {}
};

/// What a session is given; the references outlive it (ServerConnection::Shared).
struct SessionContext {
  const ServerBounds& bounds;
  const Serve& serve;
  const std::function<int64_t()>& clock;  // optional
  std::shared_ptr<const reactor::net::Peer> peer;
  std::function<void()> wake;  // turn() is wanted, soon
};

/// An answer as far as it is made and not taken yet.
/// Bounds:  body_ holds what the handler gave and nobody took: handlers that watch unsent_bytes() keep it
///          near kResponseRoom, and those that do not are bounded by answers_bytes_max at their client's next
///          request.
/// Reentry: on_progress is called in each call that changes something, and only notes it.
class QueuedResponse final : public Response {
 public:
  explicit QueuedResponse(std::function<void()> on_progress) : on_progress_(std::move(on_progress)) {}

  void send_head(Head head) override;
  void send_body(std::string bytes) override;
  void finish(Headers trailers = {}) override;
  void abandon() override;
  size_t unsent_bytes() const override { return body_.size() - taken_; }
  void pause_request() override;
  void resume_request() override;

  bool has_head() const { return head_.has_value(); }  // not taken yet
  bool is_begun() const { return is_begun_; }
  bool is_whole() const { return is_whole_; }
  bool is_abandoned() const { return is_abandoned_; }
  bool is_paused() const { return is_paused_; }
  bool has_body() const { return unsent_bytes() != 0; }
  /// With Content-Length, where everything is there, and Date, where there is a clock (RFC 9110 section 6.6.1).
  /// of_head: the request was a HEAD.
  Head take_head(bool of_head, const std::function<int64_t()>& clock);
  /// Valid until the next call of anything here.
  std::string_view take_body(size_t max);
  Headers take_trailers() { return std::exchange(trailers_, {}); }
  bool has_trailers() const { return !trailers_.empty(); }
  /// Once behind each time that there was too much: on_room() is due.
  bool take_room();
  /// What waits is dropped, and this is the answer, if nothing was sent of another.
  void replace(int status, std::string text);

 private:
  const std::function<void()> on_progress_;
  std::optional<Head> head_;
  std::string body_;
  size_t taken_ = 0;  // of body_
  Headers trailers_;
  bool is_begun_ = false, is_whole_ = false, is_abandoned_ = false, is_paused_ = false, was_full_ = false;
};

/// "Not Found"; "Unknown" for a status without a name.
std::string_view reason_of(int status);

}  // namespace sliced::http
