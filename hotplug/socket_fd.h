#pragma once
// An owned descriptor and what all event sockets do with it.
#include <unistd.h>

#include <utility>

namespace sliced::hotplug {

class SocketFd {
 public:
  SocketFd() = default;
  explicit SocketFd(int fd) : fd_(fd) {}
  SocketFd(SocketFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SocketFd& operator=(SocketFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~SocketFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// The kernel keeps what arrives while we are busy; without CAP_NET_ADMIN it is capped at net.core.rmem_max.
inline constexpr int kReceiveBufferBytes = 8 << 20;
void grow_receive_buffer(int fd);

/// Datagrams taken per turn of the loop, so that a storm of events leaves room for the rest.
inline constexpr int kDatagramsPerTurnMax = 512;

}  // namespace sliced::hotplug
