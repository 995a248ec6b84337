#include "reactor/base/base64.h"

#include <algorithm>
#include <cstdint>

namespace sliced {
namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0, padding = 0;  // characters of the current group of four
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') continue;
    const int value = sextet(c);
    if (c == '=' ? count < 2 : value < 0 || padding > 0) return std::nullopt;
    if (c == '=') ++padding;
    bits = bits << 6 | (c == '=' ? 0u : static_cast<uint32_t>(value));
    if (++count < 4) continue;
    for (int i = 0; i < 3 - padding; ++i) out += static_cast<char>(bits >> (16 - 8 * i) & 0xff);
    bits = 0;
    count = 0;
    if (padding > 0) count = 0x100;  // nothing may follow
  }
  if (count != 0 && count != 0x100) return std::nullopt;
  return out;
}

std::string encode_base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) out += i <= count ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

}  // namespace sliced
