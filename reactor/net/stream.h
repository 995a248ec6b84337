#pragma once
// A connection as a port: HTTP and TLS are written against this and do not know sockets.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// Receivers of a stream's events.
/// Any of them may be empty: that event is then passed over, bytes included. They are held by the stream, so
/// one that captures the stream's owner by shared_ptr holds both for ever.
struct StreamEvents {
  std::function<void(std::string_view bytes)> on_data;  // the view is valid during the call
  std::function<void()> on_end;           // the peer will send no more; nothing follows but on_error
  std::function<void(Error)> on_error;    // the stream is dead; the last event
  std::function<void()> on_drained = {};  // all that was written is the kernel's now; may come more often
};

/// A connected, ordered, reliable stream of bytes.
/// Ownership: dropping it, also in an event, closes the connection: unsent bytes are lost and no event follows
///            (stream_owner.h). close() first where the bytes matter.
/// Reentry:   no event is delivered from within write(), close(), pause(), resume() or receive().
/// Errors:    come through on_error, once; after it writes are ignored.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// Sets the receivers and starts reading. A second call replaces the receivers (a connection that goes back
  /// to a pool).
  /// From within an event the new receivers get the next one: the running call ends in the old ones.
  virtual void receive(StreamEvents events) = 0;
  /// Queues; never blocks, never fails here. Callers with much to say watch unsent_bytes(), and wait for
  /// on_drained.
  virtual void write(std::string bytes) = 0;
  /// What was written and is not the kernel's yet.
  virtual size_t unsent_bytes() const = 0;
  /// What TLS has agreed to speak (ALPN, RFC 7301): "h2"; "" where nobody was asked.
  virtual std::string protocol() const { return ""; }
  /// The subject of the peer's verified certificate, on one line ("CN=x,O=y"); "" without one.
  virtual std::string peer_subject() const { return ""; }
  /// Says the end to the peer once everything is sent; later writes are ignored. Reading goes on until
  /// on_end.
  virtual void close() = 0;
  /// Stops reading, so that the peer is slowed down by flow control. Bytes already on the way to the receiver
  /// (decrypted ones, for instance) are kept and delivered after resume().
  /// From within on_data nothing more is delivered after that call returns.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Owns an attempt to connect: dropping it cancels, and the callback is then not called.
class Connecting {
 public:
  virtual ~Connecting() = default;
};

/// Called once, on a turn of its own, so its owner may drop the Connecting there.
/// The stream comes without receivers: nothing is read before receive().
using OnConnected = std::function<void(Result<std::unique_ptr<ByteStream>>)>;

/// Calls on_connected on the next turn, unless the ticket is dropped. Nothing of the Connecting is on the stack then.
[[nodiscard]] inline Ticket complete(Scheduler& scheduler, OnConnected& on_connected,
                                     Result<std::unique_ptr<ByteStream>> outcome) {
  auto held = std::make_shared<Result<std::unique_ptr<ByteStream>>>(std::move(outcome));
  return scheduler.after(Millis{0},
                         [call = std::exchange(on_connected, nullptr), held] { call(std::move(*held)); });
}

}  // namespace sliced::reactor::net
