#pragma once
// The event loop of the process. Everything except blocking work runs on its thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reactor/scheduler.h"

struct uv_loop_s;

namespace sliced::reactor {

struct LongTurn;  // reactor/turn_watch.h

/// Ownership: must outlive every handle, stream and timer on it. An open handle at its destruction is a bug:
/// its kind is printed to stderr, and the loop's memory is leaked.
/// Threads:   one thread, except post().
/// Errors:    a process that cannot open a loop (no descriptors at the start) prints the error and aborts.
/// Signals:   SIGPIPE is ignored from construction on; writes to a closed connection are errors of its
/// stream.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs turns until stop(), also without pending work. Must not be called from a callback.
  void run();
  /// Makes run() return after the present turn; before run(), the next run() returns immediately.
  void stop();
  /// Runs one turn, waiting at most wait_max for events (0: not at all). For tests and for draining at exit.
  void turn(Millis wait_max);

  /// Monotonic, constant within one turn.
  TimePoint now() const;
  /// The scheduler of the loop; valid as long as the loop.
  Scheduler& scheduler();

  /// Any thread, while the loop exists: runs the task on the loop thread in a later turn, in order of
  /// posting. Does not wait. The only way to the loop from another thread. Captured values are destroyed on
  /// the loop thread. The destructor still runs turns, in which tasks that were posted before may run.
  void post(Task task);

  /// Sets the listener for long turns; each kind of call is reported once in ten minutes. It runs at the end
  /// of the turn.
  void on_long_turn(std::function<void(const LongTurn&)> listener);

  /// Returns the number of turns of at least TurnWatch::kLong since the start.
  uint64_t long_turns() const;

  /// Runs close callbacks, waits at most half a second for killed children, and returns the kinds of open
  /// handles. Empty if none.
  std::vector<std::string> surviving_handles();

  /// The libuv loop.
  uv_loop_s* raw();  // for reactor/ only

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
