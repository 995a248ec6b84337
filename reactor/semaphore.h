#pragma once
// A counting semaphore on the loop, for limited resources such as concurrent programs. Waiting requests are
// served in order.
#include <cstddef>
#include <functional>
#include <memory>

#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Ownership: a Permit holds a place or a position in the queue; destroying it releases either. A Permit may
/// outlive the Semaphore; a waiting one then never begins.
/// Reentry:   begin is called once, in a later turn, never from within acquire() or a Permit's destructor. It
/// may call acquire() and destroy Permits, including its own.
/// Threads:   the loop thread.
/// The number and time of waiting requests are unlimited; callers limit them.
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

  /// Requests a place; begin is called when it is granted.
  [[nodiscard]] PermitPtr acquire(std::function<void()> begin);
  /// Numbers of granted and of waiting Permits.
  size_t in_use() const;
  size_t waiting() const;

 private:
  struct State;
  struct HeldPermit;
  const std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
