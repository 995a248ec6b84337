#pragma once
// gRPC's server side over HTTP (grpc/doc/PROTOCOL-HTTP2.md): unary calls, and server streaming. Messages are
// opaque bytes.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "http/grpc/status.h"
#include "http/service.h"
#include "reactor/scheduler.h"

namespace sliced::grpc {

/// Shared by a call and its Answer.
class Exchange;

/// The answer to a call. Its owner gives it immediately or later, on the loop's thread. Dropped without an
/// answer, it sends kInternal. Calls after the end are ignored. Reentry: calls nothing back. Each message is
/// queued immediately, so the author of a stream decides which messages to drop when unsent_bytes() grows.
class Answer {
 public:
  explicit Answer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  Answer(Answer&&) = default;
  Answer& operator=(Answer&&) = delete;
  ~Answer();

  /// Unary call: the whole answer. Stream: one more message.
  void send(std::string_view message);
  /// Ends the call. kOk is for streams only; send() ends a unary call.
  void finish(const Status& status);
  /// Returns whether the client is connected, its timeout has not passed, and the call has not ended.
  bool is_wanted() const;
  /// Sets a callback for the loss of the client before the end: it has disconnected, violated the protocol,
  /// or its timeout has passed. Called once.
  void on_loss(std::function<void()> callback);
  /// Bytes that the client has not read; a long stream waits for on_room above http::kResponseRoom.
  size_t unsent_bytes() const;
  void on_room(std::function<void()> callback);

 private:
  std::shared_ptr<Exchange> exchange_;
};

/// Called with each complete request; the message is valid during the call.
using Handler = std::function<void(std::string_view message, Answer answer)>;

/// handle: called on the loop's thread, once for each complete request; it may keep the Answer for any time.
struct Method {
  Handler handle;
  bool is_stream = false;  // server streaming
  /// Limit of a call's duration, and the default if the client sends none. 0: no limit.
  Millis longest{0};
};
/// By path: "/package.Service/Method".
using Methods = std::map<std::string, Method, std::less<>>;

/// Returns an HTTP handler for the methods. Answers 405 to methods other than POST, 415 to types other than
/// application/grpc, kUnimplemented to unknown paths. The scheduler and the objects that handlers use outlive
/// every server.
http::Serve serve_methods(reactor::Scheduler& scheduler, Methods methods);

/// Bounds for http::Server with a client that keeps its connection (the kubelet): no idle timeout, bodies of
/// one message (kMessageMax) with its prefixes; otherwise the defaults of ServerBounds.
http::ServerBounds patient_bounds();

}  // namespace sliced::grpc
