#include "hotplug/netlink_monitor.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "hotplug/netlink_decode.h"
#include "hotplug/socket_fd.h"
#include "reactor/loop.h"
#include "reactor/poll.h"

namespace sliced::hotplug {
namespace {

constexpr size_t kDatagramSizeMax = 65536;  // a notification of a link is about 1.5 KiB
constexpr size_t kAnswerSizeMax = 4 << 20;  // a PF with 4096 VFs
constexpr timeval kAnswerTimeout{.tv_sec = 2, .tv_usec = 0};

Error errno_error(const char* call) {
  const char* name = ::strerrorname_np(errno);
  return Error{Errc::kIo,
               std::string("netlink: ") + call + ": " + (name != nullptr ? name : "unknown error")};
}

bool is_from_kernel(const msghdr& message, const sockaddr_nl& from) {
  return message.msg_namelen == sizeof from && from.nl_family == AF_NETLINK && from.nl_pid == 0;
}

// Routes come and go by the thousand on nodes that route for pods: only default routes wake us. The packet
// begins with nlmsghdr; BPF loads 16 bits in network order.
bool keep_default_routes_only(int fd) {
  constexpr uint32_t kType = offsetof(nlmsghdr, nlmsg_type);
  constexpr uint32_t kDstLen = sizeof(nlmsghdr) + offsetof(rtmsg, rtm_dst_len);
  const uint32_t fresh = htons(RTM_NEWROUTE), gone = htons(RTM_DELROUTE);
  std::array<sock_filter, 7> program{{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kType),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, fresh, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, gone, 0, 2),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kDstLen),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

class NetlinkMonitor final : public EventSource {
 public:
  explicit NetlinkMonitor(reactor::Loop& loop) : loop_(loop), buffer_(kDatagramSizeMax) {}

  std::string name() const override { return "netlink"; }

  Result<Unit> start(OnEvent on_event) override {
    on_event_ = std::move(on_event);
    socket_ = SocketFd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!socket_.is_open()) return errno_error("socket");
    grow_receive_buffer(socket_.get());
    sockaddr_nl self{};
    self.nl_family = AF_NETLINK;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&self), sizeof self) != 0)
      return errno_error("bind");
    if (!join(RTNLGRP_LINK)) return errno_error("RTNLGRP_LINK");
    // Without the filter every route would wake us; then default routes wait for the periodic rescan.
    if (keep_default_routes_only(socket_.get()) && !(join(RTNLGRP_IPV4_ROUTE) && join(RTNLGRP_IPV6_ROUTE)))
      return errno_error("RTNLGRP_IPV4_ROUTE");
    // What leads to a default route, or is one's next hop. Kernels without rules or nexthop objects have no
    // groups.
    for (const int group : {RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP}) join(group);
    auto poll = reactor::Poll::open(loop_, socket_.get(), [this](reactor::Poll::Ready) { receive(); });
    if (!poll) return poll.error();
    poll_ = std::move(*poll);
    poll_->interest(true, false);
    return Unit{};
  }

 private:
  bool join(int group) {
    return ::setsockopt(socket_.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
  }

  void receive() {
    for (int turn = 0; turn < kDatagramsPerTurnMax; ++turn) {
      sockaddr_nl from{};
      iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
      msghdr message{};
      message.msg_name = &from;
      message.msg_namelen = sizeof from;
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
      if (got < 0) {
        if (errno == EINTR) continue;
        if (errno == ENOBUFS) {
          on_event_(Overflow{"netlink: ENOBUFS"});
          continue;
        }
        return;
      }
      if (!is_from_kernel(message, from)) continue;
      if ((message.msg_flags & MSG_TRUNC) != 0)
        on_event_(Overflow{"netlink: datagram cut"});
      else
        deliver(std::string_view(buffer_.data(), static_cast<size_t>(got)));
    }
  }

  void deliver(std::string_view datagram) {
    auto events = decode_link_events(datagram);
    if (!events) return on_event_(Overflow{events.error().what});
    for (HostEvent& event : *events) on_event_(std::move(event));
  }

  reactor::Loop& loop_;
  OnEvent on_event_;
  SocketFd socket_;  // outlives the Poll on it
  std::unique_ptr<reactor::Poll> poll_;
  std::vector<char> buffer_;
};

// The answer's size is asked first: one message holds all VFs.
Result<std::string> receive_answer(int fd) {
  const ssize_t size = ::recv(fd, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return Error{Errc::kTimeout, "netlink: RTM_GETLINK: no answer"};
  if (size < 0) return errno_error("recv");
  if (static_cast<size_t>(size) > kAnswerSizeMax)
    return Error{Errc::kTooLarge, "netlink: RTM_GETLINK: an answer of " + std::to_string(size) + " bytes"};
  std::string answer(static_cast<size_t>(size), '\0');
  const ssize_t got = ::recv(fd, answer.data(), answer.size(), 0);
  if (got < 0) return errno_error("recv");
  answer.resize(static_cast<size_t>(got));
  return answer;
}

}  // namespace

void grow_receive_buffer(int fd) {
  const int bytes = kReceiveBufferBytes;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

std::unique_ptr<EventSource> make_netlink_monitor(reactor::Loop& loop) {
  return std::make_unique<NetlinkMonitor>(loop);
}

Result<std::map<int, std::string>> read_admin_macs(int ifindex) {
  const SocketFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.is_open()) return errno_error("socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const std::string request = encode_vf_request(ifindex, 1);
  if (::sendto(socket.get(), request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
               sizeof kernel) < 0)
    return errno_error("send");
  auto answer = receive_answer(socket.get());
  if (!answer) return answer.error();
  return decode_vf_macs(*answer);
}

}  // namespace sliced::hotplug
