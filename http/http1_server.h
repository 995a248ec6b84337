#pragma once
// The server's side of HTTP/1.1 (RFC 9112) as bytes in, bytes out: one exchange at a time, those that the
// client sends ahead wait. HTTP/1.0 is answered, and its connection closed.
//
// Bounds:    a request by its Limits (431, 413; extensions of chunks count as head); what does not keep to
//            RFC 9112 is a 400, 501 or 505, and the end of the connection.
#include <memory>

#include "http/server_session.h"

namespace sliced::http {

std::unique_ptr<ServerSession> make_http1_server_session(SessionContext context, TimePoint now);

}  // namespace sliced::http
