#pragma once
// Listening sockets: TCP and unix(7).
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"

namespace sliced::reactor::net {

/// The process at the other end of a unix socket, by the kernel (SO_PEERCRED) at the time of connecting.
struct PeerCredentials {
  int64_t pid = 0;  // 0: in a pid namespace that is not visible here
  uint32_t uid = 0, gid = 0;
};

/// A connected client. name: for the log. credentials, certificate: for authorization.
struct Peer {
  std::string name;  // "10.0.0.7:51234", "unix:/run/x.sock (pid 12, uid 0)"
  std::optional<PeerCredentials> credentials = {};
  std::string certificate = {};  // over TLS: ByteStream::peer_subject()
};

/// The stream has no receivers yet: nothing is read before receive().
using OnAccept = std::function<void(std::unique_ptr<ByteStream>, Peer)>;

struct ListenOptions {
  size_t connections_max = 64;  // open at the same time; others wait in the kernel's backlog
  unsigned mode = 0600;         // of a unix socket's file
  /// Of a unix socket: permitted uids (SO_PEERCRED). Empty: every user whom the file's mode permits.
  std::vector<uint32_t> users = {};
  /// Optional. Called after a client with another uid was disconnected, for the log.
  std::function<void(const Peer&)> on_refused = {};
  /// Optional. Called when all connections are in use and a client waits: closes one by destroying a stream.
  /// Returns false if none can be closed; called again after 100 ms. Without it idle clients block all
  /// others.
  std::function<bool()> make_room = {};
};

/// Accepts connections until it is destroyed; accepted streams continue. Without free descriptors it tries
/// again after 100 ms. Its destructor removes the unix socket's file if that is still its own.
/// Fairness:  accepts at most 16 connections in a turn.
/// Streams count as connections until they are destroyed, also after the Listener.
class Listener {
 public:
  virtual ~Listener() = default;
  /// Returns the number of accepted streams that are not destroyed yet.
  virtual size_t connections() const = 0;
  virtual uint16_t port() const = 0;  // 0: no TCP
};

/// host: an IPv4 or IPv6 address; "::" includes IPv4, and is 0.0.0.0 on systems without IPv6. port: 0 selects
/// a free one. Streams have TCP_NODELAY and keep-alive as in connect_tcp(). Errors: kInvalid (not an
/// address), kDenied, kBusy (address in use), kIo; each names the address.
Result<std::unique_ptr<Listener>> listen_tcp(Loop& loop, const Endpoint& at, const ListenOptions& options,
                                             OnAccept on_accept);

/// path: a file, or an abstract name after a NUL (without a mode: every process in the network namespace may
/// connect). The file appears with its mode when the socket already listens. An existing socket is removed if
/// no process accepts on it (ECONNREFUSED); other files are never removed.
/// Errors: kInvalid (too long; another file exists), kBusy (a process listens), kNotFound (no directory),
/// kDenied, kIo; each names the path.
Result<std::unique_ptr<Listener>> listen_unix(Loop& loop, const std::string& path,
                                              const ListenOptions& options, OnAccept on_accept);

/// Removes an existing socket like listen_unix(), with the same errors. For sockets of earlier processes
/// beside an own path (kubelet/sockets.cpp, daemon/status/listeners.cpp).
Result<Unit> remove_unanswered(const std::string& path);

}  // namespace sliced::reactor::net
