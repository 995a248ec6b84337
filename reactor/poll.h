#pragma once
// A descriptor that somebody else reads: the loop says when.
#include <functional>
#include <memory>

#include "reactor/base/callback_guard.h"
#include "reactor/handle.h"

struct uv_poll_s;

namespace sliced::reactor {

class Loop;

/// Readiness of a file descriptor (level-triggered). The descriptor stays the caller's: it must stay open
/// while the Poll lives and may be closed as soon as the Poll is gone. It is set to non-blocking. One Poll
/// per descriptor.
/// Reentry: the callback may change the interest. It must not destroy the Poll.
class Poll {
 public:
  /// `failed`: the descriptor has an error pending (a netlink socket after an overflow, a reset connection).
  /// Read from it to learn and clear the error. Otherwise set the interest to (false, false), or the callback is called each turn.
  struct Ready {
    bool readable = false;
    bool writable = false;
    bool hung_up = false;
    bool failed = false;
  };
  using OnReady = std::function<void(Ready)>;

  /// Watches for nothing until interest() is called.
  /// Errors: the descriptor cannot be polled (a regular file).
  static Result<std::unique_ptr<Poll>> open(Loop& loop, int fd, OnReady on_ready);
  ~Poll();
  Poll(Poll&&) = delete;

  /// From now on, until it is said otherwise. on_ready is called in each turn in which one of them holds.
  /// Interest in reading brings hung_up too; (false, false) watches for nothing.
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
