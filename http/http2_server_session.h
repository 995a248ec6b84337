#pragma once
// Inside http/http2_server.cpp: what it keeps of a client's connection and of each stream.
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

/// What it promises is ServerSession's; what it is bounded by stands in http/http2_server.h.
/// Ownership: of each stream its call and its answer; the call goes first. Nothing of nghttp2's is kept but
/// the session.
/// Order:     feed() and check() only note what answers have become (ready_, rooms_, answered_); settle() and
///            push_all() act on it once nghttp2 is left, because a handler that ran from within its callbacks
///            could end the session under it.
/// Errors:    one that ends the connection is in error_ and is returned once; then every call has heard
///            on_loss().
class Http2ServerSession final : public ServerSession, private Http2Framing {
 public:
  using StreamId = int32_t;

  Http2ServerSession(SessionContext context, TimePoint now);

  Result<Unit> feed(std::string_view from_client, TimePoint now) override;
  void end_of_input(TimePoint) override { lose_all({Errc::kIo, "the client closed the connection"}); }
  void turn(TimePoint now) override;
  std::string take_outgoing(TimePoint now) override;
  Result<Unit> check(TimePoint now) override;
  bool is_waiting() const override;
  bool wants_input() const override { return true; }
  size_t calls() const override { return streams_.size(); }
  void drain() override;
  bool is_over() const override;
  void lose_all(const Error& why) override;
  bool has_ping() const override { return !error_; }
  void ping() override { nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, nullptr); }

 private:
  // From the first byte of its head until the answer's end has been taken by nghttp2, or it is lost.
  // head_bytes, headers and body_bytes count what came, also what was not kept: the bounds are of the wire
  // and not of memory.
  struct Stream {
    explicit Stream(std::function<void()> on_progress) : response(std::move(on_progress)) {}
    QueuedResponse response;
    std::unique_ptr<Call> call;  // goes before its response
    RequestHead head;            // until it is served
    Headers trailers;
    size_t head_bytes = 0, headers = 0, body_bytes = 0;
    size_t rest_bytes = 0;  // of the body, that nobody needs
    std::string kept;       // of the body, while paused
    TimePoint since{};      // the request is awaited
    TimePoint moved_at{};   // the client took some of what there was for it
    size_t moved = 0;       // taken since then
    bool has_head = false, is_head_request = false, has_ended = false, is_request_whole = false;
    bool was_paused = false, is_watched = false;     // for moved_at
    bool is_submitted = false, is_answered = false;  // the answer's end is on its way
  };
  // Made in the .cpp, with nghttp2's types: friends of nobody, but nested, so that they reach what is
  // private.
  struct Callbacks;

  // grpc-go's clients go with a last stream of 2^31-1, which nghttp2 takes for a wrong one. We open no streams:
  // whatever is said of them means nothing.
  void adapt(const FrameHeader& frame, std::string& bytes) const override {
    if (frame.type == NGHTTP2_GOAWAY && frame.size >= 4) bytes.replace(9, 4, 4, '\0');  // behind the header
  }
  bool is_wanted(const FrameHeader& frame) const override {
    const auto at = streams_.find(frame.stream);
    return at != streams_.end() && !at->second->has_ended;
  }
  Stream* find(StreamId id) {
    const auto at = streams_.find(id);
    return at == streams_.end() ? nullptr : at->second.get();
  }
  // Streams at once, a stream's window and the head's size, then the connection's window: what a client is
  // held to.
  void submit_settings();
  // Above the bounds it is counted and not kept; beyond twice of them the stream is reset (on_header).
  void add_header(Stream& stream, std::string_view name, std::string_view value);
  // A head is here: refused (REFUSED_STREAM, or a status), or served. The stream may be gone when it returns.
  void begin(StreamId id, Stream& stream);
  // Of all answers, that their clients have not taken: what ServerBounds::answers_bytes_max bounds.
  size_t unsent_bytes() const;
  // The status with which a request is answered that no handler sees; 0: one does.
  int refusal_of(const Stream& stream) const;
  // Bytes of a request: to its call, kept while that is paused, or dropped where it is answered already.
  void take_body(StreamId id, Stream& stream, std::string_view bytes);
  // With credit, so that a client that sends before it reads comes to where the answer is; as far as a body
  // may go.
  void drop_rest(StreamId id, Stream& stream, size_t bytes);
  // Returns the credit before the call hears of the bytes, which may end the stream.
  void hand_over(StreamId id, Stream& stream, std::string_view bytes);
  // Trailers, then on_end(): not while the call is paused, so that nothing overtakes what is kept.
  void end_request(Stream& stream);
  // What its call has done since: an answer is submitted or goes on, a pause has ended, or it was abandoned.
  void push(StreamId id);
  void push_all();
  // The head as nghttp2 wants it, and where the body will be read from. Once a stream.
  void submit(StreamId id, Stream& stream);
  // Behind nghttp2: on_room() for those that have some, and calls go whose answers are on their way.
  void settle();
  void lose(StreamId id, const Error& why, int status);
  // Out of the list; its answer lives as long as what is returned, so that on_loss() may still call it.
  std::unique_ptr<Stream> forget(StreamId id);
  // The connection's credit for what a paused call has not had: lost bytes must not shrink the window of the
  // others.
  void drop_kept(Stream& stream);
  // The client owes the rest of a request; it is held back by what it does not take.
  bool owes(const Stream& stream) const;
  bool is_blocked(const Stream& stream) const;

  const SessionContext context_;
  std::map<StreamId, std::unique_ptr<Stream>> streams_;
  std::set<StreamId> answered_;       // whose answers are on their way
  std::set<StreamId> ready_, rooms_;  // whose answers have grown; whose have room
  const TimePoint began_;
  bool has_settings_ = false, has_ack_ = false, is_draining_ = false, has_said_last_ = false;
  bool is_lost_ = false;
};

}  // namespace sliced::http
