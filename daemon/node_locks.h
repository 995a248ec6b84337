#pragma once
// The locks of a node's drivers, one each, always taken in the same order, so that two processes never wait
// for each other.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "daemon/process.h"
#include "reactor/file_lock.h"

namespace sliced::cli {

constexpr const char* kSystemDirectory = "/run/sliced";

/// What the search for a directory asks of the process; tests bring their own.
struct RuntimePorts {
  std::function<std::optional<std::string>(const char* name)> env;
  std::function<bool(const std::string& path)> is_own_directory;
  uid_t user;
};
/// Of this process: find_runtime_directory().
std::string runtime_directory(const config::Options& options);
/// --runtime-directory, else the first of systemd's $RUNTIME_DIRECTORY, /run/sliced for root or
/// where it is this user's, $XDG_RUNTIME_DIR/sliced, /run/user/UID/sliced and $HOME/.sliced where those are
/// this user's; "" where there is none.
/// Never /tmp: whoever comes first has the name there, and could keep everybody else from starting.
std::string find_runtime_directory(const std::string& option, const RuntimePorts& ports);

/// "<driver>_<node>.lock", shortened by hash at 200 bytes. Neither name has a '_' in it, so that no two pairs
/// share a file.
std::string lock_file_name(const std::string& driver, const std::string& node);

/// Waits for them from acquire() on; released by dropping. In the order of the drivers' names, whichever
/// kind they are of. Who waits may be counted as ready: it does all but write.
class NodeLocks {
 public:
  /// The directory for the locks of this process, made and checked (reactor::prepare_private_directory).
  /// Errors: its, and kDenied where this user has no directory; each names the option.
  static Result<std::string> prepare(const config::Options& options);

  NodeLocks(Process& process, const config::Options& options, std::string directory);

  /// Once. on_acquired: all of them are ours; called once, never from within acquire().
  void acquire(std::function<void()> on_acquired);
  /// on_acquired is not called any more. Locks that are held stay held.
  void stop_waiting() { on_acquired_ = nullptr; }
  bool acquired() const { return second_ && second_->acquired(); }
  /// The process that holds one of them, as FileLock::holder(); "" before acquire().
  std::string holder() const;

 private:
  Process& process_;
  const std::string directory_, node_;
  const std::string first_driver_, second_driver_;
  std::function<void()> on_acquired_;
  std::optional<reactor::FileLock> second_;  // taken once the first is
  std::optional<reactor::FileLock> first_;
};

}  // namespace sliced::cli
