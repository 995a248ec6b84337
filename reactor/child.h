#pragma once
// Runs other programs; all child processes of the program start here.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::reactor {

class Loop;

/// Passed to execvp(3) without a shell or expansion. The child has the daemon's umask and directory, and no
/// descriptors except the three standard ones (libuv opens everything close-on-exec).
struct ChildSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in the child's PATH unless it contains '/'
  std::optional<std::vector<std::string>> env;  // "NAME=value", complete; nullopt: the daemon's
  std::optional<std::string> input;             // bytes for standard input; nullopt: /dev/null
  Millis deadline{30'000};                      // then SIGTERM; 0 means none
  Millis kill_after{2'000};                     // after SIGTERM, then SIGKILL
  size_t output_bytes_max = 1 << 20;  // of standard output and of standard error; the rest is discarded
};

/// The result of a program. A nonzero exit status is a result, not an error of Child. The first
/// output_bytes_max bytes of each output, unescaped.
struct ChildResult {
  int exit_status = 0;  // meaningful when signal is 0
  int signal = 0;       // the signal that ended it
  bool timed_out = false;
  bool truncated = false;  // more output than output_bytes_max
  std::string out;
  std::string err;
  bool ok() const { return exit_status == 0 && signal == 0 && !timed_out; }
};

/// A running program in a process group of its own; signals go to the whole group.
/// Ownership: destroying the Child kills the group with SIGKILL and reaps it; on_exit is then not called.
/// Reentry:   on_exit is called once, in a turn of its own.
/// End:       on_exit waits for the exit and for the end of both outputs, for the latter at most one second:
/// a grandchild may keep them open. The rest of the group is killed then.
/// Deadline:  counts from start(). SIGTERM first, SIGKILL after kill_after; timed_out is then set, and the
/// exit status results from the signal.
/// Input:     written as the program reads it, then closed; unread input is not an error.
class Child {
 public:
  using OnExit = std::function<void(ChildResult)>;
  /// Errors: kNotFound, kDenied, kInvalid (empty argv, NUL in a string), kIo. A program that cannot be
  /// executed is an error here, not an exit status, because libuv reports exec's errno.
  static Result<std::unique_ptr<Child>> start(Loop& loop, ChildSpec spec, OnExit on_exit);
  ~Child();
  Child(Child&&) = delete;

  /// Returns the id of process and process group; 0 after its end.
  int pid() const;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
