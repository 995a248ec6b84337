#pragma once
// The only way to run another program.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::reactor {

class Loop;

/// What to run. No shell is involved: argv is what the program gets.
/// Taken as it is by execvp(3): no expansion, no umask or directory of its own (it has ours), and no
/// descriptor but the three standard ones (libuv opens everything close-on-exec).
struct ChildSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in the child's PATH unless it contains '/'
  std::optional<std::vector<std::string>> env;  // "NAME=value", complete; nullopt inherits ours
  std::optional<std::string> input;             // bytes for its standard input; nullopt is /dev/null
  Millis deadline{30'000};                      // then SIGTERM; 0 means none
  Millis kill_after{2'000};                     // after SIGTERM, then SIGKILL
  size_t output_bytes_max = 1 << 20;  // of standard output and standard error each; the rest is thrown away
};

/// How it ended, and what it said. A program that exits with an error is an answer and no failure of ours.
/// Of the two outputs the first output_bytes_max bytes each, as the program wrote them: whoever shows them to
/// somebody escapes them.
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
/// Ownership: dropping the Child kills the group with SIGKILL and reaps it; on_exit is then not called.
/// Reentry:   on_exit is called once, on a turn of its own, so its owner may drop the Child there.
/// End:       on_exit waits for the exit and for the end of both outputs, but at most one second for the
///            latter (a grandchild may keep them open; what is left of the group is killed then).
/// Deadline:  from start() on. SIGTERM first, SIGKILL kill_after later; timed_out says that it came to that,
///            and the exit status then is that of a program that was asked to end.
/// Input:     written as the program reads, then closed; that it does not read is no failure.
class Child {
 public:
  using OnExit = std::function<void(ChildResult)>;
  /// Errors: kNotFound, kDenied, kInvalid (empty argv, NUL in a string), kIo.
  /// Nothing runs after an error. A program that cannot be executed is an error here, not an exit status,
  /// because libuv reports exec's errno.
  static Result<std::unique_ptr<Child>> start(Loop& loop, ChildSpec spec, OnExit on_exit);
  ~Child();
  Child(Child&&) = delete;

  /// Of the process, which is its group's too; good as long as it runs.
  /// 0 once it has ended.
  int pid() const;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
