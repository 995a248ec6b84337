#pragma once
// Changes on their way to the disk: those that wait go together, then the checkpoint once for all of them. So fifty
// pods at once sync a few times, and no older text overwrites a newer one. The checkpoint says what became of the
// files: whoever is killed behind it finds nothing called done that is not.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/host.h"
#include "reactor/executor.h"

namespace sliced::kubelet {

/// Threads: the loop's. One job at a time, without a deadline: what hangs in a disk may still be written, and must
///          not be overtaken.
/// Reentry: done is never called from within add(), and may add more.
class Commits {
 public:
  using Make = std::function<FileChange()>;
  using Done = std::function<void(const Result<Unit>&)>;
  /// encode: the checkpoint's text as it is to be from now on; called when the files of a job are done.
  Commits(reactor::Executor& executor, std::shared_ptr<const Host> host, std::function<std::string()> encode);

  /// make: called when its turn comes. done: its files and the checkpoint are on disk, or why not.
  /// filed: its files are on disk, or why not; what it changes of what is prepared is in the checkpoint that follows.
  /// Errors: the host's; kBusy where no worker takes the job (too many hang), and then nothing was written.
  void add(Make make, Done done, Done filed = {});
  bool idle() const { return !is_running_; }

 private:
  struct Waiting {
    Make make;
    Done done, filed;
  };
  // Those that go together: kept by the jobs, so that they outlive whoever asked.
  struct Batch;
  // Takes all that wait. Their `make` is called here, in order, in one turn.
  void begin();
  // Behind the files of the batch, with whatever their `filed` has changed.
  void write_checkpoint(std::shared_ptr<Batch> batch);
  // Tells each; begins with those that have come meanwhile.
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
