#pragma once
// The client's side of HTTP/2 (RFC 9113) as bytes in, bytes out, over nghttp2; knows no socket and no timer.
//
// Credit:    that of the connection is returned as bytes arrive, that of a stream when its receiver has
//            them: a stream that is paused keeps what its own window lets through, and slows no other.
// Bounds:    a response by its Limits; what a paused stream keeps by its window; frames that bring nothing
//            (PING, SETTINGS, RST_STREAM, empty DATA ...) by a budget that refills with time and use;
//            CONTINUATION frames of a header block. Servers open no streams (no push).
// Reentry:   receivers are called from within feed(), deliver() and lose_all() only, and may call anything
//            here but these three. The session outlives the call.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/connection.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

struct nghttp2_session;

namespace sliced::http {

constexpr size_t kHttp2StreamWindow = 256u << 10;    // what a paused stream keeps at most
constexpr size_t kHttp2ConnectionWindow = 1u << 20;  // on its way to us at once
constexpr size_t kHttp2FrameBudget = 1000;           // frames that bring nothing, at once
constexpr size_t kHttp2FrameBudgetASecond = 10;      // what of it comes back in time
constexpr size_t kHttp2FrameBudgetAStream = 50;      // and with each request, beside one a KiB of its body
constexpr size_t kHttp2ContinuationsMax = 8;         // of one header block
constexpr size_t kHttp2StreamsAssumed = 100;         // at once, before the server has said how many

class Http2Session {
 public:
  using StreamId = int32_t;

  /// streams_assumed: how many the server takes at once, until it says so itself.
  explicit Http2Session(TimePoint now, size_t streams_assumed = kHttp2StreamsAssumed);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Bytes from the server, cut anywhere. Errors: kIo; the session is of no use then, and what is outgoing
  /// is the last word.
  Result<Unit> feed(std::string_view from_server, TimePoint now);
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
  void tell_drain(bool at_once);

  void ping();
  /// Tells the server that we open no more streams.
  void say_goodbye();

  size_t streams() const { return streams_.size(); }
  /// 0 once one of the two goes away, or the numbers are used up.
  size_t streams_max() const;
  bool has_settings() const { return has_settings_; }
  bool is_going_away() const { return is_going_away_; }  // the server
  /// Why, in its own words; "" without.
  const std::string& farewell() const { return farewell_; }

 private:
  struct Stream;
  struct Callbacks;
  void submit_settings();
  void begin_frame();
  void receive(std::string_view bytes);
  void pump();
  Stream* find(StreamId id);
  bool spend();
  void hand_over(StreamId id, Stream& stream, std::string_view bytes);
  void end(StreamId id, Stream& stream);
  void lose(StreamId id, Loss loss);

  nghttp2_session* raw_ = nullptr;
  std::map<StreamId, Stream> streams_;
  const size_t streams_assumed_;
  bool has_settings_ = false, is_going_away_ = false;
  bool is_busy_ = false;  // within nghttp2
  std::string farewell_;
  std::string frame_;     // the next one, as far as it is here
  size_t data_left_ = 0;  // of the DATA frame that comes
  std::string out_;
  std::optional<Error> error_;  // why the session is of no use
  TimePoint now_, refilled_;
  size_t budget_ = kHttp2FrameBudget;
  size_t continuations_ = 0;
};

}  // namespace sliced::http
