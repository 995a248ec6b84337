#pragma once
// A file descriptor and who closes it: the one owner of descriptors in this program. What libuv opened is
// libuv's (handle.h). Knows neither loop nor libuv, so that every room may hold one.
#include <unistd.h>

#include <utility>

namespace sliced::reactor {

/// Closed when it goes, however that ends. Empty, or made of what open(2) or socket(2) refused (-1): false.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}  // takes it over
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  /// Exchanges the two: what this one had is closed when `other` goes, which for a temporary is at once.
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// Stays ours; -1 when there is none.
  int get() const { return fd_; }
  /// The caller's from now on.
  int release() { return std::exchange(fd_, -1); }
  /// Whether there is one; says nothing of whether the kernel still likes it.
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace sliced::reactor
