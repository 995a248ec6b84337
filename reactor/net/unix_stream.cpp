#include "reactor/net/unix_stream.h"

#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "reactor/base/text.h"
#include "reactor/loop.h"
#include "reactor/net/unix_socket.h"
#include "reactor/net/uv_stream.h"

namespace sliced::reactor::net {
namespace {

constexpr Millis kBacklogWait{50};

class UnixConnect final : public Connecting {
 public:
  UnixConnect(Loop& loop, std::string path, Millis deadline, OnConnected on_connected)
      : loop_(loop),
        path_(std::move(path)),
        ends_(loop.now() + deadline),
        on_connected_(std::move(on_connected)) {
    step_ = loop_.scheduler().after(Millis{0}, [this] { attempt(); });
  }

 private:
  void attempt() {
    const auto address = unix_address(path_);
    if (!address) return fail(address.error().code, address.error().what);
    Descriptor socket = unix_socket();
    if (!socket) return fail(Errc::kIo, std::strerror(errno));
    // A unix connect completes immediately; EAGAIN means that the listener's backlog is full.
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address->raw), address->size) == 0)
      return connected(std::move(socket));
    if (errno != EAGAIN) return fail(uv_error(-errno).code, uv_error(-errno).what);
    if (loop_.now() + kBacklogWait >= ends_) return fail(Errc::kTimeout, "the listener does not accept");
    step_ = loop_.scheduler().after(kBacklogWait, [this] { attempt(); });
  }

  void connected(Descriptor socket) {
    auto stream = adopt_unix(loop_, std::move(socket), unix_text(path_));
    if (!stream) return fail(Errc::kIo, stream.error().what);
    finish(std::move(stream));
  }

  void fail(Errc code, const std::string& why) {
    finish(Error{code, "connect " + unix_text(path_) + ": " + why});
  }

  void finish(Result<std::unique_ptr<ByteStream>> outcome) {
    step_ = complete(loop_.scheduler(), on_connected_, std::move(outcome));
  }

  Loop& loop_;
  const std::string path_;
  const TimePoint ends_;
  OnConnected on_connected_;
  Ticket step_;
};

}  // namespace

static_assert(kUnixPathMax + 1 == sizeof(sockaddr_un::sun_path));

Result<UnixAddress> unix_address(const std::string& path) {
  UnixAddress address;
  const bool abstract = !path.empty() && path[0] == '\0';
  if (path.size() < (abstract ? 2 : 1) || path.size() > kUnixPathMax)
    return Error{Errc::kInvalid, "a unix socket's path has 1 to " + std::to_string(kUnixPathMax) +
                                     " bytes, this one " + std::to_string(path.size())};
  if (!abstract && path.find('\0') != std::string::npos) return Error{Errc::kInvalid, "NUL byte in the path"};
  address.raw.sun_family = AF_UNIX;
  std::memcpy(address.raw.sun_path, path.data(), path.size());
  // All bytes of an abstract name count, so its size must be exact.
  address.size = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
  return address;
}

std::string unix_text(const std::string& path) {
  const bool abstract = !path.empty() && path[0] == '\0';
  return "unix:" + (abstract ? "@" + escaped(path.substr(1)) : escaped(path));
}

Descriptor unix_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

std::unique_ptr<Connecting> connect_unix(Loop& loop, std::string path, Millis deadline,
                                         OnConnected on_connected) {
  return std::make_unique<UnixConnect>(loop, std::move(path), deadline, std::move(on_connected));
}

}  // namespace sliced::reactor::net
