#pragma once
// Computations of the fleet's page: why a pod waits, and the effect of an edit. Each reads a whole cluster
// and computes for up to a minute, so it runs on a worker thread, with a loop and a connection of its own,
// and shares nothing with the page. Reasons and bounds: docs/design/page-questions.md.
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

namespace sliced::kubectl {

/// Runs `why pod` for a pod, "ns/name", in the cluster of options, which are those of `page`. Any thread.
CommandResult answer_why(const config::Options& options, const std::string& pod,
                         const IsCancelled& is_cancelled);
/// Runs `policies --diff FILE -o json` for options.diff_file; kEditTooLarge and kExitError if the output is
/// longer than bytes_max. Any thread.
CommandResult answer_edit(const config::Options& options, const IsCancelled& is_cancelled,
                          size_t bytes_max = kEditBytesMax);

/// Runs computations on workers, a limited number concurrently. Ownership: executor outlives this object; it
/// may be destroyed before its questions and cancelled computations.
class Questions {
 public:
  /// Runs on a worker: uses only its own data.
  using Answer = std::function<CommandResult(const IsCancelled&)>;
  using Done = std::function<void(const CommandResult&)>;
  /// Dropping it cancels: done is not called, and the computation ends at its next read.
  class Question {
   public:
    virtual ~Question() = default;
  };

  Questions(reactor::Executor& executor, size_t running_max) : executor_(executor), max_(running_max) {}

  /// Returns nullptr if the limit is reached. Cancelled and late computations count until they have ended,
  /// because each uses the memory of a whole cluster. done: called once on the loop's thread, never from
  /// within this call; with timed_out after the deadline. It may drop the question.
  std::unique_ptr<Question> ask(Answer answer, Millis deadline, Done done);

 private:
  reactor::Executor& executor_;
  const size_t max_;
  std::shared_ptr<std::atomic<size_t>> running_ = std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace sliced::kubectl
