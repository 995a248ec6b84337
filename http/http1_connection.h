#pragma once
// HTTP/1.1 (RFC 9112) as a Connection.
#include "http/connection.h"
#include "reactor/net/stream.h"

namespace sliced::http {

/// Returns a connection over a connected stream without receivers: one exchange at a time, and another one
/// only if the server keeps the connection. Unsolicited data closes it.
ConnectionPtr make_http1_connection(std::unique_ptr<reactor::net::ByteStream> wire);

}  // namespace sliced::http
