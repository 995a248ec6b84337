#pragma once
// Private to http/http2_server.cpp: the state of a client's connection and of its streams.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "http/http2_framing.h"
#include "http/server_session.h"

namespace sliced::http {

/// Implements ServerSession; http/http2_server.h describes its bounds.
/// Ownership: each stream owns its call and its answer; the call is destroyed first. No nghttp2 object but
/// the session is kept.
/// Order: feed() and check() only record changes of answers (ready_, rooms_, submitted_); run_deferred() and
/// push_all() process them outside nghttp2, because a handler called from its callbacks could end the
/// session.
/// Errors: an error that ends the connection is in error_ and is returned once, after every call got
/// on_loss().
class Http2ServerSession final : public ServerSession, private Http2Framing {
 public:
  using StreamId = int32_t;

  Http2ServerSession(SessionContext context, TimePoint now);

  Result<Unit> feed(std::string_view from_client, TimePoint now) override;
  void end_of_input(TimePoint) override { fail_all({Errc::kIo, "the client closed the connection"}); }
  void run_pending(TimePoint now) override;
  std::string take_outgoing(TimePoint now) override;
  Result<Unit> check(TimePoint now) override;
  bool is_waiting() const override;
  bool wants_input() const override { return true; }
  size_t calls() const override { return streams_.size(); }
  void drain() override;
  bool is_finished() const override;
  void fail_all(const Error& why) override;
  bool has_ping() const override { return !error_; }
  void ping() override { nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, nullptr); }

 private:
  // From the first byte of its head until nghttp2 has taken the answer's end, or it is lost. head_bytes,
  // headers and body_bytes count received data, including data that was not kept.
  struct Stream {
    explicit Stream(std::function<void()> on_progress) : response(std::move(on_progress)) {}
    QueuedResponse response;
    std::unique_ptr<Call> call;  // destroyed before its response
    RequestHead head;            // until it is served
    Headers trailers;
    size_t head_bytes = 0, headers = 0, body_bytes = 0;
    size_t rest_bytes = 0;  // of the body, after the answer
    std::string unread;     // of the body, while paused
    TimePoint since{};      // start of the wait for the request
    TimePoint moved_at{};   // when the client last read some of the available data
    size_t moved = 0;       // bytes read since then
    bool has_head = false, is_head_request = false, has_ended = false, is_request_whole = false;
    bool was_paused = false, is_watched = false;     // for moved_at
    bool is_submitted = false, is_answered = false;  // the answer's end is submitted
  };
  // Defined in the .cpp, with nghttp2's types; nested, to access private members.
  struct Callbacks;

  // grpc-go's clients send GOAWAY with a last stream of 2^31-1, which nghttp2 rejects. This side opens no
  // streams, so the value is irrelevant.
  void adapt(const FrameHeader& frame, std::string& bytes) const override {
    // after the frame header
    if (frame.type == NGHTTP2_GOAWAY && frame.size >= 4) bytes.replace(9, 4, 4, '\0');
  }
  bool expects(const FrameHeader& frame) const override {
    const auto at = streams_.find(frame.stream);
    return at != streams_.end() && !at->second->has_ended;
  }
  Stream* find(StreamId id) {
    const auto at = streams_.find(id);
    return at == streams_.end() ? nullptr : at->second.get();
  }
  // Limits for the client: concurrent streams, a stream's window, the head's size, and the connection's
  // window.
  void submit_settings();
  // Above the bounds headers are counted and not kept; above twice the bounds the stream is reset
  // (on_header).
  void add_header(Stream& stream, std::string_view name, std::string_view value);
  // A head is complete: refuses it (REFUSED_STREAM, or a status), or serves it. Callers do not use
  // the stream afterwards.
  void begin(StreamId id, Stream& stream);
  // Returns the unread bytes of all answers, which ServerBounds::answers_bytes_max limits.
  size_t unsent_bytes() const;
  // Returns the status for a request that no handler gets; 0 if it is served.
  int refusal_of(const Stream& stream) const;
  // Passes bytes of a request to its call, keeps them while it is paused, or drops them after the answer.
  void take_body(StreamId id, Stream& stream, std::string_view bytes);
  // Returns credit for dropped bytes, up to the limit of a body, so that a client that sends before it reads
  // reaches the answer.
  void drop_rest(StreamId id, Stream& stream, size_t bytes);
  // Returns the credit before the call gets the bytes, which may end the stream.
  void deliver_body(StreamId id, Stream& stream, std::string_view bytes);
  // Delivers trailers and on_end(); not while the call is paused, so that kept bytes come first.
  void end_request(Stream& stream);
  // Processes a call's changes: submits or continues an answer, ends a pause, or resets an abandoned one.
  void push(StreamId id);
  void push_all();
  // Submits the head to nghttp2, and the source of the body. Once per stream.
  void submit(StreamId id, Stream& stream);
  // Outside nghttp2: calls on_room(), and destroys calls whose answers are submitted.
  void run_deferred();
  void fail_stream(StreamId id, const Error& why, int status);
  // Removes the stream from the list; its answer lives as long as the result, because on_loss() may use it.
  std::unique_ptr<Stream> forget(StreamId id);
  // Returns the connection's credit for undelivered bytes, which must not shrink the window of other streams.
  void drop_unread(Stream& stream);
  // The client has to send the rest of a request; it is blocked by unread data.
  bool awaits_client(const Stream& stream) const;
  bool is_blocked(const Stream& stream) const;

  const SessionContext context_;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::set<StreamId> submitted_;      // whose answers are submitted
  std::set<StreamId> ready_, rooms_;  // whose answers have grown; whose have room
  const TimePoint began_;
  bool has_settings_ = false, has_ack_ = false, is_draining_ = false, has_sent_final_goaway_ = false;
  bool has_failed_all_ = false;
};

}  // namespace sliced::http
