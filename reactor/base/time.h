#pragma once
// The one clock of the daemon is monotonic; wall-clock time is used in log lines and nowhere else.
#include <chrono>

namespace sliced {

/// The unit of everything that waits. Finer time is counted where it is measured (reactor/turn_watch.h).
using Millis = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
/// A moment of the monotonic clock, in whole milliseconds: it means nothing to another process.
/// A fake scheduler makes its own, counted from zero.
using TimePoint = std::chrono::time_point<Clock, Millis>;

}  // namespace sliced
