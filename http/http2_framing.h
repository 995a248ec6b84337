#pragma once
// Private to http/: byte processing of both sides of HTTP/2 (RFC 9113 section 4). Passes complete frames to
// nghttp2, counts and limits them, and collects outgoing bytes.
//
// Bounds: frames without payload (PING, SETTINGS, RST_STREAM, empty DATA ...) have a budget that refills with
// time and with use; CONTINUATION frames of a header block are counted. nghttp2 1.52 (Debian 12) limits
// neither. It does limit the size of SETTINGS, HPACK's tables and waiting answers.
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "reactor/base/result.h"
#include "reactor/base/time.h"

struct nghttp2_session;

namespace sliced::http {

constexpr size_t kHttp2FrameBudget = 1000;       // frames without payload, in a burst
constexpr size_t kHttp2FrameBudgetASecond = 10;  // refill per second
constexpr size_t kHttp2FrameBudgetAStream = 50;  // refill per exchange; see hand_out()
constexpr size_t kHttp2ContinuationsMax = 8;     // of one header block

/// A base class, because nghttp2 calls back into the owner of the session, and both sides require the same
/// processing before and after it. Ownership: of raw_, which the derived constructor creates and this
/// destructor frees, after the derived object's members are destroyed; no callbacks come then. Errors: once
/// error_ is set, nothing more is processed.
class Http2Framing {
 public:
  Http2Framing(const Http2Framing&) = delete;
  Http2Framing& operator=(const Http2Framing&) = delete;

 protected:
  // RFC 9113 section 4.1, without the reserved bit.
  struct FrameHeader {
    size_t size = 0;
    uint32_t type = 0, flags = 0;
    int32_t stream = 0;
  };
  /// peer: "server", for texts. preface_bytes: length of the preface before the frames. outgoing_max:
  /// approximate limit of collected bytes.
  Http2Framing(std::string_view peer, size_t preface_bytes, size_t outgoing_max, TimePoint now)
      : peer_(peer),
        preface_left_(preface_bytes),
        outgoing_max_(outgoing_max),
        now_(now),
        refilled_(now),
        partial_since_(now) {}
  virtual ~Http2Framing();

  /// Processes bytes from the peer, split anywhere. Errors: kIo; the session is unusable then, after its
  /// outgoing bytes are sent.
  Result<Unit> feed_frames(std::string_view bytes, TimePoint now);
  /// Called with a complete frame before nghttp2 gets it; may change its payload.
  virtual void adapt(const FrameHeader& /*frame*/, std::string& /*bytes*/) const {}
  /// Returns whether the receiver of a DATA frame still exists.
  virtual bool expects(const FrameHeader& frame) const = 0;

  /// Collects nghttp2's outgoing bytes. Does nothing from within nghttp2.
  void pump();
  /// The peer has violated the protocol: sends GOAWAY, and stops.
  void fail(uint32_t code, Error why);
  /// Adds to the budget, up to its initial size plus this amount: a long useful connection must not allow a
  /// flood.
  void earn(size_t frames);
  /// A piece of a body in nghttp2's buffer; `left` bytes remain for later. Only trailers follow a complete
  /// body.
  struct SentPart {
    size_t bytes = 0, left = 0;
    bool is_whole = false;
    bool is_last() const { return is_whole && left == 0; }
  };
  /// Returns the result and flags for nghttp2's read callback. A piece earns 2 frames, and 1 per KiB: peers
  /// return its credit in small pieces. A piece that is small because of small credit earns nothing.
  ssize_t hand_out(int32_t stream, const SentPart& piece, const Headers& trailers, uint32_t* flags);
  /// nghttp2 sends a GOAWAY: stores the violated rule.
  void handle_goaway(uint32_t code, std::string_view reason);
  /// A frame or a header block is incomplete.
  bool is_partial() const { return !frame_.empty() || is_in_headers_ || preface_left_ > 0; }

  nghttp2_session* raw_ = nullptr;
  std::string out_;
  std::optional<Error> error_;  // why the session is unusable
  bool is_busy_ = false;        // within nghttp2
  const std::string_view peer_;
  size_t preface_left_;
  const size_t outgoing_max_;
  TimePoint now_, refilled_, partial_since_;

 private:
  void begin_frame();
  void receive(std::string_view bytes);
  bool spend();
  FrameHeader header_;    // of frame_, when complete
  std::string frame_;     // the incomplete next frame
  size_t data_left_ = 0;  // of the current DATA frame
  size_t budget_ = kHttp2FrameBudget;
  size_t continuations_ = 0;
  bool is_in_headers_ = false;
};

}  // namespace sliced::http
