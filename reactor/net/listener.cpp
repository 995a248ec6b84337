#include "reactor/net/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "reactor/base/callback_guard.h"
#include "reactor/base/text.h"
#include "reactor/descriptor.h"
#include "reactor/loop.h"
#include "reactor/net/unix_file.h"
#include "reactor/net/unix_socket.h"
#include "reactor/net/uv_stream.h"
#include "reactor/poll.h"

namespace sliced::reactor::net {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptedATurn = 16;  // leaves time for other events
constexpr Millis kRetry{100};

bool is_shortage(int code) { return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM; }

struct Address {
  sockaddr_storage raw{};
  socklen_t size = 0;
};

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  uv_ip_name(reinterpret_cast<const sockaddr*>(&address), text, sizeof text);
  const bool is_v6 = address.ss_family == AF_INET6;
  const uint16_t port = ntohs(is_v6 ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  return (is_v6 ? "[" + std::string(text) + "]" : text) + ":" + std::to_string(port);
}

Result<Address> parse_address(const Endpoint& at) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.raw);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.raw);
  if (uv_ip4_addr(at.host.c_str(), at.port, v4) == 0) {
    address.size = sizeof *v4;
    return address;
  }
  address = {};
  if (uv_ip6_addr(at.host.c_str(), at.port, v6) != 0)
    return Error{Errc::kInvalid, "not an IPv4 or IPv6 address"};
  address.size = sizeof *v6;
  return address;
}

class Accepting final : public Listener {
 public:
  Accepting(Loop& loop, const ListenOptions& options, OnAccept on_accept)
      : loop_(loop),
        options_(options),
        on_accept_(std::move(on_accept)),
        open_(std::make_shared<Open>(Open{.owner = this})) {}
  ~Accepting() override { open_->owner = nullptr; }

  Result<Unit> begin(Descriptor socket, std::unique_ptr<UnixFile> file, std::string unix_name) {
    socket_ = std::move(socket);
    file_ = std::move(file);
    unix_name_ = std::move(unix_name);
    auto poll = Poll::open(loop_, socket_.get(), [this](Poll::Ready) { accept_some(); });
    if (!poll) return Error(poll.error());
    poll_ = std::move(*poll);
    update_interest();
    return Unit{};
  }

  size_t connections() const override { return open_->count; }
  uint16_t port() const override {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
    return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6&>(address).sin6_port) : 0;
  }

 private:
  // Shared with the streams, which may outlive the listener.
  struct Open {
    Accepting* owner = nullptr;
    size_t count = 0;
  };
  struct Lease {
    explicit Lease(std::shared_ptr<Open> open_in) : open(std::move(open_in)) { ++open->count; }
    ~Lease() {
      --open->count;
      if (open->owner != nullptr) open->owner->update_interest();
    }
    Lease(const Lease&) = delete;
    const std::shared_ptr<Open> open;
  };

  bool has_room() const { return open_->count < options_.connections_max; }
  void update_interest() { poll_->interest(!retry_ && (has_room() || options_.make_room), false); }
  void schedule_retry() {
    retry_ = loop_.scheduler().after(kRetry, [this] {
      retry_.reset();
      update_interest();
    });
  }

  void accept_some() {
    // One place a turn: only of the first is it known that he waits.
    if (!has_room() && !(options_.make_room && options_.make_room() && has_room())) schedule_retry();
    for (int i = 0; i < kAcceptedATurn && has_room(); ++i)
      if (!accept_one()) break;
    update_interest();
  }

  // Returns false if no further client waits, or accepting failed.
  bool accept_one() {
    Address from;
    from.size = sizeof from.raw;
    Descriptor socket(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from.raw), &from.size,
                                SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      if (is_shortage(errno)) schedule_retry();
      return errno == ECONNABORTED || errno == EINTR;
    }
    Peer peer = unix_name_.empty() ? Peer{address_text(from.raw), {}} : unix_peer(socket.get());
    if (!unix_name_.empty() && !is_peer_allowed(peer)) {
      if (options_.on_refused) options_.on_refused(peer);
      return true;
    }
    auto lease = std::make_shared<Lease>(open_);
    auto stream = unix_name_.empty() ? adopt_tcp(loop_, std::move(socket), peer.name, std::move(lease))
                                     : adopt_unix(loop_, std::move(socket), peer.name, std::move(lease));
    if (!stream) return true;
    const CallbackGuard::Call running(callbacks_);
    on_accept_(std::move(*stream), std::move(peer));
    return true;
  }

  Peer unix_peer(int socket) const {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return {unix_name_, {}};
    return {unix_name_ + " (pid " + std::to_string(who.pid) + ", uid " + std::to_string(who.uid) + ")",
            PeerCredentials{.pid = who.pid, .uid = who.uid, .gid = who.gid}};
  }

  bool is_peer_allowed(const Peer& peer) const {
    const auto& users = options_.users;
    return users.empty() ||
           (peer.credentials && std::find(users.begin(), users.end(), peer.credentials->uid) != users.end());
  }

  Loop& loop_;
  const ListenOptions options_;
  const OnAccept on_accept_;
  CallbackGuard callbacks_{"Listener"};
  const std::shared_ptr<Open> open_;
  std::string unix_name_;  // "": TCP
  std::unique_ptr<UnixFile> file_;
  Descriptor socket_;
  std::unique_ptr<Poll> poll_;  // destroyed before its descriptor
  Ticket retry_;
};

Result<Descriptor> bind_tcp(const Endpoint& at) {
  const auto address = parse_address(at);
  if (!address) return Error(address.error());
  Descriptor socket(::socket(address->raw.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto failed = [] {
    const Errc code = errno == EADDRINUSE ? Errc::kBusy : uv_error(-errno).code;
    return Error{code, uv_error(-errno).what};
  };
  if (!socket) return failed();
  const int on = 1, off = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->raw.ss_family == AF_INET6)
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address->raw), address->size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return failed();
  return socket;
}

}  // namespace

Result<std::unique_ptr<Listener>> listen_tcp(Loop& loop, const Endpoint& at, const ListenOptions& options,
                                             OnAccept on_accept) {
  const std::string step = "listen on " + escaped(at.host) + " port " + std::to_string(at.port);
  auto socket = bind_tcp(at);
  if (!socket && at.host == "::")
    if (auto other = bind_tcp({"0.0.0.0", at.port})) socket = std::move(other);
  if (!socket) return std::move(socket.error()).in(step);
  auto made = std::make_unique<Accepting>(loop, options, std::move(on_accept));
  if (auto begun = made->begin(std::move(*socket), nullptr, ""); !begun)
    return std::move(begun.error()).in(step);
  return std::unique_ptr<Listener>(std::move(made));
}

Result<std::unique_ptr<Listener>> listen_unix(Loop& loop, const std::string& path,
                                              const ListenOptions& options, OnAccept on_accept) {
  const std::string step = "listen on " + unix_text(path);
  auto bound = UnixFile::bind(path, options.mode, kBacklog);
  if (!bound) return std::move(bound.error()).in(step);
  auto made = std::make_unique<Accepting>(loop, options, std::move(on_accept));
  if (auto begun = made->begin(std::move(bound->socket), std::move(bound->file), unix_text(path)); !begun)
    return std::move(begun.error()).in(step);
  return std::unique_ptr<Listener>(std::move(made));
}

Result<Unit> remove_unanswered(const std::string& path) {
  auto removed = UnixFile::remove_unanswered(path);
  return removed ? removed : std::move(removed.error()).in(escaped(path));
}

}  // namespace sliced::reactor::net
