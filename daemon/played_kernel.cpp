#include "daemon/played_kernel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/durable_file.h"

namespace sliced::daemon {
namespace {

constexpr timeval kAnswerMax{.tv_sec = 10, .tv_usec = 0};

reactor::Descriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::copy(path.begin(), path.end(), address.sun_path);
  reactor::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerMax, sizeof kAnswerMax);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kAnswerMax, sizeof kAnswerMax);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets(7) wants it so
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

// Sends a question, and returns the errno in the answer.
int ask(const reactor::Descriptor& socket, const std::string& question) {
  if (::send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(question.size()) ||
      ::shutdown(socket.get(), SHUT_WR) != 0)
    return EIO;
  char answer[8] = "";
  const ssize_t size = ::recv(socket.get(), answer, sizeof answer - 1, MSG_WAITALL);
  const auto number =
      size > 0 ? parse_int(trim(std::string_view(answer, static_cast<size_t>(size)))) : std::nullopt;
  return number ? static_cast<int>(*number) : EIO;
}

// A VF's address at its PF, which netlink has and sysfs does not.
std::string mac_of(const kubelet::VfOfInterface& vf) {
  return "vf-macs/" + std::to_string(vf.ifindex) + "-" + std::to_string(vf.index);
}

// One file per VF; a VF without one has no enforced address. Existing VFs are not simulated: all of them
// count.
Result<std::map<int, std::string>> played_macs(const std::string& root, int ifindex) {
  constexpr int kVfsMax = 256;
  std::map<int, std::string> out;
  for (int index = 0; index < kVfsMax; ++index) {
    const auto mac = reactor::read_whole(root + "/run/sliced/" + mac_of({ifindex, index}), 64);
    if (!mac && mac.error().code != Errc::kNotFound) return mac.error();
    out.emplace(index, mac ? std::string(trim(*mac)) : std::string(kubelet::kNoMac));
  }
  return out;
}

Result<Unit> write_played(const std::string& root, const std::string& path, std::string_view text) {
  const reactor::Descriptor socket = connect_to(root + "/run/sliced/kernel");
  if (!socket) return Error{Errc::kIo, "write /" + path + ": this is a snapshot of a host (--host)"};
  const int error = ask(socket, path + "\n" + std::string(text));
  if (error == 0) return Unit{};
  return Error{error == ENOENT || error == ENODEV ? Errc::kNotFound
               : error == EBUSY                   ? Errc::kBusy
                                                  : Errc::kIo,
               "write " + in_quotes(trim(text), 64) + " to /" + path + ": " + std::strerror(error)};
}

}  // namespace

kubelet::NodeHost::Kernel played_kernel(const std::string& root) {
  return {.write = [root](const std::string& path,
                          std::string_view text) { return write_played(root, path, text); },
          .has_node =
              [root](const std::string& path) {
                struct stat found{};
                return ::stat((root + path).c_str(), &found) == 0;
              },
          .read_macs = [root](int ifindex) { return played_macs(root, ifindex); },
          .write_mac = [root](const kubelet::VfOfInterface& vf,
                              const std::string& mac) { return write_played(root, mac_of(vf), mac); },
          .write_own_mac =
              [root](int ifindex, const std::string& mac) {
                return write_played(root, "own-macs/" + std::to_string(ifindex), mac);
              }};
}

}  // namespace sliced::daemon
