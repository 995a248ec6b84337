#pragma once
// The locks of a node's drivers, one each, always locked in the same order, so that two processes cannot
// deadlock.
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "daemon/process.h"
#include "reactor/file_lock.h"

namespace sliced::daemon {

constexpr const char* kSystemDirectory = "/run/sliced";

/// Inputs of the search for the directory; tests have their own.
struct RuntimePorts {
  std::function<std::optional<std::string>(const char* name)> env;
  std::function<bool(const std::string& path)> is_own_directory;
  uid_t user;
};
/// Returns find_runtime_directory() for this process.
std::string runtime_directory(const config::Options& options);
/// Returns --runtime-directory, otherwise the first that applies:
///  - systemd's $RUNTIME_DIRECTORY;
///  - /run/sliced, for root or if this user owns it;
///  - $XDG_RUNTIME_DIR/sliced;
///  - /run/user/UID/sliced, or $HOME/.sliced, if this user owns the parent.
/// Returns "" if none applies. Never /tmp: any user could create the name there first and prevent the start.
std::string find_runtime_directory(const std::string& option, const RuntimePorts& ports);

/// Returns "<driver>_<node>.lock", shortened by a hash at 200 bytes. Neither name contains '_', so file names
/// are unique.
std::string lock_file_name(const std::string& driver, const std::string& node);

/// Waits for the locks from acquire() on; the destructor releases them. Locks in the order of the drivers'
/// names, regardless of their kinds. A waiting process counts as ready: it does everything but write.
class NodeLocks {
 public:
  /// Returns the directory for the locks of this process, created and checked
  /// (reactor::prepare_private_directory). Errors: those of that function; kDenied if this user has no
  /// directory; each names the option.
  static Result<std::string> prepare(const config::Options& options);

  NodeLocks(Process& process, const config::Options& options, std::string directory);

  /// on_acquired: called once when all locks are held, never from within acquire(). Called once.
  void acquire(std::function<void()> on_acquired);
  /// on_acquired is no longer called. Acquired locks stay locked.
  void stop_waiting() { on_acquired_ = nullptr; }
  bool acquired() const { return second_ && second_->acquired(); }
  /// Returns the process that holds one of them, as FileLock::holder(); "" before acquire().
  std::string holder() const;

 private:
  Process& process_;
  const std::string directory_, node_;
  const std::string first_driver_, second_driver_;
  std::function<void()> on_acquired_;
  std::optional<reactor::FileLock> second_;  // locked after the first one
  std::optional<reactor::FileLock> first_;
};

}  // namespace sliced::daemon
