#pragma once
// A server: takes streams (of reactor::net::Listener, or any others), speaks HTTP/1.1 or HTTP/2 with each,
// and calls a handler with each request.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "http/service.h"
#include "reactor/net/stream.h"
#include "reactor/net/tls_context.h"
#include "reactor/scheduler.h"

namespace sliced::http {

class ServerConnection;

/// Optional ones are empty functions. clock is the only wall clock here: everything that waits does so by the
/// scheduler.
struct ServerOptions {
  ServerBounds bounds = {};
  std::shared_ptr<const reactor::net::TlsContext> tls = {};  // none: without TLS
  /// Optional: seconds since 1970, for the Date header.
  std::function<int64_t()> clock = {};
  /// Optional. A client has broken a rule or a bound, or its connection has failed; for a log.
  std::function<void(const reactor::net::Peer& who, const Error& why)> on_trouble = {};
};

/// The version is negotiated by TLS (ALPN); without it, the client's first bytes say it.
/// Ownership: dropping it cuts all connections; calls hear of it (on_loss).
/// Reentry:   no handler is called from within take() and shut_down(); the destructor calls on_loss().
class Server {
 public:
  Server(reactor::Scheduler& scheduler, Serve serve, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// A client. How many there are at once is the listener's to bound, which may ask here for room.
  void take(std::unique_ptr<reactor::net::ByteStream> stream, reactor::net::Peer peer);
  /// For ListenOptions: cuts who has kept us waiting for longest, with a head that does not come, a body, or with bytes that
  /// are not taken, or who has closed his half; false where there is none.
  bool make_room();
  /// Another certificate, for clients from now on. Only of a server with TLS.
  void use(std::shared_ptr<const reactor::net::TlsContext> tls);
  /// No more requests: idle connections end, the others with their last one, told by GOAWAY (RFC 9113 section
  /// 6.8) or "Connection: close". What still goes on after `grace` is cut. Drop the listener first.
  void shut_down(Millis grace, std::function<void()> on_done);

  size_t connections() const { return connections_.size(); }
  /// Of all connections: requests that are here, in part or whole, and not answered.
  size_t calls() const;

 private:
  void forget(ServerConnection& connection);
  void look_whether_done();
  struct Shared;
  reactor::Scheduler& scheduler_;
  std::shared_ptr<const Shared> shared_;
  std::shared_ptr<const reactor::net::TlsContext> tls_;
  std::map<const ServerConnection*, std::shared_ptr<ServerConnection>> connections_;
  std::function<void()> on_done_;  // set: shutting down
  reactor::Ticket grace_, done_;
};

}  // namespace sliced::http
