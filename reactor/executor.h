#pragma once
// Interface for blocking work: sysfs reads that may hang, file reads, name lookups. Implemented by worker
// threads; tests run jobs inline, late, or never.
#include <functional>
#include <memory>

#include "reactor/base/time.h"

namespace sliced::reactor {

/// The handle of a job: destroying it prevents on_done. Work that has not started is then not run; running
/// work continues to its end without effect. May outlive the Executor. Loop thread only.
class Job {
 public:
  virtual ~Job() = default;
};

/// Threads:  work runs on a worker and must use only values that it captured by value or shared_ptr-to-const.
/// on_done runs on the loop thread, exactly once, unless the Job was destroyed.
/// Deadline: on_done(false) is called if it passes first; the worker is replaced (up to a limit), and the
/// result of the work is discarded. 0: no deadline.
/// Errors:   work must not throw.
class Executor {
 public:
  virtual ~Executor() = default;
  using Work = std::function<void()>;
  using Done = std::function<void(bool finished)>;
  /// The worker threads never call on_done from within this call; a test's executor may.
  [[nodiscard]] virtual std::unique_ptr<Job> run(Work work, Millis deadline, Done on_done) = 0;
};

}  // namespace sliced::reactor
