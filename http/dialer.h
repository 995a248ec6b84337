#pragma once
// From a target to a stream to it: TCP, a proxy on the way, TLS.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/proxy.h"
#include "http/url.h"
#include "reactor/base/time.h"
#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/net/tls_session.h"
#include "reactor/scheduler.h"

namespace sliced::http {

/// Whom to connect to and as whom. Connections are shared between requests that hold the same Target; a new
/// one (a changed certificate) gets new connections, and those of the old drain.
struct Target {
  Url url;
  std::shared_ptr<const reactor::net::TlsContext> tls;  // unused when url.tls is false
  std::string tls_server_name;                          // "": url.host
  std::optional<Proxy> proxy = {};                      // asked for a tunnel; not for a url without tls
  bool speaks_http2 = false;  // known beforehand (RFC 9113 section 3.3); else TLS says so (ALPN "h2")
};
using TargetPtr = std::shared_ptr<const Target>;

/// Opens a plain connection: reactor::net::connect_tcp, or a test's own.
/// Names are looked up, addresses tried and the deadline kept by it; on_connected comes in a later turn.
using Dial = std::function<std::unique_ptr<reactor::net::Connecting>(reactor::net::Endpoint, Millis deadline,
                                                                     reactor::net::OnConnected)>;

/// A stream to the target: through its proxy, and with TLS, where it has them. Each of the steps (TCP, tunnel,
/// handshake) has the deadline; errors are theirs, and name who did not answer. Dropping what is returned ends
/// it, and on_connected is not called. What was negotiated is the stream's to say (ByteStream's protocol).
/// Reentry: on_connected is called once, in a later turn, and may drop what was returned.
std::unique_ptr<reactor::net::Connecting> dial_target(reactor::Scheduler& scheduler, const Dial& dial,
                                                      TargetPtr target, Millis deadline,
                                                      reactor::net::OnConnected on_connected);

}  // namespace sliced::http
