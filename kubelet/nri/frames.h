#pragma once
// Frames of ttrpc (github.com/containerd/ttrpc PROTOCOL.md): 10 bytes of header, then at most 4 MiB.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sliced::nri {

inline constexpr size_t kFrameHeaderBytes = 10;
inline constexpr size_t kFrameDataMax = 4u << 20;

enum class FrameType : uint8_t { kRequest = 1, kResponse = 2, kData = 3 };

/// Owns a copy of its bytes. Header: size of the data, stream, type, flags; numbers are big-endian.
struct Frame {
  uint32_t stream = 0;                   // odd: started by the client
  FrameType type = FrameType::kRequest;  // unvalidated: may be none of the three
  uint8_t flags = 0;                     // 0: a call with one request and one response
  std::string data;
  bool too_large = false;  // more data than kFrameDataMax: skipped, and `data` is empty
};

/// Requires: data has at most kFrameDataMax bytes.
std::string encode_frame(const Frame& frame);

/// Splits a byte stream into frames. Stores at most one frame and the last added bytes, so memory grows with
/// received bytes and not with the size in a header. Time is linear in the bytes, even for small frames.
class FrameReader {
 public:
  /// Adds bytes; call next() until it returns nullopt. A frame that is too large is returned when its header
  /// is complete; its data is skipped.
  void add(std::string_view bytes);
  /// Returns the next complete frame; a frame that is too large as soon as its header is complete.
  std::optional<Frame> next();

 private:
  std::string bytes_;
  size_t at_ = 0;         // bytes_ before it are processed
  size_t pass_over_ = 0;  // remaining data of a frame that is too large
};

/// Big-endian numbers, as in all headers here. Requires: at + 4 <= bytes.size().
uint32_t read_u32(std::string_view bytes, size_t at);
void append_u32(std::string& out, uint32_t value);

}  // namespace sliced::nri
