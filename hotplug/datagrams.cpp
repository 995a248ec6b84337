#include "hotplug/datagrams.h"

#include <cerrno>
#include <utility>

namespace sliced::hotplug {

void grow_receive_buffer(int fd) {
  const int bytes = kReceiveBufferBytes;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

Result<std::unique_ptr<Datagrams>> Datagrams::open(reactor::Loop& loop, reactor::Descriptor socket,
                                                   size_t size_max, Handlers handlers) {
  std::unique_ptr<Datagrams> made(new Datagrams(std::move(socket), size_max, std::move(handlers)));
  auto poll = reactor::Poll::open(loop, made->socket_.get(),
                                  [it = made.get()](reactor::Poll::Ready) { it->receive(); });
  if (!poll) return poll.error();
  made->poll_ = std::move(*poll);
  made->poll_->interest(true, false);
  return made;
}

Datagrams::Datagrams(reactor::Descriptor socket, size_t size_max, Handlers handlers)
    : socket_(std::move(socket)), buffer_(size_max), handlers_(std::move(handlers)) {}

void Datagrams::receive() {
  for (int turn = 0; turn < kDatagramsPerTurnMax; ++turn) {
    sockaddr_storage from{};
    iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0) {
      if (errno == ENOBUFS) handlers_.on_lost();
      if (errno == EINTR || errno == ENOBUFS) continue;
      return;
    }
    handlers_.on_datagram({.bytes = {buffer_.data(), static_cast<size_t>(got)},
                           .is_cut = (message.msg_flags & MSG_TRUNC) != 0,
                           .from = from,
                           .from_size = message.msg_namelen});
  }
}

}  // namespace sliced::hotplug
