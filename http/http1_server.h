#pragma once
// The server side of HTTP/1.1 (RFC 9112), as bytes in and bytes out: one exchange at a time; pipelined
// requests wait. HTTP/1.0 is answered, and its connection closed.
//
// Bounds: a request by its Limits (431, 413; chunk extensions count as head). A violation of RFC 9112 gets
// 400, 501 or 505, and closes the connection.
// Memory: bytes after the current request are kept until it is answered, at most those of one read: nothing
// more is read meanwhile (wants_input()).
// Ends: an answer that completes before its request, one that is shorter than its Content-Length, and an
// abandoned one close the connection, because its framing is lost.
#include <memory>

#include "http/server_session.h"

namespace sliced::http {

std::unique_ptr<ServerSession> make_http1_server_session(SessionContext context, TimePoint now);

}  // namespace sliced::http
