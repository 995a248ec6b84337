#pragma once
// A connection to a server that carries exchanges, for any version of HTTP: one at a time
// (http/http1_connection.h), or many concurrently (http/http2_connection.h).
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"

namespace sliced::http {

/// The reason of an incomplete response. The fate determines whether the request may be sent again (see
/// Client's Repeats); the error is for the caller.
struct Loss {
  enum class Fate {
    kUnprocessed,  // the server has not processed it, and reports so: any request may be sent again
    kUnanswered,   // no byte of a response: unknown whether the server has processed it
    kCut,          // within the response
  };
  Error error;
  Fate fate = Fate::kCut;
};

/// Receives one exchange: on_head, pieces of the body, on_end; or on_loss, at any point, as the last call.
/// Each call may drop its Stream, others, and the Connection.
class Receiver {
 public:
  virtual void on_head(const Head& head) = 0;
  virtual void on_body(std::string_view bytes) = 0;       // valid during the call; never empty
  virtual void on_trailers(const Headers& trailers) = 0;  // after the body, if there are any
  virtual void on_end() = 0;
  virtual void on_loss(const Loss& loss) = 0;
  /// The connection accepts no more exchanges and ends with its last one; a long exchange should leave it
  /// soon, or immediately. May be called twice.
  virtual void on_drain(bool at_once) = 0;

 protected:
  ~Receiver() = default;
};

/// One exchange on its connection. Dropping it ends the exchange without a further call: HTTP/2 resets the
/// stream, HTTP/1.1 closes the connection.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Stops the server by flow control. Data that was read before may still be delivered.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Ownership: streams keep their connection alive, so its owner may drop it at any time. Reentry: no Receiver
/// is called from within send(), pause() and resume().
class Connection {
 public:
  virtual ~Connection() = default;
  /// Starts an exchange. Requires: streams() is below streams_max(). The receiver outlives the stream.
  [[nodiscard]] virtual std::unique_ptr<Stream> send(OutgoingRequestPtr request, const Limits& limits,
                                                     Receiver& receiver) = 0;
  /// Returns the number of exchanges in progress, without those that are being reset.
  virtual size_t streams() const = 0;
  /// Returns the server's limit of concurrent exchanges, as far as it is known; 0 after it drains or is
  /// closed.
  virtual size_t streams_max() const = 0;
  /// HTTP/2: exchanges share it, and dropping one only resets a stream.
  virtual bool is_multiplexed() const = 0;
  /// No further request may be sent, because of the server or drain(); exchanges in progress may end.
  virtual bool is_draining() const = 0;
  /// No exchange is in progress either: it may be dropped.
  virtual bool is_closed() const = 0;
  /// Accepts no more exchanges, and calls on_drain of the receivers in progress.
  virtual void drain(bool at_once) = 0;
  /// Sets a callback for the end of an exchange, and for the server's drain or close.
  void on_change(std::function<void()> callback) { on_change_ = std::move(callback); }

 protected:
  // Must be the caller's last statement: the owner may drop the connection.
  void notify_change() {
    const std::function<void()> callback = on_change_;  // may be replaced meanwhile
    if (callback) callback();
  }

 private:
  std::function<void()> on_change_;
};
using ConnectionPtr = std::shared_ptr<Connection>;

}  // namespace sliced::http
