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

/// A signal delivered as a callback on the loop, once per delivery (several in a row may be merged by the
/// kernel). Dropping the last Signal of a number restores the default action.
/// Several may be opened for one number; each is called.
class Signal {
 public:
  /// Errors: a number that cannot be caught.
  /// on_signal runs on the loop thread, never in the signal handler. It must not destroy the Signal.
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
