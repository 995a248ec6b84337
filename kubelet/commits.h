#pragma once
// Writes file changes to disk in batches. All waiting changes are written together, followed by one
// checkpoint. So for fifty pods that start together each directory and the checkpoint are synced a few times,
// and no older text overwrites a newer one.
// The checkpoint is written after the files, so a daemon that is killed in between never records a change as
// complete that is not.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "reactor/executor.h"

namespace sliced::kubelet {

/// Threads: the loop's. One job runs at a time, without a deadline: a write that hangs may still complete,
/// and a later one must not overtake it.
/// Reentry: `done` is never called from within add(), and may call add().
class Commits {
 public:
  using Make = std::function<FileChange()>;
  using Done = std::function<void(const Result<Unit>&)>;
  /// encode: returns the checkpoint's new text. Called when the files of a batch are written.
  Commits(reactor::Executor& executor, std::shared_ptr<const Host> host, std::function<std::string()> encode);

  /// make: called when the batch starts, which may be within add(). filed: called when the change's files are
  /// written or failed; its changes to the prepared claims are part of the checkpoint that follows. done:
  /// called when the files and the checkpoint are written, or with the error.
  /// Errors: the host's; kBusy if no worker accepts the job because too many hang. Nothing was written then.
  void add(Make make, Done done, Done filed = {});
  bool idle() const { return !is_running_; }

 private:
  struct Waiting {
    Make make;
    Done done, filed;
  };
  // One batch. The jobs own it, so it outlives this object.
  struct Batch;
  // Starts a batch of all waiting changes. Calls their `make` in order, in one turn.
  void begin();
  // Runs after the files of the batch, and includes the changes that its `filed` calls made.
  void write_checkpoint(std::shared_ptr<Batch> batch);
  // Calls each `done`, then starts a batch of the changes that arrived meanwhile.
  void finish(std::shared_ptr<Batch> batch);

  reactor::Executor& executor_;
  const std::shared_ptr<const Host> host_;
  const std::function<std::string()> encode_;
  std::vector<Waiting> waiting_;
  bool is_running_ = false;
  std::unique_ptr<reactor::Job> job_;
  const std::shared_ptr<int> life_ = std::make_shared<int>();
};

}  // namespace sliced::kubelet
