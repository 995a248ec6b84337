#pragma once
// Watches directories (inotify(7)). libuv's watcher does not request CLOSE_WRITE and hides overflow.
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

/// An event of an entry of a watched directory, or of the directory itself.
struct FileEvent {
  enum class Kind {
    kCreated,   // a directory, link or special file was created; a regular file causes kWritten when closed
    kWritten,   // a file open for writing was closed
    kMovedIn,   // renamed to `name` in this directory
    kMovedOut,  // renamed from `name`
    kDeleted,   // `name` was deleted
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

/// Reentry: on_event may call watch().
/// Order:   as the kernel reports.
/// Reading: 8 KiB of events in a turn, the rest in later ones. The kernel's queue is bounded
/// (fs.inotify.max_queued_events); lost events are reported as one kOverflow.
class Inotify {
 public:
  using OnEvent = std::function<void(const FileEvent&)>;
  /// Errors: the system's limit of inotify instances, with its name. Both users then poll by a timer.
  static Result<std::unique_ptr<Inotify>> open(Loop& loop, OnEvent on_event);
  ~Inotify();
  Inotify(Inotify&&) = delete;

  /// Not recursive. Watching a directory again has no effect. Two paths of one directory are one watch, with
  /// the last path.
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
