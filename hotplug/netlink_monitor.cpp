#include "hotplug/netlink_monitor.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "hotplug/datagrams.h"
#include "hotplug/netlink_decode.h"
#include "reactor/loop.h"

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

bool is_from_kernel(const Datagram& datagram) {
  sockaddr_nl from;
  if (datagram.from_size != sizeof from) return false;
  std::memcpy(&from, &datagram.from, sizeof from);
  return from.nl_family == AF_NETLINK && from.nl_pid == 0;
}

// Routes change by the thousand on nodes that route for pods, so only default routes and new routes through a
// gateway pass. The packet begins with nlmsghdr. BPF loads 16 bits in network order, and finds an attribute
// by its type (SKF_AD_NLATTR: A is the offset of the attributes, X the type; the result is its offset, or 0).
bool keep_wanted_routes_only(int fd) {
  constexpr uint32_t kType = offsetof(nlmsghdr, nlmsg_type);
  constexpr uint32_t kDstLen = sizeof(nlmsghdr) + offsetof(rtmsg, rtm_dst_len);
  constexpr uint32_t kAttributes = NLMSG_ALIGN(sizeof(nlmsghdr)) + NLMSG_ALIGN(sizeof(rtmsg));
  constexpr auto kFindAttribute = static_cast<uint32_t>(SKF_AD_OFF + SKF_AD_NLATTR);
  const uint32_t fresh = htons(RTM_NEWROUTE), deleted = htons(RTM_DELROUTE);
  std::vector<sock_filter> program{
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kType),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, fresh, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, deleted, 0, 2),  // neither: passed
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kDstLen),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kDstLen),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  for (const uint32_t attribute : {RTA_GATEWAY, RTA_VIA, RTA_MULTIPATH, RTA_NH_ID}) {
    program.push_back(BPF_STMT(BPF_LD | BPF_IMM, kAttributes));
    program.push_back(BPF_STMT(BPF_LDX | BPF_IMM, attribute));
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFindAttribute));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, UINT32_MAX));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

class NetlinkMonitor final : public EventSource {
 public:
  explicit NetlinkMonitor(reactor::Loop& loop) : loop_(loop) {}

  std::string name() const override { return "netlink"; }

  Result<Unit> start(OnEvent on_event) override {
    on_event_ = std::move(on_event);
    reactor::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!socket) return errno_error("socket");
    if (auto bound = bind(socket.get()); !bound) return bound;
    auto opened = Datagrams::open(loop_, std::move(socket), kDatagramSizeMax,
                                  {[this](const Datagram& datagram) { handle(datagram); },
                                   [this] { on_event_(Overflow{"netlink: ENOBUFS"}); }});
    if (!opened) return opened.error();
    datagrams_ = std::move(*opened);
    return Unit{};
  }

 private:
  static bool join(int fd, int group) {
    return ::setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
  }

  static Result<Unit> bind(int fd) {
    grow_receive_buffer(fd);
    sockaddr_nl self{};
    self.nl_family = AF_NETLINK;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&self), sizeof self) != 0) return errno_error("bind");
    if (!join(fd, RTNLGRP_LINK)) return errno_error("RTNLGRP_LINK");
    // Without the filter every route would wake us; then default routes wait for the periodic rescan.
    if (keep_wanted_routes_only(fd) && !(join(fd, RTNLGRP_IPV4_ROUTE) && join(fd, RTNLGRP_IPV6_ROUTE)))
      return errno_error("RTNLGRP_IPV4_ROUTE");
    // Rules and nexthop objects affect default routes. Kernels without them have no such groups.
    for (const int group : {RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP}) join(fd, group);
    return Unit{};
  }

  void handle(const Datagram& datagram) {
    if (!is_from_kernel(datagram)) return;
    if (datagram.is_cut) return on_event_(Overflow{"netlink: datagram cut"});
    auto events = decode_link_events(datagram.bytes);
    if (!events) return on_event_(Overflow{events.error().what});
    for (HostEvent& event : *events) on_event_(std::move(event));
  }

  reactor::Loop& loop_;
  OnEvent on_event_;
  std::unique_ptr<Datagrams> datagrams_;
};

// Peeks at the answer's size first: one message contains all VFs.
Result<std::string> receive_answer(int fd) {
  const ssize_t size = ::recv(fd, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
    return Error{Errc::kTimeout, "netlink: RTM_GETLINK: no answer"};
  if (size < 0) return errno_error("recv");
  if (static_cast<size_t>(size) > kAnswerSizeMax)
    return Error{Errc::kTooLarge, "netlink: RTM_GETLINK: an answer of " + std::to_string(size) + " bytes"};
  // The size of a receive limits the size of the next messages of a dump on this socket (max_recvmsg_len in
  // net/netlink/af_netlink.c, at most 32 KiB).
  std::string answer(std::max(static_cast<size_t>(size), kDatagramSizeMax), '\0');
  const ssize_t got = ::recv(fd, answer.data(), answer.size(), 0);
  if (got < 0) return errno_error("recv");
  answer.resize(static_cast<size_t>(got));
  return answer;
}

Result<Unit> send_request(int fd, const std::string& request) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(fd, request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
               sizeof kernel) < 0)
    return errno_error("send");
  return Unit{};
}

// Some kernels compute too little room for the answer to a request for one link (rtnl_vfinfo_size() omits
// GUIDs). The room of a dump does not depend on that. Errors: also kNotFound if the link is not in the dump.
Result<std::map<int, VfConfig>> dump_vf_configs(int fd, int ifindex) {
  constexpr int kDatagramsMax = 65536;
  if (auto sent = send_request(fd, encode_vf_dump(2)); !sent) return sent.error();
  std::map<int, VfConfig> configs;
  for (int count = 0; count < kDatagramsMax; ++count) {
    auto answer = receive_answer(fd);
    if (!answer) return answer.error();
    const auto is_last = decode_vf_dump(*answer, ifindex, configs);
    if (!is_last) return is_last.error();
    if (!*is_last) continue;
    if (configs.empty()) return Error{Errc::kNotFound, "netlink: RTM_GETLINK: no VFs of the link"};
    return configs;
  }
  return Error{Errc::kTooLarge, "netlink: RTM_GETLINK: the answer does not end"};
}

}  // namespace

std::unique_ptr<EventSource> make_netlink_monitor(reactor::Loop& loop) {
  return std::make_unique<NetlinkMonitor>(loop);
}

Result<std::map<int, VfConfig>> read_vf_configs(int ifindex) {
  const reactor::Descriptor socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return errno_error("socket");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
  if (auto sent = send_request(socket.get(), encode_vf_request(ifindex, 1)); !sent) return sent.error();
  auto answer = receive_answer(socket.get());
  if (!answer) return answer.error();
  auto configs = decode_vf_configs(*answer);
  if (configs || configs.error().code != Errc::kTooLarge) return configs;
  if (auto dumped = dump_vf_configs(socket.get(), ifindex)) return dumped;
  configs.error().what +=
      ": the kernel cannot report the settings of so many VFs in one message; configure fewer VFs on this PF";
  return configs;
}

}  // namespace sliced::hotplug
