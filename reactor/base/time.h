#pragma once
// Monotonic time. Wall-clock time is used in log lines only.
#include <chrono>

namespace sliced {

/// The unit of all delays.
using Millis = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
/// Whole milliseconds of the monotonic clock, meaningless to other processes. Fake schedulers start at zero.
using TimePoint = std::chrono::time_point<Clock, Millis>;

}  // namespace sliced
