#pragma once
// TCP clients.
#include <cstdint>
#include <memory>
#include <string>

#include "reactor/executor.h"
#include "reactor/net/stream.h"

namespace sliced::reactor {
class Loop;
}

namespace sliced::reactor::net {

/// An address to connect to or to listen on.
struct Endpoint {
  std::string host;  // a name, or an IPv4 or IPv6 address without brackets
  uint16_t port = 0;
};

/// Connects to host:port, trying all addresses one after the other; the deadline covers the lookup and all of
/// them. The lookup (getaddrinfo) runs on the executor, and only for names: one that hangs costs this attempt
/// and a worker. The stream has TCP_NODELAY and keep-alive (30 s; a dead peer is noticed after about 40 s).
/// Errors: kNotFound (no such name), kTimeout, kIo; the text names host, port and the last address's failure.
/// At most 16 addresses are tried, each for its share of the time that is left, in the resolver's order (RFC
/// 6724); there is no race between IPv4 and IPv6. endpoint.host may not be empty nor have a NUL (kInvalid).
std::unique_ptr<Connecting> connect_tcp(Loop& loop, Executor& executor, Endpoint endpoint, Millis deadline,
                                        OnConnected on_connected);

}  // namespace sliced::reactor::net
