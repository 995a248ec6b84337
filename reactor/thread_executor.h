#pragma once
// Blocking work on separate threads. libuv's pool is not used: four hanging reads would block it forever, and
// the process could not exit.
#include <cstddef>
#include <memory>

#include "reactor/executor.h"

namespace sliced::reactor {

class Loop;

/// Deadline: counts from the start of the job on a worker, without the time in the queue.
/// Lost:     a worker beyond its deadline is replaced, and ends when its work returns. With lost_max lost
/// workers, new and waiting jobs fail: on_done(false) in the next turn.
/// End:      the destructor joins the workers without work. It does not wait for running work, which then uses
/// only captured values. While busy() is true a process must leave by _exit, because exit() would destroy
/// globals that the work uses.
class ThreadExecutor final : public Executor {
 public:
  /// Stack size of a worker, equal to that of a process' first thread. Unused stack takes no memory.
  static constexpr size_t kStackBytes = size_t{8} << 20;
  struct Limits {
    size_t workers = 4;  // started when first needed
    size_t lost_max = 32;
  };
  /// Requires: the loop outlives the executor. Threads start with the first job.
  explicit ThreadExecutor(Loop& loop) : ThreadExecutor(loop, Limits{}) {}
  ThreadExecutor(Loop& loop, Limits limits);
  ~ThreadExecutor() override;

  [[nodiscard]] std::unique_ptr<Job> run(Work work, Millis deadline, Done on_done) override;

  /// Returns true if some work is beyond its deadline and still runs. This and the two below take a lock
  /// briefly.
  bool hung() const { return lost() > 0; }
  /// Returns the number of lost workers that have not returned.
  size_t lost() const;
  /// Returns true if work runs or waits. At exit: `busy() ? _exit(status) : exit(status)`.
  bool busy() const;

 private:
  struct Shared;  // outlives the executor while a worker runs
  class Loopside;
  std::unique_ptr<Loopside> loopside_;
};

}  // namespace sliced::reactor
