#pragma once
// A connection as an interface: HTTP and TLS use it independent of sockets.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// Receivers of a stream's events. Events of an empty receiver are ignored, including their bytes. The stream
/// owns the receivers, so that one that captures the stream's owner by shared_ptr is a cycle.
struct StreamEvents {
  std::function<void(std::string_view bytes)> on_data;  // the view is valid during the call
  std::function<void()> on_end;                         // the peer sends no more; only on_error may follow
  std::function<void(Error)> on_error;                  // the stream is closed; the last event
  std::function<void()> on_drained = {};  // all written bytes are in the kernel; may be called more often
};

/// A connected, ordered, reliable stream of bytes.
/// Ownership: destroying it, also in an event, closes the connection; unsent bytes are lost and no event
/// follows (stream_owner.h). Call close() first to send them.
/// Reentry:   write(), close(), pause(), resume() and receive() deliver no event.
/// Errors:    reported by on_error, once; later writes are ignored.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Sets the receivers and starts reading. A later call replaces them (for a pooled connection); within an
  /// event, from the next event on.
  virtual void receive(StreamEvents events) = 0;
  /// Queues bytes; never blocks or fails. Callers with much data check unsent_bytes() and wait for
  /// on_drained.
  virtual void write(std::string bytes) = 0;
  /// Returns the number of written bytes that are not in the kernel yet.
  virtual size_t unsent_bytes() const = 0;
  /// Returns the protocol that TLS negotiated (ALPN, RFC 7301): "h2"; "" if none.
  virtual std::string protocol() const { return ""; }
  /// The subject of the peer's verified certificate, on one line ("CN=x,O=y"); "" without one.
  virtual std::string peer_subject() const { return ""; }
  /// Ends the sending side after all bytes are sent; later writes are ignored. Reading continues until
  /// on_end.
  virtual void close() = 0;
  /// Stops reading, so that flow control slows down the peer. Bytes that were already received (such as
  /// decrypted ones) are delivered after resume(). Within on_data, no event follows after it returns.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// A running attempt to connect. Destroying it cancels; the callback is then not called.
class Connecting {
 public:
  virtual ~Connecting() = default;
};

/// Called once, in a turn of its own. The stream has no receivers
/// yet: nothing is read before receive().
using OnConnected = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

/// Calls on_connected in the next turn, without the Connecting on the stack, unless the ticket is dropped.
[[nodiscard]] inline Ticket complete(Scheduler& scheduler, OnConnected& on_connected,
                                     Result<std::unique_ptr<ByteStream>> outcome) {
  auto held = std::make_shared<Result<std::unique_ptr<ByteStream>>>(std::move(outcome));
  return scheduler.after(Millis{0},
                         [call = std::exchange(on_connected, nullptr), held] { call(std::move(*held)); });
}

}  // namespace sliced::reactor::net
