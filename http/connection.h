#pragma once
// A connection to a server that carries exchanges, whatever version of HTTP it speaks: one at a time
// (http/http1_connection.h), or many at once (http/http2_connection.h).
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// What became of a request that has no whole response.
/// The fate decides whether it may be sent again (Client's Repeats); the error is for whoever is told in the
/// end.
struct Loss {
  enum class Fate {
    kUnprocessed,  // the server has not acted on it, and says so: it may be sent again, whatever it is
    kUnanswered,   // not a byte of a response; whether the server has acted on it nobody knows
    kCut,          // in the middle of the response
  };
  Error error;
  Fate fate = Fate::kCut;
};

/// Hears of one exchange: on_head, pieces of the body, on_end; or on_loss, at any point, as the last word.
/// Each call may drop its Stream, others, and the Connection.
class Receiver {
 public:
  virtual void on_head(const Head& head) = 0;
  virtual void on_body(std::string_view bytes) = 0;       // valid during the call; never empty
  virtual void on_trailers(const Headers& trailers) = 0;  // behind the body, where there are any
  virtual void on_end() = 0;
  virtual void on_loss(const Loss& loss) = 0;
  /// The connection takes no more exchanges and ends with its last one: what goes on for long should leave
  /// it, soon or at once. May be said twice.
  virtual void on_drain(bool at_once) = 0;

 protected:
  ~Receiver() = default;
};

/// One exchange on its connection. Dropping it ends the exchange without a further call: over HTTP/2 it is
/// reset, over HTTP/1.1 it takes the connection with it.
class Stream {
 public:
  virtual ~Stream() = default;
  /// The server is held back by flow control; what was read before may still come.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Ownership: streams keep their connection alive, so that its owner may let go of it at any time.
/// Reentry:   no Receiver is called from within send(), pause() and resume().
class Connection {
 public:
  virtual ~Connection() = default;
  /// Begins an exchange; streams() must be below streams_max(). The receiver outlives the stream.
  [[nodiscard]] virtual std::unique_ptr<Stream> send(OutgoingRequestPtr request, const Limits& limits,
                                                     Receiver& receiver) = 0;
  /// Exchanges that are not over, those that are being reset not among them.
  virtual size_t streams() const = 0;
  /// How many the server takes at once, as far as is known; 0 once it drains or is closed.
  virtual size_t streams_max() const = 0;
  /// HTTP/2: exchanges share it, and one that is dropped costs a reset and not the connection.
  virtual bool is_multiplexed() const = 0;
  /// Nothing more is to be sent on it, by the server's word or by drain(); what goes on may end.
  virtual bool is_draining() const = 0;
  /// Nothing goes on either: it may be let go of.
  virtual bool is_closed() const = 0;
  /// No more exchanges; tells the receivers (on_drain) of those that go on.
  virtual void drain(bool at_once) = 0;
  /// Called when an exchange has ended, and when the server drains or ends the connection.
  void on_change(std::function<void()> told) { on_change_ = std::move(told); }

 protected:
  // Last statement of whoever calls it: the owner may let go of the connection.
  void notify_change() {
    const std::function<void()> told = on_change_;  // may be replaced meanwhile
    if (told) told();
  }

 private:
  std::function<void()> on_change_;
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace sliced::http
