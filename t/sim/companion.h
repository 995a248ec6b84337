#pragma once
// What begins and ends with each life of the daemon.
#include <functional>

namespace sliced::sim {

struct Companion {
  virtual ~Companion() = default;
  /// ready: the daemon may write.
  virtual void begin(std::function<void()> ready) = 0;
  virtual void end() = 0;
};

}  // namespace sliced::sim
