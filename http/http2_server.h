#pragma once
// The server side of HTTP/2 (RFC 9113), as bytes in and bytes out, over nghttp2.
//
// Credit: for a request's body is returned when its call has received it. Data of paused calls is limited by
// their windows, and in total by the connection's.
// Bounds: concurrent streams, heads and bodies by ServerBounds (431, 413); frames by http2_framing.h, where
// reset streams earn nothing (rapid reset). Time limits apply to a head, a request, an answer that is not
// read, and unacknowledged settings.
// Ends: by GOAWAY. The first one names no stream. After the client has answered a PING, a second one names
// the last processed stream (RFC 9113 section 6.8), so that no request is lost in transit.
#include <cstdint>
#include <memory>

#include "http/server_session.h"

namespace sliced::http {

constexpr uint32_t kHttp2ServerStreamWindow = 64u << 10;       // of a request's received body
constexpr uint32_t kHttp2ServerConnectionWindow = 256u << 10;  // of all of them

/// Requires: the context's references outlive the session (server_connection.h holds them). The session
/// expects the preface as its first bytes, and its SETTINGS are outgoing immediately.
std::unique_ptr<ServerSession> make_http2_server_session(SessionContext context, TimePoint now);

}  // namespace sliced::http
