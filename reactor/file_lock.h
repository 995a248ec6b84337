#pragma once
// Mutual exclusion of processes by a locked file (flock(2)) in a private directory. The kernel releases the
// lock when the process ends. The lock works wherever the directory is mounted, across network and pid
// namespaces. flock is used instead of an open-file-description lock, because flock(1) and lslocks(8) can try
// and show it; both end with the open file.
#include <functional>
#include <memory>
#include <string>

#include "reactor/backoff.h"
#include "reactor/base/log.h"
#include "reactor/base/result.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {

/// Creates the directory (0700) if only its parent exists, and checks that the effective uid owns it, that
/// others can neither write to it nor open it (the group may read), and that it is not a symbolic link. An
/// empty own directory that others can only open (as a kubelet creates a hostPath) gets mode 0700.
/// Errors: kDenied, kIo; the text names path, owner or mode, and the remedy.
Result<Unit> prepare_private_directory(const std::string& path);

/// Waits for the lock from construction; its destructor releases it.
/// Waiting: tries twice a second, with jitter. The wait and the holder's pid and host (as written in the
/// file: for people, not trusted) are logged immediately and every ten minutes; so are errors.
/// Held:    only if the path still leads to the locked file.
/// Reentry: on_acquired is called once, in a turn of its own.
class FileLock {
 public:
  struct Where {
    std::string directory;  // checked by prepare_private_directory() before each attempt
    std::string file;
    std::string of_what;  // the purpose of the lock, for the log: "this driver and node"
  };
  /// on_acquired: called once, in the next turn or later.
  FileLock(Scheduler& scheduler, Log& log, Random random, Where where, std::function<void()> on_acquired);
  ~FileLock();
  FileLock(FileLock&&) = delete;

  /// Returns true from on_acquired until the destruction of the FileLock.
  bool acquired() const;
  /// Returns the escaped text of the holder while waiting, for people; "unknown" if the file is empty, "" if
  /// there is none. The reference is valid until the next attempt.
  const std::string& holder() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
