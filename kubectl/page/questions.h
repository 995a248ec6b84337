#pragma once
// Questions that the fleet's page has answered in its own process: why a pod waits, and what an edit would change. Each reads a
// whole cluster and computes for up to a minute, so it runs on a worker thread, with a loop and a connection of its own, and
// shares nothing with the page. docs/design/page-questions.md has the reasons and the bounds.
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "kubectl/fleet/ask_cluster.h"
#include "kubectl/page/edit_section.h"
#include "reactor/base/time.h"
#include "reactor/executor.h"

namespace sliced::cli {

/// What `why pod` says of a pod, "ns/name", in the cluster of options, which are those of `page`. Runs on any thread.
CommandResult answer_why(const config::Options& options, const std::string& pod,
                         const IsGivenUp& is_given_up);
/// What `policies --diff FILE -o json` says of options.diff_file; kEditTooLarge and kExitError where that is longer than bytes_max. Runs
/// on any thread.
CommandResult answer_edit(const config::Options& options, const IsGivenUp& is_given_up,
                          size_t bytes_max = kEditBytesMax);

/// Runs answers on workers, a bounded number at a time.
/// Ownership: executor outlives it; it may go before its questions, and before answers that were given up.
class Questions {
 public:
  /// Runs on a worker: touches only what it owns.
  using Answer = std::function<CommandResult(const IsGivenUp&)>;
  using Done = std::function<void(const CommandResult&)>;
  /// Dropping it gives the question up: done is not called, and the answer ends at its next read.
  class Question {
   public:
    virtual ~Question() = default;
  };

  Questions(reactor::Executor& executor, size_t running_max) : executor_(executor), max_(running_max) {}

  /// nullptr: as many as may run do. Those that were given up, or are late, count until they have ended: each has the memory of a
  /// whole cluster.
  /// done: on the loop's thread, never from within this call, once; with timed_out when the deadline passes first. It may drop the
  /// question.
  std::unique_ptr<Question> ask(Answer answer, Millis deadline, Done done);

 private:
  reactor::Executor& executor_;
  const size_t max_;
  std::shared_ptr<std::atomic<size_t>> running_ = std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace sliced::cli
