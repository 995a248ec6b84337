#pragma once
// Blocking work as a port: sysfs reads that may hang, file reads, name lookups. The real one has worker
// threads; a test's runs jobs inline, late, or never.
#include <functional>
#include <memory>

#include "reactor/base/time.h"

namespace sliced::reactor {

/// Owns a job's completion: dropping it means on_done will not be called (the work itself may still run to
/// its end).
/// May outlive the Executor, and then does nothing when it goes. Dropped before a worker took the work up,
/// the work never runs; dropped later, it runs to its end for nobody. Loop thread.
class Job {
 public:
  virtual ~Job() = default;
};

/// Threads:  work runs on a worker and must touch only what it captured by value or shared_ptr-to-const;
///           on_done runs on the loop's thread, exactly once, unless the Job was dropped.
/// Deadline: when it passes first, on_done(false) is called; the worker is given up and replaced (up to a
///           bound), and what the work yields later is thrown away. 0 means no deadline.
/// Errors:   work must not throw.
class Executor {
 public:
  virtual ~Executor() = default;
  using Work = std::function<void()>;
  using Done = std::function<void(bool finished)>;
  /// The real one never calls on_done from within this call; a test's may.
  [[nodiscard]] virtual std::unique_ptr<Job> run(Work work, Millis deadline, Done on_done) = 0;
};

}  // namespace sliced::reactor
