#include "http/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr size_t kFarewellShown = 128;
constexpr size_t kFrameHeaderBytes = 9;
constexpr size_t kFrameBytesMax = 16'384;  // ours (SETTINGS_MAX_FRAME_SIZE) is the initial one

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* raw) const { kFree(raw); }
};
using OptionPtr = std::unique_ptr<nghttp2_option, Freed<nghttp2_option, nghttp2_option_del>>;
using CallbacksPtr = std::unique_ptr<nghttp2_session_callbacks,
                                     Freed<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;

std::string_view view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

uint32_t byte_at(const std::string& frame, size_t at) { return static_cast<uint8_t>(frame[at]); }

size_t payload_bytes(const std::string& frame) {
  return byte_at(frame, 0) << 16 | byte_at(frame, 1) << 8 | byte_at(frame, 2);
}

bool is_whole(const std::string& frame) {
  return frame.size() >= kFrameHeaderBytes && frame.size() == kFrameHeaderBytes + payload_bytes(frame);
}

nghttp2_nv field(const std::string& name, const std::string& value) {
  const bool is_secret = name == "authorization";
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          static_cast<uint8_t>(is_secret ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE)};
}

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
  OutgoingRequestPtr request;  // until all of it is sent
  Receiver* receiver;
  Limits limits;
  size_t sent = 0;  // of the request's body
  size_t head_bytes = 0, headers = 0, body_bytes = 0;
  Head head;         // in the making
  Headers trailers;  // likewise
  std::string kept;  // read while paused
  bool has_head = false, is_paused = false, has_ended = false;
};

// nghttp2 calls these; none throws (out of memory ends the process).
struct Http2Session::Callbacks {
  static Http2Session& of(void* user) { return *static_cast<Http2Session*>(user); }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) noexcept {
    Http2Session& self = of(user);
    Stream* stream = self.find(frame->hd.stream_id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    stream->head_bytes += name_size + value_size;
    const auto refuse = [&](const std::string& what) {
      self.lose(frame->hd.stream_id, {{Errc::kTooLarge, "the response has " + what}, Loss::Fate::kCut});
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    };
    if (stream->head_bytes > stream->limits.head_bytes_max)
      return refuse("headers larger than " + std::to_string(stream->limits.head_bytes_max) + " bytes");
    const std::string_view key = view(name, name_size), text = view(value, value_size);
    if (key == ":status") {
      stream->head = {.status = static_cast<int>(parse_int(text).value_or(0)), .headers = {}};
      if (stream->head.status >= 100) return 0;
      self.lose(frame->hd.stream_id, {{Errc::kIo, "the response's status is " + in_quotes(text, 8)}});
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
      self.lose(id, {{Errc::kTooLarge, "the response's body is larger than " + bound + " bytes"}});
    } else if (stream->is_paused) {
      stream->kept += view(bytes, size);
    } else {
      self.hand_over(id, *stream, view(bytes, size));
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
    const std::string why = escaped(view(frame.opaque_data, frame.opaque_data_len), kFarewellShown);
    self.farewell_ = nghttp2_http2_strerror(frame.error_code) + (why.empty() ? "" : ": " + why);
  }

  static int on_close(nghttp2_session*, int32_t id, uint32_t code, void* user) noexcept {
    Http2Session& self = of(user);
    const Stream* stream = self.find(id);
    if (stream != nullptr && !stream->has_ended) self.lose(id, loss_of(code, stream->has_head));
    return 0;
  }

  // A GOAWAY of ours with a reason is nghttp2's word that the server broke the protocol.
  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) noexcept {
    if (frame->hd.type != NGHTTP2_GOAWAY || frame->goaway.error_code == NGHTTP2_NO_ERROR) return 0;
    const std::string why =
        escaped(view(frame->goaway.opaque_data, frame->goaway.opaque_data_len), kFarewellShown);
    of(user).error_ = Error{Errc::kIo, "not HTTP/2 as RFC 9113 has it: " +
                                           std::string(nghttp2_http2_strerror(frame->goaway.error_code)) +
                                           (why.empty() ? "" : ", " + why)};
    return 0;
  }

  static ssize_t read_body(nghttp2_session*, int32_t id, uint8_t* space, size_t size, uint32_t* flags,
                           nghttp2_data_source*, void* user) noexcept {
    Stream* stream = of(user).find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::string& body = stream->request->request.body;
    const size_t part = std::min(size, body.size() - stream->sent);
    std::memcpy(space, body.data() + stream->sent, part);
    stream->sent += part;
    if (stream->sent == body.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      stream->request.reset();
    }
    return static_cast<ssize_t>(part);
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
    : streams_assumed_(streams_assumed), now_(now), refilled_(now) {
  nghttp2_option* made = nullptr;
  if (nghttp2_option_new(&made) != 0) std::abort();
  const OptionPtr options(made);
  nghttp2_option_set_no_auto_window_update(made, 1);
  const CallbacksPtr callbacks = Callbacks::make();
  if (nghttp2_session_client_new2(&raw_, callbacks.get(), this, made) != 0) std::abort();
  submit_settings();
}

Http2Session::~Http2Session() { nghttp2_session_del(raw_); }

void Http2Session::submit_settings() {
  const nghttp2_settings_entry ours[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},  // opened by the server
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kHttp2StreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<uint32_t>(Limits{}.head_bytes_max)}};
  nghttp2_submit_settings(raw_, NGHTTP2_FLAG_NONE, ours, std::size(ours));
  nghttp2_session_set_local_window_size(raw_, NGHTTP2_FLAG_NONE, 0, kHttp2ConnectionWindow);
}

// nghttp2 gets frames whole, except for DATA: what it says of one must not hang on where the bytes are cut.
// (Debian 12's takes a CONTINUATION frame whose header is cut for several, and forgives a cut header block
// what it would not forgive a whole one.)
Result<Unit> Http2Session::feed(std::string_view from_server, TimePoint now) {
  now_ = now;
  while (!from_server.empty() && !error_) {
    const bool is_header = frame_.size() < kFrameHeaderBytes && data_left_ == 0;
    const size_t wanted = data_left_ > 0 ? data_left_
                          : is_header    ? kFrameHeaderBytes - frame_.size()
                                         : kFrameHeaderBytes + payload_bytes(frame_) - frame_.size();
    const std::string_view part = from_server.substr(0, wanted);
    from_server.remove_prefix(part.size());
    if (data_left_ > 0) {
      data_left_ -= part.size();
      receive(part);
    } else {
      frame_ += part;
      if (part.size() < wanted) break;
      if (is_header) begin_frame();
      if (!error_ && is_whole(frame_)) receive(std::exchange(frame_, {}));
    }
    if (data_left_ == 0 && frame_.empty()) pump();
  }
  pump();
  return error_ ? Result<Unit>(*error_) : Result<Unit>(Unit{});
}

// Its header is here.
void Http2Session::begin_frame() {
  const size_t size = payload_bytes(frame_);
  const uint32_t type = byte_at(frame_, 3), flags = byte_at(frame_, 4);
  const auto id = static_cast<StreamId>((byte_at(frame_, 5) & 0x7f) << 24 | byte_at(frame_, 6) << 16 |
                                        byte_at(frame_, 7) << 8 | byte_at(frame_, 8));
  continuations_ = type == NGHTTP2_CONTINUATION ? continuations_ + 1 : 0;
  const bool is_body =
      type == NGHTTP2_DATA && streams_.contains(id) && (size > 0 || (flags & NGHTTP2_FLAG_END_STREAM) != 0);
  if (size > kFrameBytesMax)
    error_ = Error{Errc::kIo, "not HTTP/2 as RFC 9113 has it: a frame of " + std::to_string(size) + " bytes"};
  else if (continuations_ > kHttp2ContinuationsMax)
    error_ = Error{Errc::kIo, "the server's headers go on and on (CONTINUATION)"};
  else if (!is_body && !spend())
    error_ = Error{Errc::kIo, "the server sends too many frames that bring nothing"};
  if (error_ || type != NGHTTP2_DATA || size == 0) return;
  data_left_ = size;
  receive(std::exchange(frame_, {}));
}

void Http2Session::receive(std::string_view bytes) {
  is_busy_ = true;
  const ssize_t taken =
      nghttp2_session_mem_recv(raw_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  is_busy_ = false;
  if (taken < 0 && !error_)
    error_ = Error{Errc::kIo, "HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(taken)))};
}

void Http2Session::pump() {
  if (is_busy_ || error_) return;
  is_busy_ = true;
  const uint8_t* bytes = nullptr;
  ssize_t size = 0;
  while ((size = nghttp2_session_mem_send(raw_, &bytes)) > 0) out_ += view(bytes, static_cast<size_t>(size));
  is_busy_ = false;
  if (size < 0 && !error_)
    error_ = Error{Errc::kIo, "HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(size)))};
}

std::string Http2Session::take_outgoing() {
  pump();
  return std::exchange(out_, {});
}

Http2Session::StreamId Http2Session::send(OutgoingRequestPtr request, const Limits& limits,
                                          Receiver& receiver) {
  assert(streams() < streams_max());
  const Headers fields = fields_of(*request);
  std::vector<nghttp2_nv> raw_fields;
  for (const Header& header : fields) raw_fields.push_back(field(header.name, header.value));
  nghttp2_data_provider body{};
  body.read_callback = &Callbacks::read_body;
  const bool has_body = !request->request.body.empty();
  const StreamId id = nghttp2_submit_request(raw_, nullptr, raw_fields.data(), raw_fields.size(),
                                             has_body ? &body : nullptr, nullptr);
  assert(id > 0);  // which streams_max() has promised
  // Servers return the credit of a request's body in small pieces.
  budget_ =
      std::min(kHttp2FrameBudget, budget_) + kHttp2FrameBudgetAStream + request->request.body.size() / 1024;
  streams_.emplace(id, Stream{has_body ? std::move(request) : nullptr, &receiver, limits});
  return id;
}

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
    if (!stream.is_paused && (!stream.kept.empty() || stream.has_ended)) ids.push_back(id);
  for (const StreamId id : ids) {
    Stream* stream = find(id);
    if (stream == nullptr || stream->is_paused) continue;
    if (const std::string kept = std::exchange(stream->kept, {}); !kept.empty()) hand_over(id, *stream, kept);
    stream = find(id);
    if (stream != nullptr && stream->has_ended && !stream->is_paused) end(id, *stream);
  }
}

void Http2Session::hand_over(StreamId id, Stream& stream, std::string_view bytes) {
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
  // A server may answer before it has all of the request; then it needs no more of it (RFC 9113 section 8.1).
  if (!is_whole && !error_) nghttp2_submit_rst_stream(raw_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
  receiver.on_end();
}

void Http2Session::lose(StreamId id, Loss loss) {
  Receiver& receiver = *find(id)->receiver;
  streams_.erase(id);
  receiver.on_loss(loss);
}

void Http2Session::lose_all(const Error& error) {
  if (!error_) error_ = error;
  while (!streams_.empty()) {
    const auto& [id, stream] = *streams_.begin();
    lose(id, {error, stream.has_head ? Loss::Fate::kCut : Loss::Fate::kUnanswered});
  }
}

void Http2Session::tell_drain(bool at_once) {
  std::vector<StreamId> ids;
  for (const auto& [id, stream] : streams_) ids.push_back(id);
  for (const StreamId id : ids)
    if (const Stream* stream = find(id)) stream->receiver->on_drain(at_once);
}

void Http2Session::ping() {
  if (!error_) nghttp2_submit_ping(raw_, NGHTTP2_FLAG_NONE, nullptr);
}

void Http2Session::say_goodbye() {
  if (!error_) nghttp2_session_terminate_session(raw_, NGHTTP2_NO_ERROR);
}

size_t Http2Session::streams_max() const {
  if (error_ || is_going_away_ || nghttp2_session_check_request_allowed(raw_) == 0) return 0;
  if (!has_settings_) return streams_assumed_;
  return nghttp2_session_get_remote_settings(raw_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool Http2Session::spend() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now_ - refilled_);
  if (seconds.count() > 0) {
    refilled_ += seconds;
    const size_t more =
        static_cast<size_t>(std::min<int64_t>(seconds.count(), 3600)) * kHttp2FrameBudgetASecond;
    budget_ = std::min(kHttp2FrameBudget, budget_ + more);
  }
  if (budget_ == 0) return false;
  --budget_;
  return true;
}

}  // namespace sliced::http
