#pragma once
// Time as an interface, implemented by the loop (reactor/loop.h); tests and the simulation use a fake one.
#include <functional>
#include <memory>

#include "reactor/base/time.h"

namespace sliced::reactor {

using Task = std::function<void()>;
/// Owns a pending task: destroying or resetting the last copy cancels it. A Ticket member therefore cancels
/// its task with its object.
using Ticket = std::shared_ptr<Task>;

/// Units:   monotonic milliseconds; now() is constant within one loop turn.
/// Reentry: a task may schedule, cancel, and drop its own ticket.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Must not be compared with Clock::now(): constant within a turn, and a fake one starts at zero.
  virtual TimePoint now() const = 0;
  /// Runs the task once, after the delay, on the loop thread. 0: in the next turn.
  [[nodiscard]] virtual Ticket after(Millis delay, Task task) = 0;
  /// Destroys the object in the next turn, when none of its callbacks is on the stack, or with the scheduler.
  /// Requires: its callbacks are stopped.
  virtual void destroy_later(std::shared_ptr<void> object) = 0;
};

}  // namespace sliced::reactor
