#pragma once
// The one event loop of the process. Everything that is not blocking work runs on its thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reactor/scheduler.h"

struct uv_loop_s;

namespace sliced::reactor {

struct LongTurn;  // reactor/turn_watch.h

/// Ownership: outlives every handle, stream and timer made on it. Whatever is still open when it goes is a
///            bug: its kind is printed to stderr and the loop's memory is given up rather than freed under
///            its users.
/// Threads:   all of it belongs to one thread, except post().
/// Errors:    a process that cannot open a loop (no descriptors at start-up) says so and aborts.
/// Signals:   SIGPIPE is ignored from construction on; writes to a peer that is gone are errors of that
///            stream.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Turns until stop(); does not end by itself when nothing is left to do. Not to be called from a callback.
  void run();
  /// Makes run() return after the present turn; before run() it makes the next run() return at once.
  void stop();
  /// One turn: waits at most wait_max for something to happen. For tests and for draining at exit.
  /// With 0 it looks at what is ready and does not wait.
  void turn(Millis wait_max);

  /// Monotonic, constant within one turn.
  TimePoint now() const;
  /// Its time and timers as a port; lives as long as the loop.
  Scheduler& scheduler();

  /// Any thread, while the loop lives: task runs on the loop's thread in one of the next turns, in order of
  /// posting.
  /// The only way back from another thread; does not wait for the loop. What the task captures is destroyed
  /// on the loop's thread. The destructor still makes turns, so that what was posted before it may run in
  /// them.
  void post(Task task);

  /// Hears of turns that take too long, each call that does so once in ten minutes.
  /// listener replaces the one before it, runs at the end of the turn in question, and may do anything but
  /// destroy the loop.
  void on_long_turn(std::function<void(const LongTurn&)> listener);

  /// Turns of a tenth of a second and more since the start (TurnWatch::kLong), told or not.
  uint64_t long_turns() const;

  /// Lets close callbacks run, waits (at most half a second) for killed children to be reaped, and names what
  /// is still open, one entry a handle. Empty is good.
  std::vector<std::string> surviving_handles();

  /// The library's own loop.
  uv_loop_s* raw();  // for reactor/ only

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sliced::reactor
