#pragma once
// A server: accepts streams (of reactor::net::Listener, or others), uses HTTP/1.1 or HTTP/2 on each, and
// calls a handler for each request.
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

/// Optional members are empty functions. `clock` is the only wall clock; waits use the scheduler.
struct ServerOptions {
  ServerBounds bounds = {};
  std::shared_ptr<const reactor::net::TlsContext> tls = {};  // null: without TLS
  /// Optional: seconds since 1970, for the Date header.
  std::function<int64_t()> clock = {};
  /// Optional, for a log: a client has violated the protocol or a bound, or its connection has failed.
  std::function<void(const reactor::net::Peer& client, const Error& why)> on_trouble = {};
};

/// TLS negotiates the version (ALPN); without it, the client's first bytes determine it. Ownership: the
/// destructor closes all connections; calls get on_loss(). Reentry: no handler is called from within take()
/// and shut_down(); the destructor calls on_loss().
class Server {
 public:
  Server(reactor::Scheduler& scheduler, Serve serve, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Adds a client. The listener limits their number, and may call make_room().
  void take(std::unique_ptr<reactor::net::ByteStream> stream, reactor::net::Peer peer);
  /// For ListenOptions: closes the connection that has made the server wait longest: for a head, a body,
  /// unread bytes, or after a half-close. Returns false if there is none.
  bool make_room();
  /// Sets another certificate for later clients. Requires: the server has TLS.
  void use(std::shared_ptr<const reactor::net::TlsContext> tls);
  /// Accepts no more requests: idle connections are closed, others after their last request, with GOAWAY (RFC
  /// 9113 section 6.8) or "Connection: close". After `grace` the remaining ones are closed. Requires: the
  /// listener was dropped.
  void shut_down(Millis grace, std::function<void()> on_done);

  size_t connections() const { return connections_.size(); }
  /// Returns the number of unanswered requests of all connections, complete or not.
  size_t calls() const;

 private:
  void forget(ServerConnection& connection);
  void finish_if_drained();
  struct Shared;
  reactor::Scheduler& scheduler_;
  std::shared_ptr<const Shared> shared_;
  std::shared_ptr<const reactor::net::TlsContext> tls_;
  std::map<const ServerConnection*, std::shared_ptr<ServerConnection>> connections_;
  std::function<void()> on_done_;  // set: shutting down
  reactor::Ticket grace_, done_;
};

}  // namespace sliced::http
