#pragma once
// The server's side of HTTP/1.1 (RFC 9112) as bytes in, bytes out: one exchange at a time, those that the
// client sends ahead wait. HTTP/1.0 is answered, and its connection closed.
//
// Bounds:    a request by its Limits (431, 413; extensions of chunks count as head); what does not keep to
//            RFC 9112 is a 400, 501 or 505, and the end of the connection.
// Memory:    bytes behind the present request are kept until it is answered, as many as came in one read:
//            nothing more is read meanwhile (wants_input()).
// Ends:      an answer that is whole before its request is, one that is shorter than its Content-Length, and
//            an abandoned one cost the connection: its framing would be lost.
#include <memory>

#include "http/server_session.h"

namespace sliced::http {

std::unique_ptr<ServerSession> make_http1_server_session(SessionContext context, TimePoint now);

}  // namespace sliced::http
