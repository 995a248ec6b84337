#pragma once
// The side of ttrpc that calls.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kubelet/nri/frames.h"
#include "kubelet/nri/messages.h"
#include "kubelet/nri/server.h"
#include "reactor/scheduler.h"

namespace sliced::nri {

/// One connection's calls, any number at once, each with a stream of its own. Answers to nobody's call are
/// passed over: one that comes after its time, and one that was never asked for.
/// Threads:   the loop's.
/// Ownership: dropping it drops the calls; nobody is told.
/// Reentry:   on_answer is called from receive() or a timer, never from call(), and may drop the client.
class Client {
 public:
  /// The answer's payload. Errors: kTimeout, kInvalid (no message, refused), kIo (any other status); the text
  /// names the method.
  using OnAnswer = std::function<void(Result<std::string>)>;
  Client(reactor::Scheduler& scheduler, Send send) : scheduler_(scheduler), send_(std::move(send)) {}
  /// Sends at once. timeout: for the answer, and told to the peer. A connection that ends tells nobody here:
  /// who owns it drops the client.
  void call(std::string service, std::string method, std::string payload, Millis timeout, OnAnswer on_answer);
  /// Bytes of the connection. Last thing a caller does with it, for the client may be gone.
  void receive(std::string_view bytes);
  /// Frames that answered no call, of the whole connection. Its owner ends a connection that sends them without end.
  size_t ignored() const { return ignored_; }

 private:
  struct Pending {
    std::string method;
    OnAnswer on_answer;
    reactor::Ticket timer;
  };
  // False: no call waits for an answer on the stream.
  bool end(uint32_t stream, Result<std::string> outcome);

  reactor::Scheduler& scheduler_;
  Send send_;
  FrameReader reader_;
  size_t ignored_ = 0;
  uint32_t next_stream_ = 1;
  // By stream; odd numbers, each two above the last (ttrpc's PROTOCOL.md).
  std::map<uint32_t, Pending> pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace sliced::nri
