#pragma once
// How long something takes, counted by upper bounds, as a histogram of Prometheus has it.
#include <array>
#include <cstddef>
#include <cstdint>

#include "reactor/base/time.h"

namespace sliced {

/// A value that only grows, as a counter of Prometheus has to. Whoever counts (publishers/publisher.h,
/// daemon/decider.h) holds one; daemon/status/exposition.h makes the text of it, cumulative and in seconds.
struct Durations {
  /// Milliseconds; what takes exactly that long is counted there. Published as the label `le`: another bound
  /// is another series, and whoever computes quantiles of them sees a break.
  static constexpr std::array<int64_t, 10> kBoundsMs = {5,   10,    25,    50,     100,
                                                        250, 1'000, 5'000, 30'000, 120'000};
  std::array<uint64_t, kBoundsMs.size() + 1>
      counts{};  // each of its bound alone; the last is of what takes longer
  Millis sum{0};

  /// A negative duration (there is none on a monotonic clock) would be counted under the first bound and
  /// taken off the sum.
  void add(Millis took) {
    size_t at = 0;
    while (at < kBoundsMs.size() && took.count() > kBoundsMs[at]) ++at;
    ++counts[at];
    sum += took;
  }
  bool operator==(const Durations&) const = default;
};

}  // namespace sliced
