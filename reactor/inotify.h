#pragma once
// What happens in directories (inotify(7)). libuv's own watcher does not ask for CLOSE_WRITE and hides
// overflow.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "reactor/base/callback_guard.h"
#include "reactor/base/result.h"
#include "reactor/descriptor.h"

namespace sliced::reactor {

class Loop;
class Poll;

/// Something happened to an entry of a directory that is watched, or to the directory itself.
struct FileEvent {
  enum class Kind {
    kCreated,   // a directory, link or special file is there; a regular file will say kWritten when it is
                // closed
    kWritten,   // a file open for writing was closed
    kMovedIn,   // renamed to `name` in this directory
    kMovedOut,  // renamed away from `name`
    kDeleted,   // `name` is gone
    kDirectoryGone,  // the watched directory itself was deleted, renamed or unmounted: no longer watched;
                     // name is empty
    kOverflow,       // events were lost: list everything again; directory and name are empty
  };
  Kind kind = Kind::kOverflow;
  std::string directory;  // exactly as given to watch()
  std::string name;       // one path component, any bytes but '/' and NUL
  bool is_directory = false;
  bool operator==(const FileEvent&) const = default;
};

/// Reentry: on_event may watch. It must not destroy the Inotify.
/// Order:   as the kernel reports.
/// Reading: 8 KiB of events a turn; what is left makes the next turn's. The kernel's queue is bounded
/// (fs.inotify.max_queued_events), and what it drops is told as kOverflow, once.
class Inotify {
 public:
  using OnEvent = std::function<void(const FileEvent&)>;
  /// Errors: the system's limit of inotify instances (the text says which one).
  /// Both users go on without one, by a timer: nothing here is worth refusing to start for.
  static Result<std::unique_ptr<Inotify>> open(Loop& loop, OnEvent on_event);
  ~Inotify();
  Inotify(Inotify&&) = delete;

  /// Not recursive. Watching a directory again is harmless. Two paths of one directory are one watch: the
  /// last wins.
  /// Errors: kNotFound, kDenied, kInvalid (not a directory), kTooLarge (fs.inotify.max_user_watches).
  Result<Unit> watch(const std::string& directory);

 private:
  Inotify(Descriptor fd, OnEvent on_event);
  void read_events();
  void deliver(int wd, uint32_t mask, std::string name);

  Descriptor fd_;
  const OnEvent on_event_;
  CallbackGuard callbacks_{"Inotify"};
  std::unique_ptr<Poll> poll_;
  std::map<int, std::string> directories_;  // by watch descriptor
};

}  // namespace sliced::reactor
