#pragma once
// Two pieces of work measured in turns in one run, so that whatever else the machine does falls on both.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

namespace sliced::bench {

/// Runs floor and ours alternately and prints min / median / max of each and the ratio of the medians.
/// Returns the ratio.
inline double compare(const char* what, int rounds, const std::function<void()>& floor,
                      const std::function<void()>& ours) {
  using Clock = std::chrono::steady_clock;
  const auto time = [](const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
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
