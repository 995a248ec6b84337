#pragma once
// Signals of the process on the loop.
#include <functional>
#include <memory>

#include "reactor/base/callback_guard.h"
#include "reactor/handle.h"
#include "reactor/scheduler.h"

struct uv_signal_s;

namespace sliced::reactor {

class Loop;

/// Calls back on the loop for each delivery of a signal (the kernel may merge several). Several objects may
/// exist for one number, and each is called. Destroying the last one restores the default action.
class Signal {
 public:
  /// on_signal runs on the loop thread, never in the signal handler. Errors: the signal cannot be
  /// caught.
  static Result<std::unique_ptr<Signal>> open(Loop& loop, int number, Task on_signal);
  ~Signal();
  Signal(Signal&&) = delete;

 private:
  Signal(Handle<uv_signal_s> handle, Task on_signal);
  static void on_raised(uv_signal_s* raw, int number) noexcept;
  Handle<uv_signal_s> handle_;
  const Task on_signal_;
  CallbackGuard callbacks_{"Signal"};
};

}  // namespace sliced::reactor
