#include "http/http2_server.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "http/http2_server_session.h"
#include "http/nghttp2_values.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr size_t kPrefaceBytes = 24;
// The rest of an answered request is read and dropped for this time, up to the limit of a body, before its
// stream is reset (RFC 9113 section 8.1). curl 7.88 loses an answer that is followed immediately by a reset,
// and reads none while it has no credit.
constexpr Millis kRestMax{10'000};
constexpr uint8_t kDrainPing[8] = {'l', 'a', 's', 't', 'c', 'a', 'l', 'l'};  // in the PING behind a GOAWAY

}  // namespace

// Callbacks of nghttp2; none throws (out of memory ends the process).
struct Http2ServerSession::Callbacks {
  static Http2ServerSession& of(void* user) { return *static_cast<Http2ServerSession*>(user); }

  static int on_begin(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    Http2ServerSession& self = of(user);
    const StreamId id = frame->hd.stream_id;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    auto stream = std::make_unique<Stream>([&self, id] {
      self.ready_.insert(id);
      self.context_.wake();
    });
    stream->since = self.now_;
    self.streams_.emplace(id, std::move(stream));
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) noexcept {
    Stream* stream = of(user).find(frame->hd.stream_id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    // Far above the bound nothing more is processed: HPACK blocks may expand a thousandfold.
    const size_t max = of(user).context_.bounds.request.head_bytes_max;
    if (stream->head_bytes > 2 * max || stream->headers > 2 * kHeadersMax)
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    of(user).add_header(*stream, view(name, name_size), view(value, value_size));
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                     void* user) noexcept {
    Http2ServerSession& self = of(user);
    if (Stream* stream = self.find(id))
      self.take_body(id, *stream, view(bytes, size));
    else
      nghttp2_session_consume(self.raw_, id, size);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    Http2ServerSession& self = of(user);
    const StreamId id = frame->hd.stream_id;
    const bool is_ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    if (frame->hd.type == NGHTTP2_SETTINGS) (is_ack ? self.has_ack_ : self.has_settings_) = true;
    if (frame->hd.type == NGHTTP2_PING && is_ack &&
        std::memcmp(frame->ping.opaque_data, kDrainPing, sizeof kDrainPing) == 0 &&
        !std::exchange(self.has_sent_final_goaway_, true))
      nghttp2_submit_goaway(self.raw_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(self.raw_),
                            NGHTTP2_NO_ERROR, nullptr, 0);
    Stream* stream = self.find(id);
    if (stream == nullptr) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && stream->has_head && self.refusal_of(*stream) == 431) {
      self.fail_stream(id, {Errc::kTooLarge, "the request's trailers are too large"}, 431);
      return 0;
    }
    if (frame->hd.type == NGHTTP2_HEADERS && !stream->has_head) self.begin(id, *stream);
    stream = self.find(id);  // which may be refused
    if (stream == nullptr) return 0;
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    stream->has_ended = true;
    if (!stream->response.is_paused()) self.end_request(*stream);
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t code, void* user) noexcept {
    Http2ServerSession& self = of(user);
    const Stream* stream = self.find(id);
    if (stream == nullptr) return 0;
    if (!stream->is_answered) {
      const std::string name = nghttp2_http2_strerror(code);
      self.fail_stream(id, {Errc::kIo, "the stream was reset (" + name + ")"}, 0);
    } else {
      self.earn(kHttp2FrameBudgetAStream);
      (void)self.forget(id);
    }
    return 0;
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    Http2ServerSession& self = of(user);
    const nghttp2_goaway& ours = frame->goaway;
    if (frame->hd.type == NGHTTP2_GOAWAY)
      self.handle_goaway(ours.error_code, view(ours.opaque_data, ours.opaque_data_len));
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    Stream* stream = self.find(frame->hd.stream_id);
    if (stream == nullptr || !may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    stream->is_answered = true;
    stream->since = self.now_;
    self.submitted_.insert(frame->hd.stream_id);
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* space, size_t size, uint32_t* flags,
                           nghttp2_data_source*, void* user) noexcept {
    Http2ServerSession& self = of(user);
    Stream* stream = self.find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    QueuedResponse& response = stream->response;
    const std::string_view part = response.take_body(size);
    std::memcpy(space, part.data(), part.size());
    stream->moved += part.size();
    if (!response.has_body()) stream->is_watched = false;
    if (response.take_room()) self.rooms_.insert(id);
    const SentPart piece{
        .bytes = part.size(), .left = response.unsent_bytes(), .is_whole = response.is_whole()};
    return self.hand_out(id, piece, piece.is_last() ? response.take_trailers() : Headers{}, flags);
  }

  static CallbacksPtr make() {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) std::abort();
    nghttp2_session_callbacks_set_on_begin_headers_callback(made, &on_begin);
    nghttp2_session_callbacks_set_on_header_callback(made, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, &on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, &on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, &on_sent);
    return CallbacksPtr(made);
  }
};

Http2ServerSession::Http2ServerSession(SessionContext context, TimePoint now)
    : Http2Framing("client", kPrefaceBytes, kOutgoingPiece, now), context_(std::move(context)), began_(now) {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) std::abort();
  const OptionPtr options(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  nghttp2_option_set_no_closed_streams(made, 1);
  const CallbacksPtr callbacks = Callbacks::make();
  if (nghttp2_session_server_new2(&raw_, callbacks.get(), this, made) != 0) std::abort();
  submit_settings();
}

void Http2ServerSession::submit_settings() {
  const ServerBounds& bounds = context_.bounds;
  const nghttp2_settings_entry ours[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<uint32_t>(bounds.streams_max)},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2ServerStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(bounds.request.head_bytes_max)}};
  nghttp2_submit_settings(raw_, NGHTTP2_FLAG_NONE, ours, std::size(ours));
  nghttp2_session_set_local_window_size(raw_, NGHTTP2_FLAG_NONE, 0, kHttp2ServerConnectionWindow);
}

Result<Unit> Http2ServerSession::feed(std::string_view from_client, TimePoint now) {
  if (error_) return Unit{};  // already reported; later data is discarded
  (void)feed_frames(from_client, now);
  push_all();
  pump();
  run_deferred();
  return error_ ? Result<Unit>(*error_) : Result<Unit>(Unit{});
}

void Http2ServerSession::add_header(Stream& stream, std::string_view name, std::string_view value) {
  stream.head_bytes += name.size() + value.size();
  ++stream.headers;
  if (stream.head_bytes > context_.bounds.request.head_bytes_max || stream.headers > kHeadersMax) return;
  if (name == ":method") {
    stream.head.method = value;
  } else if (name == ":path") {
    stream.head.target = value;
  } else if (name == ":authority") {
    stream.head.authority = value;
  } else if (!name.starts_with(':')) {
    if (name == "host" && stream.head.authority.empty()) stream.head.authority = value;
    (stream.has_head ? stream.trailers : stream.head.headers)
        .push_back({std::string(name), std::string(value)});
  }
}

// Returns the status for a head that no handler gets; 0: it is served.
int Http2ServerSession::refusal_of(const Stream& stream) const {
  const Limits& limits = context_.bounds.request;
  if (stream.head_bytes > limits.head_bytes_max || stream.headers > kHeadersMax) return 431;
  if (stream.head.method == "CONNECT") return 501;
  // Two different hosts are ambiguous (RFC 9113 section 8.3.1).
  for (const Header& header : stream.head.headers)
    if (header.name == "host" && lower(header.value) != lower(stream.head.authority)) return 400;
  const std::string* length = stream.head.header("content-length");
  const int64_t announced = length == nullptr ? 0 : parse_int(*length).value_or(0);
  const bool is_large = limits.body_bytes_max != 0 && announced > static_cast<int64_t>(limits.body_bytes_max);
  return is_large ? 413 : 0;
}

size_t Http2ServerSession::unsent_bytes() const {
  size_t all = 0;
  for (const auto& [id, stream] : streams_) all += stream->response.unsent_bytes();
  return all;
}

void Http2ServerSession::begin(StreamId id, Stream& stream) {
  stream.has_head = true;
  if (unsent_bytes() >= context_.bounds.answers_bytes_max) {
    // Clients send such a request again (RFC 9113 section 8.7).
    nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM);
    forget(id);
    return;
  }
  if (const int status = refusal_of(stream); status != 0)
    return stream.response.replace(status, std::string(reason_of(status)));
  RequestHead head = std::exchange(stream.head, {});
  head.from = context_.peer;
  stream.is_head_request = head.method == "HEAD";
  const std::string* expect = head.header("expect");
  stream.call = context_.serve(head, stream.response);
  if (!stream.call && !stream.response.is_whole()) stream.response.replace(500, "no answer");
  if (expect == nullptr || lower(*expect) != "100-continue" || stream.response.is_started()) return;
  const Headers interim = {{":status", "100"}};
  const auto raw_fields = fields(interim);
  nghttp2_submit_headers(raw_, NGHTTP2_FLAG_NONE, id, nullptr, raw_fields.data(), raw_fields.size(), nullptr);
}

void Http2ServerSession::take_body(StreamId id, Stream& stream, std::string_view bytes) {
  if (!stream.call || stream.is_answered) return drop_rest(id, stream, bytes.size());
  stream.body_bytes += bytes.size();
  const size_t max = context_.bounds.request.body_bytes_max;
  if (max != 0 && stream.body_bytes > max) {
    fail_stream(id, {Errc::kTooLarge, "the request's body is larger than " + std::to_string(max) + " bytes"},
                413);
    nghttp2_session_consume(raw_, id, bytes.size());
  } else if (stream.response.is_paused()) {
    stream.unread += bytes;
  } else {
    deliver_body(id, stream, bytes);
  }
}

// Returns credit, so that the client continues until it reads the answer.
void Http2ServerSession::drop_rest(StreamId id, Stream& stream, size_t bytes) {
  nghttp2_session_consume(raw_, id, bytes);
  stream.rest_bytes += bytes;
  const size_t max = context_.bounds.request.body_bytes_max;
  if (max == 0 || stream.rest_bytes <= max) return;
  nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id,
                            stream.is_answered ? NGHTTP2_NO_ERROR : NGHTTP2_CANCEL);
  (void)forget(id);
}

void Http2ServerSession::deliver_body(StreamId id, Stream& stream, std::string_view bytes) {
  nghttp2_session_consume(raw_, id, bytes.size());
  stream.call->on_body(bytes);
}

void Http2ServerSession::end_request(Stream& stream) {
  stream.is_request_whole = true;
  if (!stream.call) return;
  if (!stream.trailers.empty()) stream.call->on_trailers(std::exchange(stream.trailers, {}));
  stream.call->on_end();
}

void Http2ServerSession::run_pending(TimePoint now) {
  now_ = now;
  push_all();
}

// Processes the current set only: later changes have a turn of their own.
void Http2ServerSession::push_all() {
  for (const StreamId id : std::exchange(ready_, {})) push(id);
}

void Http2ServerSession::push(StreamId id) {
  Stream* stream = find(id);
  if (stream == nullptr || error_) return;
  const bool is_paused = stream->response.is_paused();
  if (std::exchange(stream->was_paused, is_paused) && !is_paused) stream->since = now_;
  if (!is_paused && stream->call) {
    if (const std::string unread = std::exchange(stream->unread, {}); !unread.empty())
      deliver_body(id, *stream, unread);
    if (stream->has_ended && !stream->is_request_whole && !stream->response.is_paused()) end_request(*stream);
  }
  if (stream->response.is_abandoned()) {
    nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
    (void)forget(id);
    return;
  }
  if (stream->response.has_head()) return submit(id, *stream);
  if (stream->is_submitted) nghttp2_session_resume_data(raw_, id);
}

void Http2ServerSession::submit(StreamId id, Stream& stream) {
  QueuedResponse& response = stream.response;
  Head head = response.take_head(stream.is_head_request, context_.clock);
  head.headers.insert(head.headers.begin(), {":status", std::to_string(head.status)});
  const bool has_no_body = stream.is_head_request || head.status == 204 || head.status == 304;
  const bool is_whole = response.is_whole() && !response.has_body() && !response.has_trailers();
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  const auto raw_fields = fields(head.headers);
  nghttp2_submit_response(raw_, id, raw_fields.data(), raw_fields.size(),
                          is_whole || has_no_body ? nullptr : &body);
  stream.is_submitted = true;
}

std::string Http2ServerSession::take_outgoing(TimePoint now) {
  now_ = now;
  push_all();
  pump();
  run_deferred();
  return std::exchange(out_, {});
}

// Calls on_room(), and destroys answered calls.
void Http2ServerSession::run_deferred() {
  for (const StreamId id : std::exchange(rooms_, {}))
    if (Stream* stream = find(id); stream != nullptr && stream->call) stream->call->on_room();
  for (const StreamId id : std::exchange(submitted_, {})) {
    Stream* stream = find(id);
    if (stream == nullptr) continue;
    stream->call.reset();
    drop_unread(*stream);
  }
  if (error_ && !has_failed_all_) fail_all(Error(*error_));
}

// status: the answer, unless one has begun. 0: the stream is already reset.
void Http2ServerSession::fail_stream(StreamId id, const Error& why, int status) {
  Stream& stream = *find(id);
  if (status != 0 && stream.is_answered) {
    nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
    forget(id);
    return;
  }
  if (status != 0 && !stream.is_submitted) {
    drop_unread(stream);
    stream.response.replace(status, why.what);
    if (const auto call = std::exchange(stream.call, nullptr)) call->on_loss(why);
    return;
  }
  if (status != 0) nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
  const auto failed = forget(id);  // its answer lives as long as its call
  if (failed->call) failed->call->on_loss(why);
}

std::unique_ptr<Http2ServerSession::Stream> Http2ServerSession::forget(StreamId id) {
  auto stream = std::move(streams_.extract(id).mapped());
  drop_unread(*stream);
  context_.wake();
  return stream;
}

void Http2ServerSession::drop_unread(Stream& stream) {
  const std::string unread = std::exchange(stream.unread, {});
  if (!unread.empty()) nghttp2_session_consume_connection(raw_, unread.size());
}

bool Http2ServerSession::awaits_client(const Stream& stream) const {
  if (stream.is_answered) return !stream.has_ended;
  return !stream.has_ended && !stream.response.is_paused() && context_.bounds.request_max.count() != 0;
}

bool Http2ServerSession::is_blocked(const Stream& stream) const {
  return stream.is_submitted && stream.response.has_body();
}

bool Http2ServerSession::is_waiting() const {
  if (error_ || has_failed_all_) return false;
  if (!has_settings_ || !has_ack_ || is_partial()) return true;
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const auto& at) { return awaits_client(*at.second) || is_blocked(*at.second); });
}

Result<Unit> Http2ServerSession::check(TimePoint now) {
  now_ = now;
  if (error_) return Unit{};
  const ServerBounds& bounds = context_.bounds;
  const auto seconds = [](Millis time) { return std::to_string(time.count() / 1000) + " s"; };
  if ((is_partial() && now - partial_since_ >= bounds.head_max) ||
      (!has_settings_ && now - began_ >= bounds.head_max))
    fail(NGHTTP2_ENHANCE_YOUR_CALM, {Errc::kTimeout, "no whole frame within " + seconds(bounds.head_max)});
  else if (!has_ack_ && now - began_ >= bounds.stall_max)
    fail(NGHTTP2_SETTINGS_TIMEOUT, {Errc::kTimeout, "no answer to our settings"});
  std::vector<std::pair<StreamId, Error>> late;
  for (const auto& [id, stream] : streams_) {
    if (!is_blocked(*stream)) stream->is_watched = false;
    if (is_blocked(*stream) && (!std::exchange(stream->is_watched, true) || stream->moved >= kProgressBytes))
      stream->moved = 0, stream->moved_at = now;
    if (error_)
      late.emplace_back(id, *error_);
    else if (awaits_client(*stream) &&
             now - stream->since >= (stream->is_answered ? kRestMax : bounds.request_max))
      late.emplace_back(
          id, Error{Errc::kTimeout, "the request is not whole within " + seconds(bounds.request_max)});
    else if (stream->is_watched && now - stream->moved_at >= bounds.stall_max)
      late.emplace_back(id, Error{Errc::kTimeout, "the client does not take the answer"});
  }
  for (const auto& [id, why] : late) fail_stream(id, why, error_ ? 0 : 408);
  return error_ ? Result<Unit>(*error_) : Result<Unit>(Unit{});
}

void Http2ServerSession::drain() {
  if (std::exchange(is_draining_, true) || error_) return;
  if (streams_.empty()) {
    has_sent_final_goaway_ = true;
    nghttp2_session_terminate_session(raw_, NGHTTP2_NO_ERROR);
  } else {
    nghttp2_submit_shutdown_notice(raw_);
    nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, kDrainPing);
  }
}

bool Http2ServerSession::is_finished() const {
  if (has_failed_all_) return out_.empty();
  const bool is_drained = has_sent_final_goaway_ && streams_.empty();
  return out_.empty() && nghttp2_session_want_write(raw_) == 0 &&
         (is_drained || nghttp2_session_want_read(raw_) == 0);
}

void Http2ServerSession::fail_all(const Error& why) {
  has_failed_all_ = true;
  while (!streams_.empty()) fail_stream(streams_.begin()->first, why, 0);
}

std::unique_ptr<ServerSession> make_http2_server_session(SessionContext context, TimePoint now) {
  return std::make_unique<Http2ServerSession>(std::move(context), now);
}

}  // namespace sliced::http
