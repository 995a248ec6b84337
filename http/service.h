#pragma once
// The server's side as handlers of requests see it, the same in every version of HTTP: a head comes, pieces
// of a body, trailers and an end; a head goes, pieces of a body, trailers and an end. The two halves do not
// wait for each other (RFC 9113 section 8.1), so that calls of gRPC, streams included, fit on top.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"
#include "reactor/net/listener.h"

namespace sliced::http {

struct RequestHead {
  std::string method;     // "POST"; never CONNECT, which is answered 501
  std::string target;     // "/a?b", as it came; "*" of OPTIONS
  std::string authority;  // as it came: over unix sockets anything, also "%2Frun%2Fx.sock" (gRPC)
  Headers headers;        // names in lower case
  std::shared_ptr<const reactor::net::Peer> from;
  /// The first header of that name (lower case); nullptr when there is none.
  const std::string* header(std::string_view name) const;
};

/// Bytes of an answer that may wait before its handler is asked to wait, too.
constexpr size_t kResponseRoom = 64u << 10;

/// The answer to one request. Valid as long as its Call lives. Nothing here fails and nothing is called back
/// from within; what comes too late, or behind the end, is passed over.
class Response {
 public:
  virtual ~Response() = default;
  /// Once, before a body. Status: 200 to 599. Date (where the server has a clock), Connection,
  /// Transfer-Encoding and, where the whole body is there at once, Content-Length are ours. A header that
  /// cannot be written makes it a 500.
  virtual void send_head(Head head) = 0;
  /// Queues. Who has much to say watches unsent_bytes(), and waits for Call::on_room() above kResponseRoom.
  virtual void send_body(std::string bytes) = 0;
  /// The answer is whole. Without a head before it, it is a 500.
  virtual void finish(Headers trailers = {}) = 0;
  /// Ends the exchange in the middle, so that the client cannot take the answer for whole.
  virtual void abandon() = 0;
  /// Of the body, as the handler gave it: not what the kernel or the library keeps behind it.
  virtual size_t unsent_bytes() const = 0;
  /// The client is held back by flow control; what was read before may still come.
  virtual void pause_request() = 0;
  virtual void resume_request() = 0;

  /// A whole answer.
  /// send_head, send_body and finish in one: with a Content-Length, because everything is there.
  void answer(int status, std::string body, const std::string& content_type = "text/plain; charset=utf-8");
};

/// What handles one request; hears of it.
/// Ownership: belongs to the connection, which drops it when the exchange is over: once its answer is whole
///            and on its way, or behind on_loss(). What it holds (jobs, timers) goes with it.
/// Reentry:   may call everything of its Response.
class Call {
 public:
  virtual ~Call() = default;
  virtual void on_body(std::string_view /*bytes*/) {}       // valid during the call; never empty
  virtual void on_trailers(const Headers& /*trailers*/) {}  // behind the body, where there are any
  virtual void on_end() {}                                  // the request is whole (half-close)
  virtual void on_room() {}  // unsent_bytes() was above kResponseRoom, and is not now
  /// The client is gone, or has broken a rule or a bound: nobody will read the answer.
  virtual void on_loss(const Error& /*why*/) {}
};

/// Called with each head; may answer at once. Null: nothing more is to be heard; what is not answered by then
/// is a 500.
using Serve = std::function<std::unique_ptr<Call>(const RequestHead& head, Response& response)>;

/// What a client may take. Times are looked at every second.
/// Each that is passed ends its exchange or its connection, by the status beside it where an answer can still be
/// given; none blocks a handler. Why they are what they are: docs/design/servers.md.
struct ServerBounds {
  Limits request{.head_bytes_max = 32u << 10, .body_bytes_max = 4u << 20};  // 431, 413
  size_t streams_max = 100;               // of a connection at once (HTTP/2)
  size_t answers_bytes_max = 256u << 10;  // of one that wait for the client: more requests are refused
  Millis handshake_max{10'000};           // TLS
  Millis head_max{10'000};     // from the first byte of a head, or of a connection, to the head's end
  Millis request_max{60'000};  // from the head to the end of the request, pauses not counted; 0: for ever
  Millis stall_max{30'000};    // in which a client takes at least 1 KiB of what there is for it
  Millis idle_max{120'000};    // of a connection without a request; 0: for ever
};

}  // namespace sliced::http
