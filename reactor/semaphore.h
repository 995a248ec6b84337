#pragma once
// A counting semaphore of the loop: so many at once, as of programs that take pipes, memory and locks of the kernel each. The
// others wait in the order in which they came.
#include <cstddef>
#include <functional>
#include <memory>

#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Ownership: whoever asked holds a Permit from then on. Dropping it gives it to who waits longest, or the wait up.
///            A Permit may outlive this; who still waits then never begins.
/// Reentry:   begin is called once, in a later turn, never from within acquire() or the end of a Permit; it may do all of that,
///            and drop its own Permit.
/// Threads:   the loop's.
/// There is no bound on how many wait, and none on how long; who asks has one.
class Semaphore {
 public:
  class Permit {
   public:
    virtual ~Permit() = default;
  };
  using PermitPtr = std::unique_ptr<Permit>;

  Semaphore(Scheduler& scheduler, size_t at_once);
  ~Semaphore();
  Semaphore(const Semaphore&) = delete;

  /// The next free one is its own, and begin says when that is.
  [[nodiscard]] PermitPtr acquire(std::function<void()> begin);
  /// Have begun and are not dropped; have not begun.
  size_t taken() const;
  size_t waiting() const;

 private:
  struct State;
  struct Held;
  const std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
