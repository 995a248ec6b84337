#pragma once
// The server side of ttrpc (github.com/containerd/ttrpc): calls with one request and one response.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kubelet/nri/messages.h"
#include "reactor/scheduler.h"

namespace sliced::nri {

/// Sends frames on a connection of the multiplexer. The connection handles backpressure.
using Send = std::function<void(std::string bytes)>;

/// The pending answer to a call. Dropping it answers kInternal. Reentry: sends from within the answer.
class Answer {
 public:
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) noexcept;
  ~Answer();
  /// Return false if the answer is too late, because the caller got a timeout or has disconnected; the callee
  /// undoes its changes. Call one of them once.
  bool give(std::string payload);
  bool refuse(Code code, std::string why);
  /// The caller can be answered until this time; then it gets a timeout.
  TimePoint deadline() const;

 private:
  friend class Server;
  struct Pending;
  explicit Answer(std::shared_ptr<Pending> owed);
  std::shared_ptr<Pending> pending_;
};

/// The calls of one connection. A caller gets a timeout error after 90 % of its time: a runtime without an
/// answer drops the plugin and continues as if it had agreed.
/// Ownership: the destructor drops the calls; their answers are ignored.
/// Reentry: a method may answer immediately, and may drop the server.
/// Bounds: 64 concurrent calls; more are refused. Streams and unknown methods are refused by code, and the
/// connection continues.
class Server {
 public:
  /// payload: valid during the call.
  using Method = std::function<void(std::string_view payload, Answer answer)>;
  /// methods: by "service/method".
  Server(reactor::Scheduler& scheduler, std::map<std::string, Method, std::less<>> methods, Send send);
  ~Server();
  /// Processes bytes of the connection. The caller must not use the server afterwards, because a method may
  /// have dropped it.
  void receive(std::string_view bytes);
  /// Returns the number of unsolicited responses on the whole connection. Its owner closes a connection with
  /// too many.
  size_t ignored() const;
  /// Sets the timeout for callers that send none; initially 2 s, as in NRI's runtimes.
  void set_timeout(Millis timeout);

 private:
  friend class Answer;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::nri
