#pragma once
// Where objects are judged: HTTPS at an address, with a certificate from files that others replace.
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

constexpr size_t kClientsMax = 256;  // more wait in the kernel: each API server needs one or a few

/// /validate judges (admission.h); /livez and /readyz are for probes. Who reaches the address may ask: an answer tells nothing
/// that is not in the question.
/// Until there is a certificate nobody listens. One that is replaced is used from the next connection on. An address that cannot
/// be had is said once and tried again every two seconds.
/// Bounds:    heads of 16 KiB, bodies of kReviewBytesMax, 5 s for a handshake, a head or a request, 10 s for a slow reader.
/// Ownership: what Ports names outlives it. Dropping it cuts all connections.
/// Protocols: HTTP/2 and HTTP/1.1, by ALPN. Clients need no certificate.
/// Threads:   the loop's; judging is on the executors.
class Server {
 public:
  struct Ports {
    reactor::Loop& loop;
    reactor::Executor& executor;
    reactor::Executor& selectors;  // Admission::Ports
    Log& log;
    std::function<int64_t()> clock;  // seconds since 1970
  };
  struct Places {
    reactor::net::Endpoint address;
    reactor::net::TlsFilePaths files;
  };
  Server(Ports ports, Places places, Drivers drivers);

  /// 0 as long as nobody listens.
  uint16_t port() const { return listener_ ? listener_->port() : 0; }
  const Admission& admission() const { return admission_; }
  /// What /readyz asks: "certificate" (there is one, and it is of now) and "address" (somebody listens).
  std::vector<status::Check> readiness() const;
  /// Of the certificate that is used, in seconds since 1970; 0 without one.
  int64_t certificate_ends() const { return tls_ == nullptr ? 0 : tls_->validity().ends; }
  /// Once. Takes nobody more, answers those who are here, and calls on_done within `grace`, in a later turn
  /// of the loop.
  void shut_down(Millis grace, std::function<void()> on_done);

 private:
  void use(std::shared_ptr<const reactor::net::TlsContext> tls);
  void listen();
  http::Serve serve();
  http::ServerOptions server_options(std::shared_ptr<const reactor::net::TlsContext> tls) const;

  const Ports ports_;
  const Places places_;
  Admission admission_;
  std::optional<http::Server> server_;  // with the first certificate
  std::unique_ptr<reactor::net::Listener> listener_;
  std::shared_ptr<const reactor::net::TlsContext> tls_;
  LastMessage said_address_;
  reactor::Ticket again_;
  reactor::net::TlsFiles files_;
};

}  // namespace sliced::webhook
