#pragma once
// What an init process owes: children that their parents left behind become those of process 1, and stay
// zombies until it waits for them (wait(2)).
#include <memory>

#include "reactor/base/result.h"
#include "reactor/signal.h"

namespace sliced::reactor {

class Loop;

/// Waits for each child that has ended and that is no Child of the loop's: libuv waits for those itself.
/// For process 1 of a container, and for a subreaper (prctl(2)).
/// Exit statuses of orphans are thrown away: nobody asked for them. Dropping it leaves later ones to be
/// zombies.
class OrphanReaper {
 public:
  /// nullptr when this process is not process 1.
  static Result<std::unique_ptr<OrphanReaper>> open_for_init(Loop& loop);
  /// Whatever the process is. Errors: those of Signal::open (SIGCHLD).
  static Result<std::unique_ptr<OrphanReaper>> open(Loop& loop);
  OrphanReaper(const OrphanReaper&) = delete;

 private:
  explicit OrphanReaper(Loop& loop) : loop_(loop) {}
  /// Ours is looked at and left: it is waited for by libuv in the same signal's turn, and this looks again
  /// after 10 ms.
  void reap();

  Loop& loop_;
  std::unique_ptr<Signal> signal_;
  Ticket again_;
};

}  // namespace sliced::reactor
