#pragma once
// The HTTPS server of the webhook; its certificate files may be replaced at runtime.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "controller/webhook/admission.h"
#include "daemon/status/probe.h"
#include "http/server.h"
#include "reactor/base/log.h"
#include "reactor/base/rate_limited_log.h"
#include "reactor/executor.h"
#include "reactor/net/listener.h"
#include "reactor/net/tls_files.h"
#include "reactor/scheduler.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::webhook {

constexpr size_t kClientsMax = 256;  // more wait in the kernel's backlog; an API server needs a few

struct ServerPorts {
  reactor::Loop& loop;
  reactor::Executor& executor;
  reactor::Executor& selectors;  // AdmissionPorts
  Log& log;
  std::function<int64_t()> clock;  // seconds since 1970
};

/// Serves /validate (admission.h), /livez and /readyz. Clients are not authenticated: an answer contains only
/// data of the request. Listens once there is a certificate; a replaced one is used for new connections. An
/// unavailable address is logged once and retried every two seconds.
/// Bounds:    heads of 16 KiB, bodies of kReviewBytesMax, 5 s for a handshake, a head or a request, 10 s for
///            a slow reader.
/// REQUIRES: the members of ServerPorts must outlive this object. Destroying it closes all connections.
/// Protocols: HTTP/2 and HTTP/1.1, by ALPN. Clients need no certificate.
/// Loop thread only; reviews run on the executors.
class Server {
 public:
  struct Places {
    reactor::net::Endpoint address;
    reactor::net::TlsFilePaths files;
  };
  Server(ServerPorts ports, Places places, Drivers drivers);

  /// Returns 0 while it does not listen.
  uint16_t port() const { return listener_ ? listener_->port() : 0; }
  const Admission& admission() const { return admission_; }
  /// Returns the checks of /readyz: "certificate" (valid now) and "address" (listening).
  std::vector<status::Check> readiness() const;
  /// Returns the expiry of the certificate in seconds since 1970; 0 without one.
  int64_t certificate_ends() const { return tls_ == nullptr ? 0 : tls_->validity().ends; }
  /// Accepts no new connections, answers running requests, and calls on_done within `grace`, in a later turn.
  /// Call once.
  void shut_down(Millis grace, std::function<void()> on_done);

 private:
  void use(std::shared_ptr<const reactor::net::TlsContext> tls);
  void listen();
  http::Serve serve();
  http::ServerOptions server_options(std::shared_ptr<const reactor::net::TlsContext> tls) const;

  const ServerPorts ports_;
  const Places places_;
  Admission admission_;
  std::optional<http::Server> server_;  // with the first certificate
  std::unique_ptr<reactor::net::Listener> listener_;
  std::shared_ptr<const reactor::net::TlsContext> tls_;
  LastMessage address_log_;
  reactor::Ticket again_;
  reactor::net::TlsFiles files_;
};

}  // namespace sliced::webhook
