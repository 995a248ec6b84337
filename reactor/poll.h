#pragma once
// Readiness events of a descriptor that the caller reads.
#include <functional>
#include <memory>

#include "reactor/base/callback_guard.h"
#include "reactor/handle.h"

struct uv_poll_s;

namespace sliced::reactor {

class Loop;

/// Level-triggered readiness of a file descriptor, which is set to non-blocking. The caller owns the
/// descriptor: it must stay open while the Poll exists. One Poll for each descriptor.
/// Reentry: the callback may change the interest.
class Poll {
 public:
  /// `failed`: an error is pending (a netlink socket after an overflow, a reset connection). Read from the
  /// descriptor to get and clear it, or set the interest to (false, false); otherwise the callback is called
  /// in each turn.
  struct Ready {
    bool readable = false;
    bool writable = false;
    bool hung_up = false;
    bool failed = false;
  };
  using OnReady = std::function<void(Ready)>;

  /// Reports nothing before interest(). Errors: the descriptor cannot be polled (a regular file).
  static Result<std::unique_ptr<Poll>> open(Loop& loop, int fd, OnReady on_ready);
  ~Poll();
  Poll(Poll&&) = delete;

  /// Sets the reported events; on_ready is called in each turn with one of them. readable includes hung_up;
  /// (false, false): none.
  void interest(bool readable, bool writable);

 private:
  Poll(Handle<uv_poll_s> handle, OnReady on_ready);
  void start();
  static void on_poll(uv_poll_s* raw, int status, int events) noexcept;
  Handle<uv_poll_s> handle_;
  const OnReady on_ready_;
  CallbackGuard callbacks_{"Poll"};
  int events_ = 0;
};

}  // namespace sliced::reactor
