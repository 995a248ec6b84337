#pragma once
#include <memory>
#include <string>

#include "reactor/net/stream.h"
#include "reactor/net/tls_session.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// TLS over any stream, itself a stream. on_connected is called after the handshake and the verification of
/// the peer; the deadline covers the handshake. A connection that ends without close_notify is on_error
/// ("truncated"), not on_end. With TLS 1.3 a server refuses a client certificate after the handshake, which
/// is on_error, too.
/// Owns `inner` immediately, and destroys it if the attempt fails or is dropped. Errors: those of the session
/// (tls_session.h) and of inner, after "TLS handshake with NAME"; kTimeout after the deadline.
std::unique_ptr<Connecting> connect_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                        std::shared_ptr<const TlsContext> context, std::string server_name,
                                        Millis deadline, OnConnected on_connected);

/// The server's side, for an accepted connection. peer_name: for error texts.
std::unique_ptr<Connecting> accept_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                       std::shared_ptr<const TlsContext> context, std::string peer_name,
                                       Millis deadline, OnConnected on_connected);

}  // namespace sliced::reactor::net
