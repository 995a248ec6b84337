#pragma once
// A tunnel through a proxy.
#include <memory>

#include "http/proxy.h"
#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/scheduler.h"

namespace sliced::http {

/// Sends CONNECT (RFC 9110 section 9.3.6) to a connected proxy. Yields a paused stream to the target. The
/// answer's head has at most 16 KiB. Errors: kIo for a refusal (with status and reason: "407 Proxy
/// Authentication Required"), a closed connection, and an invalid answer; kTooLarge. It has no deadline:
/// dropping the result cancels.
std::unique_ptr<reactor::net::Connecting> open_tunnel(reactor::Scheduler& scheduler,
                                                      std::unique_ptr<reactor::net::ByteStream> to_proxy,
                                                      const Proxy& proxy,
                                                      const reactor::net::Endpoint& target,
                                                      reactor::net::OnConnected on_connected);

}  // namespace sliced::http
