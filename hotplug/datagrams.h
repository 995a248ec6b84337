#pragma once
// A bound datagram socket on the loop, shared by the event sources (netlink, unix). libudev has its own
// socket.
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "reactor/base/result.h"
#include "reactor/descriptor.h"
#include "reactor/poll.h"

namespace sliced::hotplug {

/// The kernel buffers events while the loop is busy. Without CAP_NET_ADMIN the size is limited to
/// net.core.rmem_max.
inline constexpr int kReceiveBufferBytes = 8 << 20;
/// Sets the size with SO_RCVBUFFORCE, which requires CAP_NET_ADMIN, otherwise SO_RCVBUF (socket(7)). Ignores
/// failures: an overflow is reported as an event.
void grow_receive_buffer(int fd);

/// Limit per turn of the loop, so that a burst of events does not block other work. The socket is readable
/// again in the next turn.
inline constexpr int kDatagramsPerTurnMax = 512;

/// A received datagram. The receiver checks the sender in `from`, and copies the bytes that it stores: the
/// next datagram overwrites them.
struct Datagram {
  std::string_view bytes;  // valid during the call
  bool is_cut = false;     // it was larger than size_max
  const sockaddr_storage& from;
  size_t from_size = 0;  // of the address; 0: the sender has none
};

/// Callbacks run from the loop, which outlives this object. It closes the socket. Failure: an error of
/// recvmsg(2) ends the turn and is not reported; the socket stays open.
class Datagrams {
 public:
  struct Handlers {
    std::function<void(const Datagram&)> on_datagram;
    // May be called several times in a turn; remaining datagrams follow.
    std::function<void()> on_lost;  // ENOBUFS: the kernel dropped datagrams
  };
  /// Takes ownership of the socket, which is bound and non-blocking. size_max: bytes of a datagram. Errors:
  /// those of Poll::open.
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
