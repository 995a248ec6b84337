#pragma once
// Private to reactor/net: a connected libuv stream (TCP or pipe) as a ByteStream.
#include <uv.h>

#include <memory>
#include <string>
#include <variant>

#include "reactor/base/callback_guard.h"
#include "reactor/descriptor.h"
#include "reactor/handle.h"
#include "reactor/loop.h"
#include "reactor/net/stream.h"
#include "reactor/net/stream_owner.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// A write passes as many bytes as possible to the kernel; libuv owns the rest until it is sent or the stream
/// is destroyed. Loop thread only.
/// Errors:  reported once with the peer's name; no event follows.
/// Reentry: events may replace themselves (receive()) and abandon the stream; StreamOwner destroys it later.
class UvStream final : public ByteStream {
 public:
  using AnyHandle = std::variant<Handle<uv_tcp_t>, Handle<uv_pipe_t>>;
  /// name: the peer, for error texts. lease: destroyed with the stream.
  UvStream(Scheduler& scheduler, AnyHandle handle, std::string name, std::shared_ptr<void> lease = nullptr);
  ~UvStream() override;

  void receive(StreamEvents events) override;
  void write(std::string bytes) override;
  size_t unsent_bytes() const override;
  void close() override;
  void pause() override;
  void resume() override;
  /// Closes the connection. No event follows, and no other function may be called.
  void abandon();

 private:
  // Owned by libuv from uv_write() until on_written.
  struct WriteRequest;
  static void on_read(uv_stream_t* raw, ssize_t size, const uv_buf_t* buffer) noexcept;
  static void on_written(uv_write_t* done, int status) noexcept;
  uv_stream_t* raw() const;
  void read();
  void fail_later(int code, Millis delay = Millis{0});
  void fail(int code);

  Scheduler& scheduler_;
  AnyHandle handle_;
  std::string name_;
  std::shared_ptr<void> lease_;
  // Shared with the running call, which may replace them.
  std::shared_ptr<StreamEvents> events_;
  // Write requests outlive this object and check it.
  std::shared_ptr<UvStream*> alive_;
  CallbackGuard callbacks_{"UvStream"};
  Ticket failure_;
  bool paused_ = false;
  bool ended_ = false;   // the peer's half
  bool closed_ = false;  // our half
  bool dead_ = false;
};

/// Wraps a connected socket; TCP with TCP_NODELAY and keep-alive. Takes ownership of `socket`, and closes it
/// after an error. lease: destroyed with the stream, for counting connections. Errors: those of the loop.
Result<std::unique_ptr<ByteStream>> adopt_tcp(Loop& loop, Descriptor socket, const std::string& name,
                                              std::shared_ptr<void> lease = nullptr);
Result<std::unique_ptr<ByteStream>> adopt_unix(Loop& loop, Descriptor socket, const std::string& name,
                                               std::shared_ptr<void> lease = nullptr);
/// Sets TCP_NODELAY, keep-alive (30 s), and a limit of 40 s for unacknowledged data, for clients and servers.
/// Errors are ignored: without the options a lost peer is only detected later.
void set_tcp_options(uv_tcp_t* handle);

}  // namespace sliced::reactor::net
