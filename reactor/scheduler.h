#pragma once
// Time as a port. The loop implements it (reactor/loop.h); tests and the simulation step a fake one.
#include <functional>
#include <memory>

#include "reactor/base/time.h"

namespace sliced::reactor {

using Task = std::function<void()>;
/// Owns a pending task: dropping or resetting it cancels.
/// As a shared_ptr it may be held twice, and then the last holder cancels; who keeps a Ticket in a member
/// needs nothing more to be safe when it goes.
using Ticket = std::shared_ptr<Task>;

/// Units:   monotonic milliseconds; now() is constant within one loop turn.
/// Reentry: a task may schedule, cancel, and drop its own ticket.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// Not to be compared with Clock::now(): within a turn it stands, and a fake one begins at zero.
  virtual TimePoint now() const = 0;
  /// Runs task once, not before delay has passed, on the loop's thread. A delay of 0 means "next turn".
  [[nodiscard]] virtual Ticket after(Millis delay, Task task) = 0;
  /// Destroys the object on the next turn, when none of its callbacks is on the stack, or with the scheduler. Its owner has
  /// stopped its callbacks before.
  virtual void destroy_later(std::shared_ptr<void> object) = 0;
};

}  // namespace sliced::reactor
