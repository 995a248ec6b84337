#pragma once
#include <memory>
#include <string>

#include "reactor/net/stream.h"
#include "reactor/net/tls_session.h"
#include "reactor/scheduler.h"

namespace sliced::reactor::net {

/// TLS over any stream, itself a stream. on_connected comes when the handshake is done and the peer is
/// verified; the deadline covers the handshake. A connection cut without close_notify is on_error
/// ("truncated"), not on_end. With TLS 1.3 a server refuses a client certificate only after the handshake:
/// that arrives as on_error.
/// Owns `inner` from the start: it goes when the attempt is dropped or fails. Errors: the session's
/// (tls_session.h) and the inner stream's, behind "TLS handshake with NAME"; kTimeout after the deadline.
std::unique_ptr<Connecting> connect_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                        std::shared_ptr<const TlsContext> context, std::string server_name,
                                        Millis deadline, OnConnected on_connected);

/// The server's side: the same, for a peer that has connected to us. peer_name: for error texts.
std::unique_ptr<Connecting> accept_tls(Scheduler& scheduler, std::unique_ptr<ByteStream> inner,
                                       std::shared_ptr<const TlsContext> context, std::string peer_name,
                                       Millis deadline, OnConnected on_connected);

}  // namespace sliced::reactor::net
