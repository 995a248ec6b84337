#pragma once
// The side of ttrpc that is called (github.com/containerd/ttrpc): calls with one request and one response.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kubelet/nri/messages.h"
#include "reactor/scheduler.h"

namespace sliced::nri {

/// Where frames go: a connection of the multiplexer.
/// Takes the bytes as they are: what the connection does with them when it is slow is its own affair.
using Send = std::function<void(std::string bytes)>;

/// The one answer to a call, owed until somebody gives it. Dropping it answers kInternal.
/// Reentry: sends from within the answer.
class Answer {
 public:
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) noexcept;
  ~Answer();
  /// Each at most once. False: nobody waits any more (the time is up, which the caller has been told, or the
  /// connection is gone), so that what was done for the call is to be undone.
  bool give(std::string payload);
  bool refuse(Code code, std::string why);
  /// Until then the caller can be answered; it will have been by then.
  TimePoint deadline() const;

 private:
  friend class Server;
  struct Owed;
  explicit Answer(std::shared_ptr<Owed> owed);
  std::shared_ptr<Owed> owed_;
};

/// One connection's calls. A caller whose time runs out is told so a tenth of it before: a runtime that hears
/// nothing drops the plugin and goes on as if it had agreed.
/// Ownership: dropping the server drops the calls; their answers are not taken.
/// Reentry:   a method may answer at once, and may drop the server.
/// Bounds:    64 calls at once; more are refused. What is no call with one request (streams, unknown methods)
///            is refused by code, and the connection goes on.
class Server {
 public:
  /// payload: valid during the call.
  using Method = std::function<void(std::string_view payload, Answer answer)>;
  /// methods: by "service/method".
  Server(reactor::Scheduler& scheduler, std::map<std::string, Method, std::less<>> methods, Send send);
  ~Server();
  /// Bytes of the connection.
  /// Last thing a caller does with it, for a method may have dropped the server.
  void receive(std::string_view bytes);
  /// Frames without an answer (responses, to which nothing was asked), of the whole connection. Its owner ends a connection
  /// that sends them without end.
  size_t ignored() const;
  /// How long a caller waits that does not say; 2 s at first, as NRI's runtimes.
  void set_timeout(Millis timeout);

 private:
  friend class Answer;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace sliced::nri
