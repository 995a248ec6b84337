#pragma once
// HTTP/2 (RFC 9113) as a Connection: http2_session.h processes the bytes, this transports them.
#include "http/connection.h"
#include "http/http2_session.h"
#include "reactor/base/time.h"
#include "reactor/net/stream.h"
#include "reactor/scheduler.h"

namespace sliced::http {

constexpr Millis kPingAfter{30'000};      // of silence
constexpr Millis kPingAnswerMax{15'000};  // then the server counts as dead: kTimeout

/// Returns a connection over a connected stream without receivers: as many exchanges as the server accepts. A
/// silent server is probed by PING. GOAWAY drains the connection. Its destruction sends GOAWAY.
ConnectionPtr make_http2_connection(reactor::Scheduler& scheduler,
                                    std::unique_ptr<reactor::net::ByteStream> wire,
                                    size_t streams_assumed = kHttp2StreamsAssumed);

}  // namespace sliced::http
