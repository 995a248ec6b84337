#pragma once
// Blocking work on threads of our own. libuv's pool is not used: four reads that hang would stop it for good,
// and the process could not end.
#include <cstddef>
#include <memory>

#include "reactor/executor.h"

namespace sliced::reactor {

class Loop;

/// Deadline: counts from the moment a worker takes the job up, so that a job does not pay for those ahead
///           of it.
/// Lost:     a worker whose job passed its deadline is replaced; when its work returns after all it
///           retires. With lost_max workers lost, new and waiting jobs fail: on_done(false) in the next
///           turn.
/// End:      the destructor does not wait for work that runs. What is still running then touches only what
///           it captured; a process in which hung() is true must leave by _exit, since exit() would tear
///           down under it.
class ThreadExecutor final : public Executor {
 public:
  /// Of a worker's stack: as much as the first thread of a process has. What is not used is no memory.
  static constexpr size_t kStackBytes = size_t{8} << 20;
  struct Limits {
    size_t workers = 4;  // started when first needed
    size_t lost_max = 32;
  };
  /// The loop outlives the executor. No thread is started before the first job.
  explicit ThreadExecutor(Loop& loop) : ThreadExecutor(loop, Limits{}) {}
  ThreadExecutor(Loop& loop, Limits limits);
  ~ThreadExecutor() override;

  [[nodiscard]] std::unique_ptr<Job> run(Work work, Millis deadline, Done on_done) override;

  /// Some work is past its deadline and still runs.
  /// This and the two below take a lock that workers hold for moments: cheap, and from the loop's thread.
  bool hung() const { return lost() > 0; }
  /// Workers that were given up and have not come back.
  size_t lost() const;
  /// Some work runs or waits. Ask before leaving: `busy() ? _exit(status) : exit(status)`.
  bool busy() const;

 private:
  struct Shared;  // outlives the executor while a worker runs
  class Loopside;
  std::unique_ptr<Loopside> loopside_;
};

}  // namespace sliced::reactor
