#pragma once
// Frames and messages as the tests write and read them, by hand: tag and length, so that nothing is judged by
// the code under test.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sliced::nri::test {

inline std::string u32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}
inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
/// A field of a message: text, bytes or a message.
inline std::string field(int number, std::string_view value) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(value.size()) + std::string(value);
}
inline std::string number_field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}
inline std::string frame(uint32_t stream, char type, std::string_view data, char flags = 0) {
  return u32(static_cast<uint32_t>(data.size())) + u32(stream) + type + flags + std::string(data);
}
inline std::string request(uint32_t stream, std::string_view service, std::string_view method,
                           std::string_view payload, uint64_t timeout_ms = 0) {
  std::string data = field(1, service) + field(2, method) + field(3, payload);
  if (timeout_ms > 0) data += number_field(4, timeout_ms * 1'000'000);
  return frame(stream, 1, data);
}
inline std::string response(uint32_t stream, std::string_view payload) {
  return frame(stream, 2, field(2, payload));
}
inline std::string refusal(uint32_t stream, uint64_t code, std::string_view why) {
  return frame(stream, 2, field(1, number_field(1, code) + field(2, why)));
}
inline std::string piece(uint32_t connection, std::string_view bytes) {
  return u32(connection) + u32(static_cast<uint32_t>(bytes.size())) + std::string(bytes);
}
inline std::string sandbox(std::string_view id, std::string_view netns = "/run/netns/a") {
  return field(1, id) + field(2, "pod-" + std::string(id)) + field(3, "uid-" + std::string(id)) +
         field(4, "ns") + field(5, field(1, "label") + field(2, "unread")) +
         field(8, field(5, field(1, "ipc") + field(2, "/proc/1/ns/ipc")) +
                      field(5, field(1, "network") + field(2, netns))) +
         field(10, "10.0.0.7");
}
inline std::string container(std::string_view id, std::string_view sandbox_id) {
  return field(1, id) + field(2, sandbox_id) + field(3, "app") + number_field(4, 3) + field(8, "PATH=/bin") +
         field(20, field(1, "vendor/vf=claim-0000-3b-01-0"));
}

}  // namespace sliced::nri::test
