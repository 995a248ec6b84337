#pragma once
// The client's side of HTTP/2 (RFC 9113) as bytes in, bytes out, over nghttp2; knows no socket and no timer.
//
// Credit:    that of the connection is returned as bytes arrive, that of a stream when its receiver has
//            them: a stream that is paused keeps what its own window lets through, and slows no other.
// Bounds:    a response by its Limits; what a paused stream keeps by its window; frames by http2_framing.h.
//            Servers open no streams (no push).
// Reentry:   receivers are called from within feed(), deliver() and lose_all() only, and may call anything
//            here but these three. The session outlives the call.
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

constexpr size_t kHttp2StreamWindow = 256u << 10;    // what a paused stream keeps at most
constexpr size_t kHttp2ConnectionWindow = 1u << 20;  // on its way to us at once
constexpr size_t kHttp2StreamsAssumed = 100;         // at once, before the server has said how many

/// Ownership: of nghttp2's session and of what paused streams keep; requests are shared, receivers the
/// caller's, who cancels before one of them goes.
/// Order:     of one stream's events as the server sent them; streams do not wait for each other.
class Http2Session final : private Http2Framing {
 public:
  using StreamId = int32_t;

  /// streams_assumed: how many the server takes at once, until it says so itself.
  explicit Http2Session(TimePoint now, size_t streams_assumed = kHttp2StreamsAssumed);
  ~Http2Session() override;

  /// Bytes from the server, cut anywhere. Errors: kIo; the session is of no use then, and what is outgoing
  /// is the last word.
  Result<Unit> feed(std::string_view from_server, TimePoint now) { return feed_frames(from_server, now); }
  /// To be sent, after every call of anything here. "" from within a receiver: it comes later then.
  std::string take_outgoing();

  /// streams() must be below streams_max().
  StreamId send(OutgoingRequestPtr request, const Limits& limits, Receiver& receiver);
  /// The receiver hears no more. A stream that has ended is passed over, here and below.
  void cancel(StreamId id);
  void pause(StreamId id);
  /// What was kept comes with the next deliver().
  void resume(StreamId id);
  void deliver();
  /// The transport is gone.
  void lose_all(const Error& error);
  /// Receiver::on_drain() of each stream that goes on.
  void send_drain(bool at_once);

  /// What answers it is a frame from the server like any other: whoever asked looks whether bytes have come.
  void ping();
  /// Tells the server that we open no more streams.
  void send_goaway();

  size_t streams() const { return streams_.size(); }
  /// 0 once one of the two goes away, or the numbers are used up.
  size_t streams_max() const;
  bool is_going_away() const { return is_going_away_; }  // the server
  /// Why, in its own words; "" without.
  const std::string& farewell() const { return farewell_; }

 private:
  struct Stream;
  struct Callbacks;
  void submit_settings();
  bool is_wanted(const FrameHeader& frame) const override;
  Stream* find(StreamId id);
  void hand_over(StreamId id, Stream& stream, std::string_view bytes);
  void end(StreamId id, Stream& stream);
  void lose(StreamId id, Loss loss);

  std::map<StreamId, Stream> streams_;
  const size_t streams_assumed_;
  bool has_settings_ = false, is_going_away_ = false;
  std::string farewell_;
};

}  // namespace sliced::http
