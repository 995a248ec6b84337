#include "http/http2_session.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "http/nghttp2_values.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr size_t kGoawayTextMax = 128;
constexpr size_t kOutgoingMax = 256u << 10;  // limit of collected bytes

Headers fields_of(const OutgoingRequest& outgoing) {
  const Request& request = outgoing.request;
  Headers fields = {{":method", request.method},
                    {":scheme", outgoing.tls ? "https" : "http"},
                    {":authority", outgoing.authority},
                    {":path", outgoing.target}};
  for (const Header& header : request.headers) fields.push_back({lower(header.name), header.value});
  if (outgoing.has_body()) fields.push_back({"content-length", std::to_string(request.body.size())});
  return fields;
}

Loss loss_of(uint32_t code, bool has_head) {
  const std::string name = nghttp2_http2_strerror(code);
  if (code == NGHTTP2_REFUSED_STREAM)
    return {{Errc::kBusy, "the server takes no request now (" + name + ")"}, Loss::Fate::kUnprocessed};
  return {{Errc::kIo, "the exchange was reset (" + name + ")"},
          has_head ? Loss::Fate::kCut : Loss::Fate::kUnanswered};
}

}  // namespace

struct Http2Session::Stream {
  OutgoingRequestPtr request;  // until it is sent completely
  Receiver* receiver;
  Limits limits;
  size_t sent = 0;  // of the request's body
  size_t head_bytes = 0, headers = 0, body_bytes = 0;
  Head head;           // in the making
  Headers trailers;    // incomplete too
  std::string unread;  // read while paused
  bool has_head = false, is_paused = false, has_ended = false;
};

// Callbacks of nghttp2; none throws (out of memory ends the process).
struct Http2Session::Callbacks {
  static Http2Session& of(void* user) { return *static_cast<Http2Session*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) noexcept {
    Http2Session& self = of(user);
    Stream* stream = self.find(frame->hd.stream_id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->head_bytes += name_size + value_size;
    const auto refuse = [&](const std::string& what) {
      self.fail_stream(frame->hd.stream_id,
                       {{Errc::kTooLarge, "the response has " + what}, Loss::Fate::kCut});
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    };
    if (stream->head_bytes > stream->limits.head_bytes_max)
      return refuse("headers larger than " + std::to_string(stream->limits.head_bytes_max) + " bytes");
    const std::string_view key = view(name, name_size), text = view(value, value_size);
    if (key == ":status") {
      stream->head = {.status = static_cast<int>(parse_int(text).value_or(0)), .headers = {}};
      if (stream->head.status >= 100) return 0;
      self.fail_stream(frame->hd.stream_id, {{Errc::kIo, "the response's status is " + in_quotes(text, 8)}});
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (++stream->headers > kHeadersMax)
      return refuse("more than " + std::to_string(kHeadersMax) + " headers");
    Headers& fields = stream->has_head ? stream->trailers : stream->head.headers;
    fields.push_back({std::string(key), std::string(text)});
    return 0;
  }

  static int on_data(nghttp2_session* raw, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                     void* user) noexcept {
    Http2Session& self = of(user);
    nghttp2_session_consume_connection(raw, size);
    Stream* stream = self.find(id);
    if (stream == nullptr) return 0;
    stream->body_bytes += size;
    if (stream->limits.body_bytes_max != 0 && stream->body_bytes > stream->limits.body_bytes_max) {
      const std::string bound = std::to_string(stream->limits.body_bytes_max);
      nghttp2_submit_rst_stream(raw, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
      self.fail_stream(id, {{Errc::kTooLarge, "the response's body is larger than " + bound + " bytes"}});
    } else if (stream->is_paused) {
      stream->unread += view(bytes, size);
    } else {
      self.deliver_body(id, *stream, view(bytes, size));
    }
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    Http2Session& self = of(user);
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
      self.has_settings_ = true;
    if (frame->hd.type == NGHTTP2_GOAWAY) on_goaway(self, frame->goaway);
    const int32_t id = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_HEADERS) on_headers(self, id);
    const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    Stream* stream = self.find(id);  // which the receiver may have dropped
    if (stream == nullptr || !may_end || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    stream->has_ended = true;
    if (!stream->is_paused) self.end(id, *stream);
    return 0;
  }

  static void on_headers(Http2Session& self, int32_t id) {
    Stream* stream = self.find(id);
    const bool is_interim = stream != nullptr && stream->head.status < 200;
    if (stream == nullptr || stream->has_head || is_interim) return;
    stream->has_head = true;
    const Head head = std::exchange(stream->head, {});
    stream->receiver->on_head(head);
  }

  static void on_goaway(Http2Session& self, const nghttp2_goaway& frame) {
    self.is_going_away_ = true;
    const std::string why = escaped(view(frame.opaque_data, frame.opaque_data_len), kGoawayTextMax);
    self.farewell_ = nghttp2_http2_strerror(frame.error_code) + (why.empty() ? "" : ": " + why);
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t code, void* user) noexcept {
    Http2Session& self = of(user);
    const Stream* stream = self.find(id);
    if (stream != nullptr && !stream->has_ended) self.fail_stream(id, loss_of(code, stream->has_head));
    return 0;
  }

  // nghttp2 sends a GOAWAY with a reason if the server violated the protocol.
  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    const nghttp2_goaway& ours = frame->goaway;
    if (frame->hd.type == NGHTTP2_GOAWAY)
      of(user).handle_goaway(ours.error_code, view(ours.opaque_data, ours.opaque_data_len));
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* space, size_t size, uint32_t* flags,
                           nghttp2_data_source*, void* user) noexcept {
    Stream* stream = of(user).find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string& body = stream->request->request.body;
    const size_t part = std::min(size, body.size() - stream->sent);
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, not a C string
    std::memcpy(space, body.data() + stream->sent, part);
    stream->sent += part;
    const SentPart piece{.bytes = part, .left = body.size() - stream->sent, .is_whole = true};
    if (piece.is_last()) stream->request.reset();
    return of(user).hand_out(id, piece, {}, flags);
  }

  static CallbacksPtr make() {
    nghttp2_session_callbacks* made = nullptr;
    if (nghttp2_session_callbacks_new(&made) != 0) std::abort();
    nghttp2_session_callbacks_set_on_header_callback(made, &on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(made, &on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(made, &on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(made, &on_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(made, &on_sent);
    return CallbacksPtr(made);
  }
};

Http2Session::Http2Session(TimePoint now, size_t streams_assumed)
    : Http2Framing("server", 0, kOutgoingMax, now), streams_assumed_(streams_assumed) {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) std::abort();
  const OptionPtr options(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  const CallbacksPtr callbacks = Callbacks::make();
  if (nghttp2_session_client_new2(&raw_, callbacks.get(), this, made) != 0) std::abort();
  submit_settings();
}

Http2Session::~Http2Session() = default;

void Http2Session::submit_settings() {
  const nghttp2_settings_entry ours[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},  // opened by the server
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2StreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(Limits{}.head_bytes_max)}};
  nghttp2_submit_settings(raw_, NGHTTP2_FLAG_NONE, ours, std::size(ours));
  nghttp2_session_set_local_window_size(raw_, NGHTTP2_FLAG_NONE, 0, kHttp2ConnectionWindow);
}

std::string Http2Session::take_outgoing() {
  pump();
  return std::exchange(out_, {});
}

Http2Session::StreamId Http2Session::send(OutgoingRequestPtr request, const Limits& limits,
                                          Receiver& receiver) {
  assert(streams() < streams_max());
  const Headers headers = fields_of(*request);
  const auto raw_fields = fields(headers);
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  const bool has_body = !request->request.body.empty();
  const StreamId id = nghttp2_submit_request(raw_, nullptr, raw_fields.data(), raw_fields.size(),
                                             has_body ? &body : nullptr, nullptr);
  assert(id > 0);  // which streams_max() has promised
  earn(kHttp2FrameBudgetAStream);
  streams_.emplace(id, Stream{has_body ? std::move(request) : nullptr, &receiver, limits});
  return id;
}

bool Http2Session::expects(const FrameHeader& frame) const { return streams_.contains(frame.stream); }

Http2Session::Stream* Http2Session::find(StreamId id) {
  const auto at = streams_.find(id);
  return at == streams_.end() ? nullptr : &at->second;
}

void Http2Session::cancel(StreamId id) {
  if (streams_.erase(id) == 0 || error_) return;
  nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
}

void Http2Session::pause(StreamId id) {
  if (Stream* stream = find(id)) stream->is_paused = true;
}

void Http2Session::resume(StreamId id) {
  if (Stream* stream = find(id)) stream->is_paused = false;
}

void Http2Session::deliver() {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_)
    if (!stream.is_paused && (!stream.unread.empty() || stream.has_ended)) ids.push_back(id);
  for (const StreamId id : ids) {
    Stream* stream = find(id);
    if (stream == nullptr || stream->is_paused) continue;
    if (const std::string unread = std::exchange(stream->unread, {}); !unread.empty())
      deliver_body(id, *stream, unread);
    stream = find(id);
    if (stream != nullptr && stream->has_ended && !stream->is_paused) end(id, *stream);
  }
}

void Http2Session::deliver_body(StreamId id, Stream& stream, std::string_view bytes) {
  if (!stream.has_ended && !error_) nghttp2_session_consume_stream(raw_, id, bytes.size());
  stream.receiver->on_body(bytes);
}

void Http2Session::end(StreamId id, Stream& stream) {
  if (!stream.trailers.empty()) {
    const Headers trailers = std::exchange(stream.trailers, {});
    stream.receiver->on_trailers(trailers);
    if (find(id) == nullptr) return;
  }
  Receiver& receiver = *stream.receiver;
  const bool is_whole = stream.request == nullptr;
  streams_.erase(id);
  // A server may answer before it has the whole request, and then does not require the rest (RFC 9113 section
  // 8.1).
  if (!is_whole && !error_) nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
  receiver.on_end();
}

void Http2Session::fail_stream(StreamId id, Loss loss) {
  Receiver& receiver = *find(id)->receiver;
  streams_.erase(id);
  receiver.on_loss(loss);
}

void Http2Session::fail_all(const Error& error) {
  if (!error_) error_ = error;
  while (!streams_.empty()) {
    const auto& [id, stream] = *streams_.begin();
    fail_stream(id, {error, stream.has_head ? Loss::Fate::kCut : Loss::Fate::kUnanswered});
  }
}

void Http2Session::send_drain(bool at_once) {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_) ids.push_back(id);
  for (const StreamId id : ids)
    if (const Stream* stream = find(id)) stream->receiver->on_drain(at_once);
}

void Http2Session::ping() {
  if (!error_) nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, nullptr);
}

void Http2Session::send_goaway() {
  if (!error_) nghttp2_session_terminate_session(raw_, NGHTTP2_NO_ERROR);
}

size_t Http2Session::streams_max() const {
  if (error_ || is_going_away_ || nghttp2_session_check_request_allowed(raw_) == 0) return 0;
  if (!has_settings_) return streams_assumed_;
  return nghttp2_session_get_remote_settings(raw_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

}  // namespace sliced::http
