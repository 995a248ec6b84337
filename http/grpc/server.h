#pragma once
// gRPC's server side over HTTP's (grpc/doc/PROTOCOL-HTTP2.md): calls with one message each way, and calls that
// are answered by many. What the messages mean is the handlers' business.
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

/// What a call and whoever answers it share.
class Exchange;

/// The answer to a call; belongs to whoever will give it, at once or later, on the loop's thread.
/// Dropped without one, it answers kInternal. What comes once the call is over is passed over.
/// Reentry: nobody is called from within.
/// Each message goes into the client's queue at once: nothing is kept here, so that a stream's author decides
/// what is dropped when unsent_bytes() grows.
class Answer {
 public:
  explicit Answer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  Answer(Answer&&) = default;
  Answer& operator=(Answer&&) = delete;
  ~Answer();

  /// Of a unary call: the whole answer. Of a stream: one message more.
  void send(std::string_view message);
  /// The end. kOk ends a stream only; a unary call has its end with send().
  void finish(const Status& status);
  /// Somebody waits for it: the client is there, its time is not over, and the end is not said.
  bool is_wanted() const;
  /// Once, when nobody waits any more although the end was not said: the client is gone or has broken a rule,
  /// or its time is over.
  void on_loss(std::function<void()> told);
  /// What the client has not taken yet; who streams much waits for on_room above http::kResponseRoom.
  size_t unsent_bytes() const;
  void on_room(std::function<void()> told);

 private:
  std::shared_ptr<Exchange> exchange_;
};

/// Called with each whole request; the message is valid during the call.
using Handler = std::function<void(std::string_view message, Answer answer)>;

/// handle is called on the loop's thread, once for each request that is whole, however late; it may keep the
/// Answer as long as it likes.
struct Method {
  Handler handle;
  bool is_stream = false;  // answered by many messages
  /// The most that a call may take, and what it may where the client says nothing. 0: for ever.
  Millis longest{0};
};
/// By path: "/package.Service/Method".
using Methods = std::map<std::string, Method, std::less<>>;

/// Calls as requests of HTTP. Not POST: 405; not application/grpc: 415; no such path: kUnimplemented. The
/// scheduler and what the handlers hold outlive every server that it is given to.
http::Serve serve_methods(reactor::Scheduler& scheduler, Methods methods);

/// For http::Server: of a client that keeps its connection for as long as both live (the kubelet).
/// No end for being idle, and bodies of one message (kMessageMax) with its prefixes; all else as ServerBounds
/// has it.
http::ServerBounds patient_bounds();

}  // namespace sliced::grpc
