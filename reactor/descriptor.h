#pragma once
// The owner of file descriptors. libuv owns those that it opens (handle.h). Independent of loop and libuv.
#include <unistd.h>

#include <utility>

namespace sliced::reactor {

/// Closes the descriptor in its destructor. Converts to false if empty, or created from a failed open(2) or
/// socket(2) (-1).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}  // takes ownership
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  /// Swaps both; the former descriptor is closed when `other` is destroyed.
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// Returns the descriptor without releasing it; -1 if empty.
  int get() const { return fd_; }
  /// Passes ownership to the caller.
  int release() { return std::exchange(fd_, -1); }
  /// Returns true if there is a descriptor, also one with a pending error.
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace sliced::reactor
