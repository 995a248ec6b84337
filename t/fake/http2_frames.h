#pragma once
// HTTP/2 frames written by hand (RFC 9113 section 4, RFC 7541), so that a test may write wrong ones; and a
// server's eye on what a client sends.
#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sliced::fake {

using Fields = std::vector<std::pair<std::string, std::string>>;

inline std::string big_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}

inline std::string frame(int type, int flags, uint32_t stream, std::string_view payload) {
  return big_endian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         big_endian(stream, 4) + std::string(payload);
}

/// A length as HPACK has it behind a prefix of seven bits.
inline std::string hpack_text(std::string_view text) {
  std::string out;
  size_t size = text.size();
  if (size < 127) {
    out += static_cast<char>(size);
  } else {
    out += '\x7f';
    for (size -= 127; size >= 128; size >>= 7) out += static_cast<char>(0x80 | (size & 0x7f));
    out += static_cast<char>(size);
  }
  return out + std::string(text);
}
/// Literals that enter no table.
inline std::string hpack(const Fields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) out += '\0' + hpack_text(name) + hpack_text(value);
  return out;
}

inline std::string settings_frame(const std::vector<std::pair<int, uint32_t>>& entries = {}) {
  std::string payload;
  for (const auto& [id, value] : entries)
    payload += big_endian(static_cast<uint64_t>(id), 2) + big_endian(value, 4);
  return frame(NGHTTP2_SETTINGS, 0, 0, payload);
}
inline std::string settings_ack() { return frame(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, ""); }
inline std::string ping_frame(bool ack, std::string_view payload = "12345678") {
  return frame(NGHTTP2_PING, ack ? NGHTTP2_FLAG_ACK : 0, 0, payload);
}
inline std::string goaway_frame(uint32_t last, uint32_t code = NGHTTP2_NO_ERROR, std::string_view text = "") {
  return frame(NGHTTP2_GOAWAY, 0, 0, big_endian(last, 4) + big_endian(code, 4) + std::string(text));
}
inline std::string reset_frame(uint32_t stream, uint32_t code) {
  return frame(NGHTTP2_RST_STREAM, 0, stream, big_endian(code, 4));
}
inline std::string window_frame(uint32_t stream, uint32_t more) {
  return frame(NGHTTP2_WINDOW_UPDATE, 0, stream, big_endian(more, 4));
}
inline std::string headers_frame(uint32_t stream, const Fields& fields, bool end = false) {
  return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | (end ? NGHTTP2_FLAG_END_STREAM : 0), stream,
               hpack(fields));
}
inline std::string data_frame(uint32_t stream, std::string_view bytes, bool end = false) {
  return frame(NGHTTP2_DATA, end ? NGHTTP2_FLAG_END_STREAM : 0, stream, bytes);
}
inline std::string response_frames(uint32_t stream, std::string_view body, std::string_view status = "200") {
  return headers_frame(stream, {{":status", std::string(status)}}) + data_frame(stream, body, true);
}

/// What a client has sent, frame by frame.
class ClientFrames {
 public:
  struct Frame {
    int type = 0, flags = 0;
    uint32_t stream = 0;
    std::string payload;
  };
  struct Request {
    Fields fields;
    std::string body;
    bool is_whole = false, was_reset = false;
    std::string field(std::string_view name) const {
      for (const auto& [key, value] : fields)
        if (key == name) return value;
      return "";
    }
  };

  ClientFrames() {
    if (nghttp2_hd_inflate_new(&inflater_) != 0) std::abort();
  }
  ~ClientFrames() { nghttp2_hd_inflate_del(inflater_); }
  ClientFrames(const ClientFrames&) = delete;
  ClientFrames& operator=(const ClientFrames&) = delete;

  /// Takes the bytes; an incomplete frame stays for the next call.
  void read(std::string& bytes) {
    pending_ += std::exchange(bytes, {});
    if (!has_preface) {
      if (pending_.size() < std::string_view(NGHTTP2_CLIENT_MAGIC).size()) return;
      if (!pending_.starts_with(NGHTTP2_CLIENT_MAGIC)) std::abort();
      pending_.erase(0, std::string_view(NGHTTP2_CLIENT_MAGIC).size());
      has_preface = true;
    }
    while (pending_.size() >= 9) {
      const auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(pending_[i])); };
      const size_t size = at(0) << 16 | at(1) << 8 | at(2);
      if (pending_.size() < 9 + size) return;
      const uint32_t stream = (at(5) << 24 | at(6) << 16 | at(7) << 8 | at(8)) & 0x7fffffff;
      take({static_cast<int>(at(3)), static_cast<int>(at(4)), stream, pending_.substr(9, size)});
      pending_.erase(0, 9 + size);
    }
  }
  size_t count(int type, int flags = 0) const {
    size_t found = 0;
    for (const Frame& frame : frames) found += frame.type == type && (frame.flags & flags) == flags;
    return found;
  }

  bool has_preface = false;
  std::vector<Frame> frames;
  std::map<uint32_t, Request> requests;  // by stream

 private:
  void take(Frame frame) {
    Request* request = frame.stream == 0 ? nullptr : &requests[frame.stream];
    if (frame.type == NGHTTP2_HEADERS) inflate(frame.payload, request->fields);
    if (frame.type == NGHTTP2_DATA) request->body += frame.payload;
    if (frame.type == NGHTTP2_RST_STREAM) request->was_reset = true;
    const bool may_end = frame.type == NGHTTP2_HEADERS || frame.type == NGHTTP2_DATA;
    if (may_end && (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0) request->is_whole = true;
    frames.push_back(std::move(frame));
  }

  void inflate(const std::string& block, Fields& fields) {
    const auto* at = reinterpret_cast<const uint8_t*>(block.data());
    const uint8_t* const end = at + block.size();
    for (;;) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t taken =
          nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, static_cast<size_t>(end - at), 1);
      if (taken < 0) std::abort();
      at += taken;
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        fields.emplace_back(std::string(reinterpret_cast<char*>(field.name), field.namelen),
                            std::string(reinterpret_cast<char*>(field.value), field.valuelen));
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string pending_;
};

}  // namespace sliced::fake
