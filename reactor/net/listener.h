#pragma once
// Sockets that others connect to: TCP and unix(7).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"

namespace sliced::reactor::net {

/// Who connected to a unix socket, as the kernel knows it at that moment (SO_PEERCRED).
struct PeerCredentials {
  int64_t pid = 0;  // 0: of a namespace that we do not see
  uint32_t uid = 0, gid = 0;
};

/// For a log and for permission: name is made for people, credentials and certificate are what a handler
/// asks.
struct Peer {
  std::string name;  // "10.0.0.7:51234", "unix:/run/x.sock (pid 12, uid 0)"
  std::optional<PeerCredentials> credentials = {};
  std::string certificate = {};  // over TLS: ByteStream::peer_subject()
};

/// The stream comes without receivers: nothing is read before receive(). May destroy the listener.
using OnAccept = std::function<void(std::unique_ptr<ByteStream>, Peer)>;

struct ListenOptions {
  size_t connections_max = 64;  // open at once; more wait in the kernel's backlog until there is room
  unsigned mode = 0600;         // of a unix socket's file
  /// Of a unix socket: whose processes are let in (SO_PEERCRED). Empty: whoever the file's mode lets in.
  std::vector<uint32_t> users = {};
  /// Optional. Somebody else has connected, and is closed already; for a log. May not destroy the listener.
  std::function<void(const Peer&)> on_refused = {};
  /// Optional. All places are taken, and somebody waits: frees one, by dropping a stream; false where none is to be
  /// dropped, and asked again after 100 ms. Without it idle clients keep all others out. May not destroy the listener.
  std::function<bool()> make_room = {};
};

/// Accepts as long as it lives; what it accepted lives on without it. A process without free descriptors
/// tries again after 100 ms. Dropping it removes its unix socket's file, if that is still its own.
/// Fairness:  at most 16 are accepted in a turn, so that others come to their events while many connect.
/// Reentry:   on_accept must not destroy the Listener. The streams that it gave hold their place until they go,
///            also then.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Of what it accepted and is not dropped yet.
  virtual size_t connections() const = 0;
  virtual uint16_t port() const = 0;  // 0: no TCP
};

/// host: an IPv4 or IPv6 address; "::" takes IPv4 too, and is 0.0.0.0 where there is no IPv6. port: 0 chooses one. Streams have TCP_NODELAY and
/// keep-alive as those of connect_tcp(). Errors: kInvalid (no address), kDenied, kBusy (somebody else listens
/// there), kIo; each names the address.
Result<std::unique_ptr<Listener>> listen_tcp(Loop& loop, const Endpoint& at, const ListenOptions& options,
                                             OnAccept on_accept);

/// path: of a file, or an abstract name after a NUL (which has no mode: whoever is in the network namespace
/// may connect). The file appears with its mode, and when it appears somebody listens. A socket that is in
/// the way is removed if nobody answers there (ECONNREFUSED), and nothing else ever is.
/// Errors: kInvalid (too long; something else is in the way), kBusy (somebody answers there), kNotFound (no
/// such directory), kDenied, kIo; each names the path.
Result<std::unique_ptr<Listener>> listen_unix(Loop& loop, const std::string& path,
                                              const ListenOptions& options, OnAccept on_accept);

/// What listen_unix() would do about a socket that is in its way. Errors: as there.
/// For what earlier processes have left beside a path that is ours (kubelet/sockets.cpp, daemon/status/door.cpp).
Result<Unit> remove_unanswered(const std::string& path);

}  // namespace sliced::reactor::net
