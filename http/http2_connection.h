#pragma once
// HTTP/2 (RFC 9113) as a Connection: http2_session.h turns the bytes, this moves them.
#include "http/connection.h"
#include "http/http2_session.h"
#include "reactor/base/time.h"
#include "reactor/net/stream.h"
#include "reactor/scheduler.h"

namespace sliced::http {

constexpr Millis kPingAfter{30'000};      // of silence
constexpr Millis kPingAnswerMax{15'000};  // then the server is dead: kTimeout

/// HTTP/2 over a stream that is connected and has no receivers yet: as many exchanges as the server takes. A
/// server that is silent is asked by PING whether it lives. GOAWAY drains the connection. Dropping it says
/// goodbye.
ConnectionPtr make_http2_connection(reactor::Scheduler& scheduler,
                                    std::unique_ptr<reactor::net::ByteStream> wire,
                                    size_t streams_assumed = kHttp2StreamsAssumed);

}  // namespace sliced::http
