#include "http/http2_framing.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "http/nghttp2_values.h"
#include "reactor/base/text.h"

namespace sliced::http {
namespace {

constexpr size_t kReasonShown = 128;
constexpr size_t kFrameHeaderBytes = 9;
constexpr size_t kFrameBytesMax = 16'384;  // ours (SETTINGS_MAX_FRAME_SIZE) is the initial one
constexpr size_t kSmallPart = 1024;
constexpr size_t kPaddingMax = 256;  // of a frame, its length included

uint32_t byte_at(const std::string& frame, size_t at) { return static_cast<uint8_t>(frame[at]); }

size_t payload_bytes(const std::string& frame) {
  return byte_at(frame, 0) << 16 | byte_at(frame, 1) << 8 | byte_at(frame, 2);
}

bool is_whole(const std::string& frame) {
  return frame.size() >= kFrameHeaderBytes && frame.size() == kFrameHeaderBytes + payload_bytes(frame);
}

}  // namespace

Http2Framing::~Http2Framing() { nghttp2_session_del(raw_); }

// nghttp2 gets complete frames, except for DATA, so that its result does not depend on how the bytes are
// split. (Debian 12's version takes a CONTINUATION frame with a split header for several, and accepts a split
// header block that it would refuse as a whole.)
Result<Unit> Http2Framing::feed_frames(std::string_view bytes, TimePoint now) {
  now_ = now;
  if (preface_left_ > 0 && !error_) {
    const std::string_view part = bytes.substr(0, preface_left_);
    preface_left_ -= part.size();
    bytes.remove_prefix(part.size());
    receive(part);
  }
  while (!bytes.empty() && !error_) {
    const bool is_header = frame_.size() < kFrameHeaderBytes && data_left_ == 0;
    const size_t length = data_left_ > 0 ? data_left_
                          : is_header    ? kFrameHeaderBytes - frame_.size()
                                         : kFrameHeaderBytes + payload_bytes(frame_) - frame_.size();
    const std::string_view part = bytes.substr(0, length);
    bytes.remove_prefix(part.size());
    if (data_left_ > 0) {
      data_left_ -= part.size();
      receive(part);
    } else {
      if (frame_.empty() && !is_in_headers_) partial_since_ = now;
      frame_ += part;
      if (part.size() < length) break;
      if (is_header) begin_frame();
      if (!error_ && is_whole(frame_)) {
        adapt(header_, frame_);
        receive(std::exchange(frame_, {}));
      }
    }
    if (data_left_ == 0 && frame_.empty()) pump();
  }
  pump();
  return error_ ? Result<Unit>(*error_) : Result<Unit>(Unit{});
}

// Its header is here.
void Http2Framing::begin_frame() {
  header_ = {.size = payload_bytes(frame_),
             .type = byte_at(frame_, 3),
             .flags = byte_at(frame_, 4),
             .stream = static_cast<int32_t>((byte_at(frame_, 5) & 0x7f) << 24 | byte_at(frame_, 6) << 16 |
                                            byte_at(frame_, 7) << 8 | byte_at(frame_, 8))};
  const FrameHeader& frame = header_;
  const bool is_data = frame.type == NGHTTP2_DATA;
  continuations_ = frame.type == NGHTTP2_CONTINUATION ? continuations_ + 1 : 0;
  const bool is_padding = (frame.flags & NGHTTP2_FLAG_PADDED) != 0 && frame.size <= kPaddingMax;
  const bool has_payload = (frame.size > 0 && !is_padding) || (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_CONTINUATION)
    is_in_headers_ = (frame.flags & NGHTTP2_FLAG_END_HEADERS) == 0;
  const std::string peer(peer_);
  const bool lacks_length = (frame.flags & NGHTTP2_FLAG_PADDED) != 0 && frame.size == 0 &&
                            (is_data || frame.type == NGHTTP2_HEADERS);
  if (frame.size > kFrameBytesMax || lacks_length)
    fail(NGHTTP2_FRAME_SIZE_ERROR,
         {Errc::kIo, "not HTTP/2 as RFC 9113 has it: a frame of " + std::to_string(frame.size) + " bytes"});
  else if (continuations_ > kHttp2ContinuationsMax)
    fail(NGHTTP2_ENHANCE_YOUR_CALM,
         {Errc::kIo, "the " + peer + "'s headers have too many CONTINUATION frames"});
  else if (!(is_data && has_payload && expects(frame)) && !spend())
    fail(NGHTTP2_ENHANCE_YOUR_CALM, {Errc::kIo, "the " + peer + " sends too many frames without effect"});
  if (error_ || !is_data || frame.size == 0) return;
  data_left_ = frame.size;
  receive(std::exchange(frame_, {}));
}

void Http2Framing::receive(std::string_view bytes) {
  is_busy_ = true;
  const ssize_t consumed =
      nghttp2_session_mem_recv(raw_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  is_busy_ = false;
  if (consumed < 0)
    fail(NGHTTP2_PROTOCOL_ERROR,
         {Errc::kIo, "HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(consumed)))});
}

void Http2Framing::pump() {
  if (is_busy_ || error_) return;
  is_busy_ = true;
  const uint8_t* bytes = nullptr;
  ssize_t size = 0;
  while (out_.size() < outgoing_max_ && (size = nghttp2_session_mem_send(raw_, &bytes)) > 0)
    out_.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
  is_busy_ = false;
  if (size < 0 && !error_)
    error_ = Error{Errc::kIo, "HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(size)))};
}

void Http2Framing::fail(uint32_t code, Error why) {
  if (error_) return;
  if (nghttp2_session_terminate_session(raw_, code) == 0) pump();
  error_ = std::move(why);
}

void Http2Framing::handle_goaway(uint32_t code, std::string_view reason) {
  if (code == NGHTTP2_NO_ERROR || error_) return;
  const std::string why = escaped(reason, kReasonShown);
  error_ = Error{Errc::kIo, "not HTTP/2 as RFC 9113 has it: " + std::string(nghttp2_http2_strerror(code)) +
                                (why.empty() ? "" : ", " + why)};
}

void Http2Framing::earn(size_t frames) { budget_ = std::min(kHttp2FrameBudget, budget_) + frames; }

ssize_t Http2Framing::hand_out(int32_t stream, const SentPart& piece, const Headers& trailers,
                               uint32_t* flags) {
  const auto bytes = static_cast<ssize_t>(piece.bytes);
  if (piece.bytes >= kSmallPart || (bytes > 0 && piece.left == 0)) earn(2 + piece.bytes / 1024);
  if (!piece.is_last() && bytes == 0) return NGHTTP2_ERR_DEFERRED;
  if (!piece.is_last()) return bytes;
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!trailers.empty()) {
    const auto raw_fields = fields(trailers);
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    nghttp2_submit_trailer(raw_, stream, raw_fields.data(), raw_fields.size());
  }
  return bytes;
}

bool Http2Framing::spend() {
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
