#pragma once
// One process at a time, by a locked file (flock(2)) in a directory that nobody else may open. The kernel
// frees it when the process ends, however it ends; the lock reaches as far as the directory is mounted,
// across network and pid namespaces. flock and not an open-file-description lock: both belong to the open
// file and end with it, and what flock(2) holds can be seen and tried by flock(1) and lslocks(8).
#include <functional>
#include <memory>
#include <string>

#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Makes the directory (0700) where only its parent exists, and checks that it is ours (the effective uid's),
/// that others can neither write to it nor open it (the group may read), and that it is no symbolic link. An
/// empty one of ours that others may merely open (as a kubelet makes a hostPath) is closed to them.
/// Errors: kDenied, kIo; the text names path, owner or mode, and the remedy.
Result<Unit> prepare_private_directory(const std::string& path);

/// Waits its turn from construction on; release by dropping.
/// Waiting: tries twice a second, with jitter. That it waits, and for whom (the holder's pid and host as the
///          holder wrote them into the file: for people, never believed), is logged at once and again every
///          ten minutes. So is what keeps it from trying.
/// Held:    only when the path still leads to the file that was locked.
/// Reentry: on_acquired is called once, on a turn of its own.
class FileLock {
 public:
  struct Where {
    std::string directory;  // prepare_private_directory() is asked about it before each attempt
    std::string file;
    std::string of_what;  // what one process at a time is for, in the log: "this driver and node"
  };
  /// on_acquired: once, in a turn of its own, at the earliest in the next one.
  FileLock(Scheduler& scheduler, Log& log, Random random, Where where, std::function<void()> on_acquired);
  ~FileLock();
  FileLock(FileLock&&) = delete;

  /// Whether it is held now: from on_acquired until the FileLock goes.
  bool acquired() const;
  /// Who has it, while this waits for that one: for people. "" where nobody is known.
  /// Escaped, as it stands in the file; "unknown" where that is empty. The reference lasts until the next
  /// attempt.
  const std::string& holder() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
