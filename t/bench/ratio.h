#pragma once
// Two pieces of work measured in turns in one run, so that whatever else the machine does falls on both.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

namespace sliced::bench {

/// Runs floor and ours alternately and prints min / median / max of each and the ratio of the medians. Measured
/// is processor time, of all threads: what else the machine does is not in it, beside what it does to caches.
/// Returns the ratio.
inline double compare(const char* what, int rounds, const std::function<void()>& floor,
                      const std::function<void()>& ours) {
  const auto now_ms = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  };
  const auto time = [&](const std::function<void()>& work) {
    const double start = now_ms();
    work();
    return now_ms() - start;
  };
  floor();
  ours();  // warm
  std::vector<double> a, b;
  for (int i = 0; i < rounds; ++i) {
    a.push_back(time(floor));
    b.push_back(time(ours));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  const double ratio = b[b.size() / 2] / a[a.size() / 2];
  std::printf("%-44s floor %8.3f /%8.3f /%8.3f ms   ours %8.3f /%8.3f /%8.3f ms   ratio %.2f\n", what,
              a.front(), a[a.size() / 2], a.back(), b.front(), b[b.size() / 2], b.back(), ratio);
  return ratio;
}

}  // namespace sliced::bench
