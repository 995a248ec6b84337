#pragma once
// The interface for request handlers, independent of the version of HTTP. A request is a head, pieces of a
// body, trailers and an end; so is the answer. The two directions are independent (RFC 9113 section 8.1), so
// that gRPC calls and streams can be built on top.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"
#include "reactor/net/listener.h"

namespace sliced::http {

struct RequestHead {
  std::string method;     // "POST"; never CONNECT, which gets 501
  std::string target;     // "/a?b", unchanged; "*" for OPTIONS
  std::string authority;  // unchanged: any text over unix sockets, such as "%2Frun%2Fx.sock" (gRPC)
  Headers headers;        // names in lower case
  std::shared_ptr<const reactor::net::Peer> from;
  /// Returns the first header of that name (lower case); nullptr if there is none.
  const std::string* header(std::string_view name) const;
};

/// Unsent bytes of an answer above which its handler should wait.
constexpr size_t kResponseRoom = 64u << 10;

/// The answer to one request. Valid as long as its Call. Calls cannot fail and call nothing back; late ones
/// are ignored.
class Response {
 public:
  virtual ~Response() = default;
  /// Called once, before a body. Status: 200 to 599. Date (if the server has a clock), Connection,
  /// Transfer-Encoding and, for a body that is complete when the head is sent, Content-Length are added. A
  /// header that cannot be encoded changes the answer to 500.
  virtual void send_head(Head head) = 0;
  /// Queues. Handlers of long answers check unsent_bytes(), and wait for Call::on_room() above kResponseRoom.
  virtual void send_body(std::string bytes) = 0;
  /// Completes the answer. Without a head before it, the answer is 500.
  virtual void finish(Headers trailers = {}) = 0;
  /// Aborts the exchange, so that the client detects an incomplete answer.
  virtual void abandon() = 0;
  /// Bytes of the body that the session has not taken, without buffers of the kernel and libraries.
  virtual size_t unsent_bytes() const = 0;
  /// Stops the client by flow control. Data that was read before may still be delivered.
  virtual void pause_request() = 0;
  virtual void resume_request() = 0;

  /// Sends a complete answer: send_head, send_body and finish in one, with Content-Length.
  void answer(int status, std::string body, const std::string& content_type = "text/plain; charset=utf-8");
};

/// The handler of one request.
/// Ownership: the connection owns it, and destroys it at the end of the exchange: after the answer is
/// complete and sent, or after on_loss(). Its jobs and timers end with it.
/// Reentry: may call all functions of its Response.
class Call {
 public:
  virtual ~Call() = default;
  virtual void on_body(std::string_view /*bytes*/) {}       // valid during the call; never empty
  virtual void on_trailers(const Headers& /*trailers*/) {}  // after the body, if there are any
  virtual void on_end() {}                                  // the request is complete (half-close)
  virtual void on_room() {}  // unsent_bytes() was above kResponseRoom, and is not now
  /// The client has disconnected, or has violated the protocol or a bound: the answer will not be read.
  virtual void on_loss(const Error& /*why*/) {}
};

/// Called with each head; may answer immediately. Null: no further events are required; without an answer the
/// client gets 500.
using Serve = std::function<std::unique_ptr<Call>(const RequestHead& head, Response& response)>;

/// Limits of clients. Time limits are checked every second. A violation ends the exchange or the connection,
/// with the status given here if an answer is still possible; none blocks a handler. Reasons:
/// docs/design/servers.md.
struct ServerBounds {
  Limits request{.head_bytes_max = 32u << 10, .body_bytes_max = 4u << 20};  // 431, 413
  size_t streams_max = 100;               // concurrent streams of a connection (HTTP/2)
  size_t answers_bytes_max = 256u << 10;  // unread answers of one connection: further requests are refused
  Millis handshake_max{10'000};           // TLS
  Millis head_max{10'000};     // from the first byte of a head, or of a connection, to the head's end
  Millis request_max{60'000};  // from the head to the end of the request, without pauses; 0: no limit
  Millis stall_max{30'000};    // time for a client to read at least 1 KiB of the available data
  Millis idle_max{120'000};    // of a connection without a request; 0: no limit
};

}  // namespace sliced::http
