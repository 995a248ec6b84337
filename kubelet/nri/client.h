#pragma once
// The client side of ttrpc.
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

/// The calls of one connection, any number concurrently, each with a stream of its own. Ignores answers
/// without a call: late ones and unsolicited ones. Threads: the loop's. Ownership: the destructor drops the
/// calls without callbacks. Reentry: on_answer is called from receive() or a timer, never from call(), and
/// may drop the client.
class Client {
 public:
  /// The answer's payload. Errors: kTimeout, kInvalid (not a message, refused), kIo (any other status); the
  /// text names the method.
  using OnAnswer = std::function<void(Result<std::string>)>;
  Client(reactor::Scheduler& scheduler, Send send) : scheduler_(scheduler), send_(std::move(send)) {}
  /// Sends immediately. timeout: for the answer; sent to the peer, too. The end of the connection is not
  /// reported here: its owner drops the client.
  void call(std::string service, std::string method, std::string payload, Millis timeout, OnAnswer on_answer);
  /// Processes bytes of the connection. The caller must not use the client afterwards, because a callback may
  /// have dropped it.
  void receive(std::string_view bytes);
  /// Returns the number of frames that answered no call, of the whole connection. Its owner closes a
  /// connection with too many.
  size_t ignored() const { return ignored_; }

 private:
  struct Pending {
    std::string method;
    OnAnswer on_answer;
    reactor::Ticket timer;
  };
  // Returns false if no call waits for an answer on the stream.
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
