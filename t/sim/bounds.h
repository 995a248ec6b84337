#pragma once
// How long after its last cause a thing may take. Each is the sum of the daemon's own bounds on the way.
#include "reactor/base/time.h"

namespace sliced::sim {

constexpr Millis kHostBound{2'500};     // coalescing, reading, settling at the longest, a write
constexpr Millis kClusterBound{1'500};  // a watch event, a decision, a write
constexpr Millis kTamperBound{3'000};
constexpr Millis kFightBound{125'000};  // restoring slows down against somebody who does not stop
constexpr Millis kStartBound{9'000};
constexpr Millis kPoolsBound{1'000};  // where there are several of them, with a decision on a worker
constexpr Millis kDoubtBound{
    150'000};  // until the claims have told what may be allocated of the other driver
constexpr Millis kMacAskedForMax{8'000};   // that policies of histories ask for
constexpr Millis kAskedAgainBound{2'500};  // a PF that is asked again and again
constexpr Millis kWayMax{1'000};           // of a write to the server

}  // namespace sliced::sim
