#include "kubelet/netlink.h"

#include "reactor/base/text.h"

namespace sliced::kubelet {
namespace netlink {
namespace {

constexpr timeval kKernelAnswerMax{.tv_sec = 10, .tv_usec = 0};
}  // namespace

// A socket belongs to the namespace in which it was made.
reactor::Descriptor open_socket(int network_namespace, int& error, int protocol) {
  reactor::Descriptor out;
  int refused = 0;
  error = in_namespace(network_namespace, [&] {
    out = reactor::Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
    if (!out) refused = errno;
  });
  if (error == 0) error = refused;
  if (out) ::setsockopt(out.get(), SOL_SOCKET, SO_RCVTIMEO, &kKernelAnswerMax, sizeof kKernelAnswerMax);
  return out;
}

int send_to_kernel(const reactor::Descriptor& socket, const std::string& request) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const auto* address = reinterpret_cast<const sockaddr*>(&kernel);
  return ::sendto(socket.get(), request.data(), request.size(), 0, address, sizeof kernel) < 0 ? errno : 0;
}

Error error_of(const std::string& what, int error) {
  return {error == EPERM || error == EACCES   ? Errc::kDenied
          : error == EEXIST                   ? Errc::kConflict
          : error == EAGAIN || error == EBUSY ? Errc::kTimeout
          : error == ENODEV                   ? Errc::kNotFound
                                              : Errc::kIo,
          what + ": " + std::strerror(error)};
}

std::string mac_bytes(std::string_view mac) {
  constexpr size_t kMacBytes = 6;
  std::string bytes;
  for (size_t i = 0; i < kMacBytes && 3 * i + 1 < mac.size(); ++i)
    bytes += static_cast<char>(parse_hex(mac.substr(3 * i, 2)).value_or(0));
  return bytes;
}

std::string mac_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += (text.empty() ? "" : ":") + hex(static_cast<unsigned char>(byte), 2);
  return text;
}

std::string text_in(std::string_view value) { return std::string(value.substr(0, value.find('\0'))); }

std::optional<uint32_t> number_in(std::string_view value) {
  uint32_t out = 0;
  if (value.size() != sizeof out) return std::nullopt;
  std::memcpy(&out, value.data(), sizeof out);
  return out;
}

}  // namespace netlink

void put_attribute(std::string& out, int type, std::string_view value) {
  const nlattr head{.nla_len = static_cast<uint16_t>(sizeof(nlattr) + value.size()),
                    .nla_type = static_cast<uint16_t>(type)};
  out += netlink::bytes_of(head);
  out += value;
  out.resize(netlink::aligned(out.size()));
}

int netlink::send_request(int network_namespace, const std::string& request, int protocol) {
  int error = 0;
  const reactor::Descriptor socket = open_socket(network_namespace, error, protocol);
  if (!socket) return error;
  if (const int failed = send_to_kernel(socket, request); failed != 0) return failed;
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char request[512];  // a refusal quotes the request
  } answer{};
  const ssize_t size = ::recv(socket.get(), &answer, sizeof answer, 0);
  if (size < 0) return errno;
  if (static_cast<size_t>(size) < sizeof answer.header + sizeof answer.error.error ||
      answer.header.nlmsg_type != NLMSG_ERROR)
    return EPROTO;
  return -answer.error.error;
}

int send_link_request(int network_namespace, const std::string& request) {
  return netlink::send_request(network_namespace, request);
}

}  // namespace sliced::kubelet
