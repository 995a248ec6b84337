#pragma once
// HTTP/1.1 (RFC 9112) as a Connection.
#include "http/connection.h"
#include "reactor/net/stream.h"

namespace sliced::http {

/// HTTP/1.1 over a stream that is connected and has no receivers yet: one exchange at a time, the next one
/// only if the server keeps the connection. What a server says unasked ends it.
ConnectionPtr make_http1_connection(std::unique_ptr<reactor::net::ByteStream> wire);

}  // namespace sliced::http
