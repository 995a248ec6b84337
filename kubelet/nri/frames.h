#pragma once
// ttrpc's frames (github.com/containerd/ttrpc PROTOCOL.md): 10 bytes of header, then at most 4 MiB.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sliced::nri {

inline constexpr size_t kFrameHeaderBytes = 10;
inline constexpr size_t kFrameDataMax = 4u << 20;

enum class FrameType : uint8_t { kRequest = 1, kResponse = 2, kData = 3 };

/// A copy of its bytes: it outlives the connection.
/// Header: size of the data, stream, type, flags; numbers are big-endian.
struct Frame {
  uint32_t stream = 0;                   // odd: of the client's
  FrameType type = FrameType::kRequest;  // as it came: it may be none of the three
  uint8_t flags = 0;                     // 0: a call with one request and one response
  std::string data;
  bool too_large = false;  // more data than kFrameDataMax: it is passed over, and `data` is empty
};

/// data: at most kFrameDataMax.
std::string encode_frame(const Frame& frame);

/// Frames out of bytes as they arrive. Keeps no more than one frame and what was added last: memory is taken
/// as bytes come, not as a header announces them. Work: linear in the bytes, however small the frames are.
class FrameReader {
 public:
  /// Then next() until there is none.
  /// A frame that is too large is given as soon as its header is here; its data are passed over as they come.
  void add(std::string_view bytes);
  /// The next whole frame; one that is too large comes with its header.
  std::optional<Frame> next();

 private:
  std::string bytes_;
  size_t at_ = 0;         // bytes_ before it are read
  size_t pass_over_ = 0;  // of the data of a frame that is too large
};

/// Big-endian numbers, as all headers here have them.
/// at + 4 <= bytes.size() is the caller's to see to.
uint32_t read_u32(std::string_view bytes, size_t at);
void append_u32(std::string& out, uint32_t value);

}  // namespace sliced::nri
