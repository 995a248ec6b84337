#pragma once
// The server's side of HTTP/2 (RFC 9113) as bytes in, bytes out, over nghttp2.
//
// Credit:    of a request's body is returned when its call has it: what calls that are paused keep is bounded
//            by their windows, and all together by the connection's.
// Bounds:    streams at once, heads and bodies by ServerBounds (431, 413); frames by http2_framing.h, where
//            streams that are reset, or that we have to reset, earn nothing (rapid reset); a head or a
//            request that takes too long; an answer that is not taken; settings that nobody acknowledges.
// Ends:      by GOAWAY: first one that names no stream, then, once the client has answered a PING, one that
//            names the last that we act on (RFC 9113 section 6.8), so that none is lost on the way.
#include <cstdint>
#include <memory>

#include "http/server_session.h"

namespace sliced::http {

constexpr uint32_t kHttp2ServerStreamWindow = 64u << 10;       // of a request's body on its way to us
constexpr uint32_t kHttp2ServerConnectionWindow = 256u << 10;  // of all of them

/// The session outlives none of its context's references (server_connection.h holds them). Its preface is
/// awaited as its first bytes are fed, and its own SETTINGS are outgoing at once.
std::unique_ptr<ServerSession> make_http2_server_session(SessionContext context, TimePoint now);

}  // namespace sliced::http
