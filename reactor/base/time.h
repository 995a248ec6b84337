#pragma once
// The one clock of the daemon is monotonic; wall-clock time is used in log lines and nowhere else.
#include <chrono>

namespace sliced {

using Millis = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using TimePoint =
    std::chrono::time_point<Clock, Millis>;  // a fake scheduler makes its own, counted from zero

}  // namespace sliced
