#include "hotplug/default_routes.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hotplug/netlink_decode.h"
#include "hotplug/socket_fd.h"

namespace sliced::hotplug {
namespace {

constexpr size_t kDatagramSizeMax = 65536;  // the kernel dumps in pieces of at most 32 KiB
constexpr int kDatagramsMax = 65536;
constexpr timeval kAnswerTimeout{.tv_sec = 2, .tv_usec = 0};

Error errno_error(const char* call) {
  const char* name = ::strerrorname_np(errno);
  const bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
  return Error{is_late ? Errc::kTimeout : Errc::kIo, std::string("netlink: RTM_GETROUTE: ") + call + ": " +
                                                         (name != nullptr ? name : "unknown error")};
}

Result<Unit> dump(int fd, uint8_t family, std::set<int>& ifindexes) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const std::string request = encode_route_dump(family, family);
  if (::sendto(fd, request.data(), request.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
               sizeof kernel) < 0)
    return errno_error("send");
  std::vector<char> buffer(kDatagramSizeMax);
  for (int count = 0; count < kDatagramsMax; ++count) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("recv");
    const auto is_last =
        decode_default_route_links(std::string_view(buffer.data(), static_cast<size_t>(got)), ifindexes);
    if (!is_last) return is_last.error();
    if (*is_last) return Unit{};
  }
  return Error{Errc::kTooLarge, "netlink: RTM_GETROUTE: the answer does not end"};
}

}  // namespace

Result<std::set<int>> ask_default_route_links() {
  std::set<int> ifindexes;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    const SocketFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket.is_open()) return errno_error("socket");
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
    const int strict = 1;
    ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &strict, sizeof strict);
    auto dumped = dump(socket.get(), family, ifindexes);
    // A machine without IPv6, or a table that was never made, has no such routes.
    if (!dumped && dumped.error().code != Errc::kNotFound) return dumped.error();
  }
  return ifindexes;
}

}  // namespace sliced::hotplug
