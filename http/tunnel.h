#pragma once
// The way through a proxy.
#include <memory>

#include "http/proxy.h"
#include "reactor/net/stream.h"
#include "reactor/net/tcp_stream.h"
#include "reactor/scheduler.h"

namespace sliced::http {

/// Asks a proxy, over a connection to it, for a way to the target (CONNECT, RFC 9110 section 9.3.6); what
/// comes back is a stream to the target, paused. The answer's head has at most 16 KiB. Errors: kIo for a
/// refusal (with status and reason: "407 Proxy Authentication Required"), an end, and what is
///         no answer; kTooLarge. No deadline of its own: dropping it gives up.
std::unique_ptr<reactor::net::Connecting> open_tunnel(reactor::Scheduler& scheduler,
                                                      std::unique_ptr<reactor::net::ByteStream> to_proxy,
                                                      const Proxy& proxy,
                                                      const reactor::net::Endpoint& target,
                                                      reactor::net::OnConnected on_connected);

}  // namespace sliced::http
