#pragma once
// Chance that is the same everywhere: a number decides everything that follows.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reactor/base/time.h"

namespace sliced::sim {

/// splitmix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0..n-1; 0 when n is 0.
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }
  bool chance(double p) { return real() < p; }
  double real() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  Millis millis(int64_t from, int64_t to) {
    return Millis(from + static_cast<int64_t>(below(static_cast<size_t>(to - from + 1))));
  }
  /// The list must not be empty.
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  uint64_t state_;
};

/// FNV-1a, continued.
inline uint64_t mix(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace sliced::sim
