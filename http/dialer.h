#pragma once
// Connects to a target: TCP, an optional proxy, TLS.
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

/// A server and the client's credentials. Requests with the same Target object share connections; a new one
/// (a changed certificate) gets new connections, and the old ones drain.
struct Target {
  Url url;
  std::shared_ptr<const reactor::net::TlsContext> tls;  // unused if url.tls is false
  std::string tls_server_name;                          // "": url.host
  std::optional<Proxy> proxy = {};                      // used with CONNECT; not for a url without tls
  // HTTP/2 without negotiation (RFC 9113 section 3.3); otherwise negotiated by TLS (ALPN "h2").
  bool has_prior_knowledge = false;
};
using TargetPtr = std::shared_ptr<const Target>;

/// Opens a plain connection: reactor::net::connect_tcp, or a test's own. Looks up names, tries addresses and
/// keeps the deadline; on_connected comes in a later turn.
using Dial = std::function<std::unique_ptr<reactor::net::Connecting>(reactor::net::Endpoint, Millis deadline,
                                                                     reactor::net::OnConnected)>;

/// Returns an attempt to open a stream to the target, through its proxy and with TLS if it has them. Each
/// step (TCP, tunnel, handshake) has the deadline; its error names the peer. Dropping the result cancels
/// without a call. The stream reports the negotiated protocol (ByteStream's protocol). Reentry: on_connected
/// is called once, in a later turn, and may drop the result.
std::unique_ptr<reactor::net::Connecting> dial_target(reactor::Scheduler& scheduler, const Dial& dial,
                                                      TargetPtr target, Millis deadline,
                                                      reactor::net::OnConnected on_connected);

}  // namespace sliced::http
