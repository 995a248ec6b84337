#pragma once
// A histogram of durations for Prometheus.
#include <array>
#include <cstddef>
#include <cstdint>

#include "reactor/base/time.h"

namespace sliced {

/// Counts since the start of the process. daemon/status/exposition.h prints them, cumulative and in seconds.
struct DurationHistogram {
  /// Inclusive upper bounds in milliseconds, published as label `le`. A changed bound is another time series.
  static constexpr std::array<int64_t, 10> kBoundsMs = {5,   10,    25,    50,     100,
                                                        250, 1'000, 5'000, 30'000, 120'000};
  std::array<uint64_t, kBoundsMs.size() + 1>
      counts{};  // per bound, not cumulative; the last is for longer durations
  Millis sum{0};

  void add(Millis took) {
    size_t at = 0;
    while (at < kBoundsMs.size() && took.count() > kBoundsMs[at]) ++at;
    ++counts[at];
    sum += took;
  }
  bool operator==(const DurationHistogram&) const = default;
};

}  // namespace sliced
