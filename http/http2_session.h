#pragma once
// The client side of HTTP/2 (RFC 9113), as bytes in and bytes out, over nghttp2, without sockets and timers.
//
// Credit: the connection's is returned as bytes arrive, a stream's when its receiver gets them: a paused
// stream keeps at most its own window, and does not slow others.
// Bounds: a response by its Limits; a paused stream by its window; frames by http2_framing.h. Servers open no
// streams (no push).
// Reentry: receivers are called from within feed(), deliver() and fail_all() only, and may call all functions
// but these three. The session outlives the call.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/connection.h"
#include "http/http2_framing.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

namespace sliced::http {

constexpr size_t kHttp2StreamWindow = 256u << 10;    // limit of a paused stream's data
constexpr size_t kHttp2ConnectionWindow = 1u << 20;  // of received data
constexpr size_t kHttp2StreamsAssumed = 100;         // concurrent streams before the server sends its limit

/// Ownership: owns nghttp2's session and data of paused streams; requests are shared; receivers are the
/// caller's, which cancels before it destroys one. Order: events of one stream are in the server's order;
/// streams are independent.
class Http2Session final : private Http2Framing {
 public:
  using StreamId = int32_t;

  /// streams_assumed: limit of concurrent streams until the server sends its own.
  explicit Http2Session(TimePoint now, size_t streams_assumed = kHttp2StreamsAssumed);
  ~Http2Session() override;

  /// Processes bytes from the server, split anywhere. Errors: kIo; the session is unusable then, after its
  /// outgoing bytes are sent.
  Result<Unit> feed(std::string_view from_server, TimePoint now) { return feed_frames(from_server, now); }
  /// Returns bytes to send; call it after every other call. Returns "" from within a receiver, and the bytes
  /// later.
  std::string take_outgoing();

  /// Requires: streams() is below streams_max().
  StreamId send(OutgoingRequestPtr request, const Limits& limits, Receiver& receiver);
  /// Ends the stream without further calls. This and the following functions ignore ended streams.
  void cancel(StreamId id);
  void pause(StreamId id);
  /// Kept data is delivered by the next deliver().
  void resume(StreamId id);
  void deliver();
  /// The transport has failed.
  void fail_all(const Error& error);
  /// Calls Receiver::on_drain() of each stream in progress.
  void send_drain(bool at_once);

  /// The answer is a frame like any other: the caller checks whether bytes have arrived.
  void ping();
  /// Notifies the server that no more streams will be opened.
  void send_goaway();

  size_t streams() const { return streams_.size(); }
  /// Returns 0 after a GOAWAY of either side, or if the stream numbers are used up.
  size_t streams_max() const;
  bool is_going_away() const { return is_going_away_; }  // the server
  /// The reason in the server's words; "" without one.
  const std::string& farewell() const { return farewell_; }

 private:
  struct Stream;
  struct Callbacks;
  void submit_settings();
  bool expects(const FrameHeader& frame) const override;
  Stream* find(StreamId id);
  void deliver_body(StreamId id, Stream& stream, std::string_view bytes);
  void end(StreamId id, Stream& stream);
  void fail_stream(StreamId id, Loss loss);

  std::map<StreamId, Stream> streams_;
  const size_t streams_assumed_;
  bool has_settings_ = false, is_going_away_ = false;
  std::string farewell_;
};

}  // namespace sliced::http
