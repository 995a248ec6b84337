#include "kubelet/nri/frames.h"

#include <algorithm>
#include <utility>

namespace sliced::nri {

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::string encode_frame(const Frame& frame) {
  std::string out;
  out.reserve(kFrameHeaderBytes + frame.data.size());
  append_u32(out, static_cast<uint32_t>(frame.data.size()));
  append_u32(out, frame.stream);
  out += static_cast<char>(frame.type);
  out += static_cast<char>(frame.flags);
  out += frame.data;
  return out;
}

void FrameReader::add(std::string_view bytes) {
  const size_t passed = std::min(pass_over_, bytes.size());
  pass_over_ -= passed;
  bytes_.erase(0, std::exchange(at_, 0));
  bytes_.append(bytes.substr(passed));
}

std::optional<Frame> FrameReader::next() {
  const size_t there = bytes_.size() - at_;
  if (there < kFrameHeaderBytes) return std::nullopt;
  const size_t size = read_u32(bytes_, at_);
  const bool too_large = size > kFrameDataMax;
  if (!too_large && there - kFrameHeaderBytes < size) return std::nullopt;
  Frame frame{.stream = read_u32(bytes_, at_ + 4),
              .type = static_cast<FrameType>(bytes_[at_ + 8]),
              .flags = static_cast<uint8_t>(bytes_[at_ + 9]),
              .too_large = too_large};
  const size_t here = std::min(size, there - kFrameHeaderBytes);
  if (too_large)
    pass_over_ = size - here;
  else
    frame.data = bytes_.substr(at_ + kFrameHeaderBytes, size);
  at_ += kFrameHeaderBytes + here;
  if (at_ == bytes_.size()) bytes_ = {}, at_ = 0;  // releases the memory of a large frame
  return frame;
}

}  // namespace sliced::nri
