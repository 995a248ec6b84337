#pragma once
// A bound datagram socket on the loop: what the sources of events share (netlink, unix). What udev brings
// comes through libudev, which has its own.
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"
#include "reactor/poll.h"

namespace sliced::hotplug {

/// The kernel keeps what arrives while we are busy; without CAP_NET_ADMIN it is capped at net.core.rmem_max.
inline constexpr int kReceiveBufferBytes = 8 << 20;
/// Best effort: what the system does not give is done without, and an overflow tells of it.
/// SO_RCVBUFFORCE, which wants CAP_NET_ADMIN, else SO_RCVBUF (socket(7)).
void grow_receive_buffer(int fd);

/// Datagrams taken per turn of the loop, so that a storm of events leaves room for the rest.
/// What is left makes the socket readable again in the next turn.
inline constexpr int kDatagramsPerTurnMax = 512;

/// As it arrived, whoever sent it: checking `from` is the receiver's.
/// Whoever needs it longer copies: the next datagram is read into the same buffer.
struct Datagram {
  std::string_view bytes;  // valid during the call
  bool is_cut = false;     // it was larger than size_max
  const sockaddr_storage& from;
  size_t from_size = 0;  // of the address; 0: the sender has none
};

/// Reentry: callbacks run from the loop, and must not destroy it.
/// Ownership: it closes the socket. The loop outlives it.
/// Failure: an error of recvmsg(2) ends the turn, not the socket, and nobody is told.
class Datagrams {
 public:
  struct Handlers {
    std::function<void(const Datagram&)> on_datagram;
    // Several times in a turn where it must be; what is still there comes behind it.
    std::function<void()> on_lost;  // ENOBUFS: the kernel had no room for some
  };
  /// Takes over the socket, which is bound and non-blocking. size_max: bytes of a datagram.
  /// Errors: those of Poll::open.
  static Result<std::unique_ptr<Datagrams>> open(reactor::Loop& loop, reactor::Descriptor socket,
                                                 size_t size_max, Handlers handlers);

 private:
  Datagrams(reactor::Descriptor socket, size_t size_max, Handlers handlers);
  void receive();

  reactor::Descriptor socket_;  // outlives the Poll on it
  std::vector<char> buffer_;
  const Handlers handlers_;
  std::unique_ptr<reactor::Poll> poll_;
};

}  // namespace sliced::hotplug
