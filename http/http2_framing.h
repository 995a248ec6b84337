#pragma once
// Inside http/: what both sides of HTTP/2 do with bytes (RFC 9113 section 4). Frames go to nghttp2 whole, are
// counted, and are bounded; what is to be said is gathered.
//
// Bounds:    frames that bring nothing (PING, SETTINGS, RST_STREAM, empty DATA ...) have a budget that
//            refills with time and with use; CONTINUATION frames of a header block are counted. nghttp2 1.52
//            (Debian 12) bounds neither; what it does bound (the size of SETTINGS, HPACK's tables, answers
//            that wait) is left to it.
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

constexpr size_t kHttp2FrameBudget = 1000;       // frames that bring nothing, at once
constexpr size_t kHttp2FrameBudgetASecond = 10;  // what of it comes back in time
constexpr size_t kHttp2FrameBudgetAStream = 50;  // and with each exchange; see hand_out()
constexpr size_t kHttp2ContinuationsMax = 8;     // of one header block

/// A base and no member: nghttp2 calls back into whoever owns the session, and both sides need the same
/// before and behind it.
/// Ownership: of raw_, which the derived constructor makes and the destructor here frees, after the derived
/// object's members have gone: callbacks do not come then.
/// Errors:    error_ once set stays, and nothing is fed or pumped any more.
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
  /// peer: "server", for texts. preface_bytes: that come before its frames. outgoing_max: about as much is
  /// gathered at once.
  Http2Framing(std::string_view peer, size_t preface_bytes, size_t outgoing_max, TimePoint now)
      : peer_(peer),
        preface_left_(preface_bytes),
        outgoing_max_(outgoing_max),
        now_(now),
        refilled_(now),
        partial_since_(now) {}
  virtual ~Http2Framing();

  /// Bytes from the peer, cut anywhere. Errors: kIo; nothing is of use then, and what is outgoing is the last
  /// word.
  Result<Unit> feed_frames(std::string_view bytes, TimePoint now);
  /// Of a whole frame, before nghttp2 sees it: may change its payload.
  virtual void adapt(const FrameHeader& /*frame*/, std::string& /*bytes*/) const {}
  /// Of a DATA frame: somebody waits for it.
  virtual bool is_wanted(const FrameHeader& frame) const = 0;

  /// Gathers what nghttp2 has to say. Nothing from within nghttp2.
  void pump();
  /// The peer has broken a rule: GOAWAY, and nothing more.
  void fail(uint32_t code, Error why);
  /// Above the budget's initial size nothing accumulates but by this call itself: a peer that was useful for
  /// an hour has no right to a flood.
  void earn(size_t frames);
  /// A piece of a body that is in nghttp2's space; `left` is there and not in it. Nothing follows a whole body
  /// but its trailers.
  struct Piece {
    size_t bytes = 0, left = 0;
    bool is_whole = false;
    bool is_last() const { return is_whole && left == 0; }
  };
  /// What nghttp2's read callback returns, and the flags. A piece earns 2 frames, and 1 a KiB: peers return its
  /// credit in small pieces. One that is small because the peer gives small credit earns nothing.
  ssize_t hand_out(int32_t stream, const Piece& piece, const Headers& trailers, uint32_t* flags);
  /// Of a GOAWAY of ours that nghttp2 has made: the rule that was broken.
  void handle_goaway(uint32_t code, std::string_view reason);
  /// A frame or a header block has begun and is not whole.
  bool is_partial() const { return !frame_.empty() || is_in_headers_ || preface_left_ > 0; }

  nghttp2_session* raw_ = nullptr;
  std::string out_;
  std::optional<Error> error_;  // why the session is of no use
  bool is_busy_ = false;        // within nghttp2
  const std::string_view peer_;
  size_t preface_left_;
  const size_t outgoing_max_;
  TimePoint now_, refilled_, partial_since_;

 private:
  void begin_frame();
  void receive(std::string_view bytes);
  bool spend();
  FrameHeader header_;    // of frame_, once that is here
  std::string frame_;     // the next one, as far as it is here
  size_t data_left_ = 0;  // of the DATA frame that comes
  size_t budget_ = kHttp2FrameBudget;
  size_t continuations_ = 0;
  bool is_in_headers_ = false;
};

}  // namespace sliced::http
