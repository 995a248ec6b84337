#pragma once
// The duty of an init process: orphaned children become children of process 1 and stay zombies until it waits
// for them (wait(2)).
#include <memory>

#include "reactor/base/result.h"
#include "reactor/signal.h"

namespace sliced::reactor {

class Loop;

/// Waits for each ended child that is not a Child of the loop; libuv waits for those. For process 1 of a
/// container, and for a subreaper (prctl(2)). Exit statuses of orphans are discarded. After its destruction
/// orphans stay zombies.
class OrphanReaper {
 public:
  /// Returns nullptr if this process is not process 1.
  static Result<std::unique_ptr<OrphanReaper>> open_for_init(Loop& loop);
  /// For any process. Errors: those of Signal::open (SIGCHLD).
  static Result<std::unique_ptr<OrphanReaper>> open(Loop& loop);
  OrphanReaper(const OrphanReaper&) = delete;

 private:
  explicit OrphanReaper(Loop& loop) : loop_(loop) {}
  /// Skips children of libuv, which waits for them in the same turn, and checks again after 10 ms.
  void reap();

  Loop& loop_;
  std::unique_ptr<Signal> signal_;
  Ticket again_;
};

}  // namespace sliced::reactor
