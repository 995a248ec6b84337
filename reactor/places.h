#pragma once
// So many at once: programs that take pipes, memory and locks of the kernel each. The others wait in the order in which
// they came.
#include <cstddef>
#include <functional>
#include <memory>

#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Ownership: whoever asked holds a Place from then on. Dropping it gives the place to who waits longest, or the wait up.
///            A Place may outlive this; who still waits then never begins.
/// Reentry:   begin is called once, in a later turn, never from within take() or the end of a Place; it may do all of that,
///            and drop its own Place.
/// Threads:   the loop's.
/// There is no bound on how many wait, and none on how long; who asks has one.
class Places {
 public:
  class Place {
   public:
    virtual ~Place() = default;
  };
  using Taken = std::unique_ptr<Place>;

  Places(Scheduler& scheduler, size_t at_once);
  ~Places();
  Places(const Places&) = delete;

  /// The next free one is its own, and begin says when that is.
  [[nodiscard]] Taken take(std::function<void()> begin);
  /// Have begun and are not dropped; have not begun.
  size_t taken() const;
  size_t waiting() const;

 private:
  struct State;
  struct Seat;
  const std::shared_ptr<State> state_;
};

}  // namespace sliced::reactor
